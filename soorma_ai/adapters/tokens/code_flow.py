"""Sign-in by a provider of OpenID Connect: the code flow, with PKCE. Needs the extras `server` and `oidc`."""

import asyncio
import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import cast
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx
import jwt
from msgspec import Struct

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.tokens import wire
from soorma_ai.adapters.tokens.fetch import ask, is_safe, read
from soorma_ai.adapters.tokens.signed import SignedTokens
from soorma_ai.api.tokens import ClaimNames, PendingSignIn, caller_of, code_of
from soorma_ai.errors import ConfigError, TransientError, Unauthenticated
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Clock

# What a provider says of itself is read anew after so long; after a failure, not before so long.
MOST_AGE = 600.0
PAUSE = 5.0


@dataclass(frozen=True)
class ClientRegistration:
    """Registration of a console at its provider. `url` is the console's address in a browser; with `PATH` added, it is
    the address for the provider's redirects."""

    issuer: str
    client_id: str
    url: str
    client_secret: str = field(default="", repr=False)
    scopes: Collection[str] = ("openid", "profile", "email")

    def __post_init__(self) -> None:
        """Raise ConfigError for an impossible registration, and for one without any proof."""
        for name, url in (("issuer", self.issuer), ("url", self.url)):
            if not is_safe(url):
                raise ConfigError(f"{name}={clip(url, 200)!r}: give an address by https://, or one of this machine")
        if not self.client_id or "openid" not in self.scopes:
            raise ConfigError("to sign in by OpenID Connect needs a client_id, and 'openid' among its scopes")

    @property
    def return_url(self) -> str:
        return f"{self.url.rstrip('/')}{PATH}"

    @property
    def end_url(self) -> str:
        """The address for the provider's redirect after the end of its session."""
        return f"{self.url.rstrip('/')}{END_PATH}"


PATH = "/sign-in/back"
END_PATH = "/sign-out/back"


class _ProviderMetadata(Struct, frozen=True):
    """Metadata of a provider. `is_basic`: a secret goes in a header, else in the form. `end_url` is its page for the
    end of a session, empty without one."""

    authorization_url: str
    token_url: str
    tokens: SignedTokens
    is_basic: bool
    end_url: str


class CodeFlow:
    """Sign-in by a provider, by the authorization code flow. `names` are the claims of its ID tokens with the person's
    name."""

    def __init__(
        self, registration: ClientRegistration, *, names: ClaimNames | None = None, clock: Clock | None = None
    ) -> None:
        wire.check()
        self._of = registration
        self._names = names or ClaimNames()
        self._clock = clock or SystemClock()
        self._known: _ProviderMetadata | None = None
        self._again_at = float("-inf")
        self._reading = asyncio.Lock()

    @property
    def name(self) -> str:
        """The provider, as people are told of it."""
        return urlsplit(self._of.issuer).hostname or self._of.issuer

    async def begin(self) -> tuple[str, PendingSignIn]:
        """Return the address for a browser, and the sign-in's secrets for its return. Raise TransientError for a
        provider out of reach."""
        provider = await self._provider()
        begun = PendingSignIn(*(secrets.token_urlsafe(32) for _ in range(3)))
        asked = {"redirect_uri": self._of.return_url, "scope": " ".join(self._of.scopes)}
        address = wire.authorization_url(provider.authorization_url, self._of.client_id, begun, asked)
        return address, begun

    async def finish(self, answered: Mapping[str, str], begun: PendingSignIn) -> Caller:
        """Return the provider's person. Raise Unauthenticated for an answer to another sign-in, and TransientError for
        a provider out of reach."""
        code = code_of(answered, begun, self._of.issuer)
        provider = await self._provider()
        given = await self._exchange(provider, code, begun)
        token, access = given.get("id_token"), given.get("access_token")
        if not isinstance(token, str):
            raise Unauthenticated("the provider sent no ID token: is 'openid' among its scopes?")
        claims = await provider.tokens.claims(token)
        algorithm = str(jwt.get_unverified_header(token).get("alg", ""))
        wire.check_claims(claims, algorithm, self._of.client_id, begun.nonce, access if isinstance(access, str) else "")
        return caller_of(claims, self._names)

    async def end(self) -> tuple[str, str]:
        """Return where a browser is sent to end its session with the provider, and the state with which it comes back;
        nothing where the provider has no such place. No ID token is kept to be shown there, so it may ask the person.
        Raise TransientError while it cannot be reached."""
        provider = await self._provider()
        if not provider.end_url:
            return "", ""
        state = secrets.token_urlsafe(32)
        said = {"client_id": self._of.client_id, "post_logout_redirect_uri": self._of.end_url, "state": state}
        place = urlsplit(provider.end_url)
        query = "&".join(filter(None, (place.query, urlencode(said))))
        return urlunsplit(place._replace(query=query, fragment="")), state

    async def _exchange(self, provider: _ProviderMetadata, code: str, begun: PendingSignIn) -> Mapping[str, object]:
        method = "none" if not self._of.client_secret else _BASIC if provider.is_basic else _POST
        body, headers = wire.token_request(
            (self._of.client_id, self._of.client_secret, method), provider.token_url, code, begun, self._of.return_url
        )
        try:
            status, text = await ask("POST", provider.token_url, body=body, headers=headers)
            given = _object(text)
        except (httpx.HTTPError, ValueError, RecursionError) as error:
            raise self._unreachable(error) from error
        if status != HTTPStatus.OK:
            refusal = clip(ascii(given.get("error", status)), 80)
            raise Unauthenticated(f"the provider took the code for none of this console's, or a used one: {refusal}")
        return given

    async def _provider(self) -> _ProviderMetadata:
        async with self._reading:
            now = self._clock.monotonic()
            if now >= self._again_at:
                self._again_at = now + PAUSE
                try:
                    self._known = await self._discover()
                    self._again_at = now + MOST_AGE
                except (httpx.HTTPError, ValueError, RecursionError) as error:
                    if self._known is None:
                        raise self._unreachable(error) from error
            if self._known is None:
                raise self._unreachable("it did not answer a moment ago")
            return self._known

    async def _discover(self) -> _ProviderMetadata:
        """Return the document at the provider's well-known place. Raise HTTPError, and ValueError for another document,
        or another's."""
        issuer = self._of.issuer
        found = _object(await read(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
        if found.get("issuer") != issuer:
            raise ValueError(f"it calls itself {clip(ascii(found.get('issuer')), 100)}, and not {issuer!r}")
        urls = [found.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
        authorization, token, keys = (one if isinstance(one, str) and is_safe(one) else "" for one in urls)
        if not (authorization and token and keys):
            raise ValueError("its addresses are not by https://")
        tokens = SignedTokens(issuer=issuer, audience=self._of.client_id, jwks_url=keys, clock=self._clock)
        ways = found.get("token_endpoint_auth_methods_supported", [_BASIC])
        end = found.get("end_session_endpoint")
        end_url = end if isinstance(end, str) and is_safe(end) else ""
        return _ProviderMetadata(authorization, token, tokens, not isinstance(ways, list) or _BASIC in ways, end_url)

    def _unreachable(self, why: object) -> TransientError:
        words = clip(str(why), 200)
        return TransientError(
            f"the provider {self.name} cannot be asked now: {words}", retry_after=timedelta(seconds=PAUSE)
        )


_BASIC, _POST = "client_secret_basic", "client_secret_post"


def _object(text: bytes) -> Mapping[str, object]:
    found: object = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return cast("Mapping[str, object]", found)
