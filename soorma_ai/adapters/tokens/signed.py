"""Tokens that an issuer has signed (JWT), checked by the issuer's published keys (JWKS)."""

import asyncio
import json
import logging
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TypedDict, Unpack, cast

import httpx
import jwt

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.tokens.fetch import is_safe, read
from soorma_ai.api.tokens import ClaimNames, caller_of
from soorma_ai.errors import ConfigError, TransientError, Unauthenticated
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.identity import Caller, TokenSources
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Clock

# What is signed by a secret that its checker knows, or by nobody, is none of these.
ASYMMETRIC = (*("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), *("ES256", "ES384", "ES512", "ES256K", "EdDSA"))
LONGEST_TOKEN = 16 * 1024
# At most so often for a key that is not known, and so often at least for one that the issuer may have withdrawn.
LEAST_PAUSE = 30.0
MOST_AGE = 600.0
_LOG = logging.getLogger("soorma_ai.tokens")


class TokenOptions(TypedDict, total=False):
    """Options of `SignedTokens`. Either of `jwks_url` and `jwks_file` is needed."""

    jwks_url: str | None
    """Address of the keys: https, or loopback."""
    jwks_file: Path | None
    """File of the keys."""
    names: ClaimNames | None
    """Names of the claims of tenant and roles."""
    algorithms: Collection[str]
    """Algorithms that are allowed; by default `ASYMMETRIC`."""
    leeway: timedelta
    """Tolerance for clocks that differ; 30 seconds by default."""
    clock: Clock | None


class SignedTokens:
    """Authenticates by JWT: `sub` is the user. `exp`, `iss`, `aud` and `sub` are required. For the options see
    `TokenOptions`."""

    def __init__(self, *, issuer: str, audience: str, **options: Unpack[TokenOptions]) -> None:
        must_know("SignedTokens", options, TokenOptions)
        algorithms = options.get("algorithms", ASYMMETRIC)
        others = sorted(set(algorithms) - set(ASYMMETRIC))
        if others or not algorithms:
            raise ConfigError(f"algorithms={others or 'none'}: give some of {', '.join(ASYMMETRIC)}")
        self._source = _source(options.get("jwks_url"), options.get("jwks_file"))
        self._issuer, self._audience = issuer, audience
        self._names = options.get("names") or ClaimNames()
        self._algorithms = list(algorithms)
        self._leeway = options.get("leeway", timedelta(seconds=30))
        self._clock = options.get("clock") or SystemClock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    @property
    def token_sources(self) -> TokenSources:
        """The issuer."""
        return TokenSources((self._issuer,), has_keys=False)

    async def authenticate(self, token: str) -> Caller:
        """Return the caller of the token. Raise as `claims` does."""
        return caller_of(await self.claims(token), self._names)

    async def claims(self, token: str) -> Mapping[str, object]:
        """Return the claims of a token with the right signature, issuer, audience and time. Raise Unauthenticated, and
        TransientError while no keys can be read."""
        if len(token) > LONGEST_TOKEN or not token.isascii():
            raise Unauthenticated(f"the token is no text of at most {LONGEST_TOKEN} ASCII characters")
        try:
            key_id: object = jwt.get_unverified_header(token).get("kid")
            key = await self._key(key_id if isinstance(key_id, str) else None)
            return cast(
                "Mapping[str, object]",
                jwt.decode(
                    token,
                    key,
                    algorithms=self._algorithms,
                    audience=self._audience,
                    issuer=self._issuer,
                    leeway=self._leeway,
                    options={"require": ["exp", "iss", "aud", "sub"]},
                ),
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the token is not valid: {clip(str(error), 200)}") from error

    async def _key(self, key_id: str | None) -> jwt.PyJWK:
        """Return the key of this id, and the only one for a token that names none."""
        if self._is_due(key_id) or (self._reading.locked() and key_id not in self._keys):
            async with self._reading:
                if self._is_due(key_id):
                    await self._read()
        if self._read_at is not None and not self._keys:
            raise TransientError(
                f"the keys of {self._issuer} cannot be read now", retry_after=timedelta(seconds=LEAST_PAUSE)
            )
        key = self._keys.get(key_id)
        if key is None and key_id is None and len(self._keys) == 1:
            (key,) = self._keys.values()
        if key is None:
            raise Unauthenticated("the token names no key of its issuer")
        return key

    def _is_due(self, key_id: str | None) -> bool:
        if self._read_at is None:
            return True
        age = self._clock.monotonic() - self._read_at
        is_known = key_id in self._keys or (key_id is None and bool(self._keys))
        return age >= (MOST_AGE if is_known else LEAST_PAUSE)

    async def _read(self) -> None:
        """Read the keys; after a fault the old ones stay, and calls without need of a new one do not wait."""
        now = self._clock.monotonic()
        if self._keys:
            self._read_at = now
        try:
            text = await read(self._source) if isinstance(self._source, str) else self._source.read_bytes()
            self._keys = _keys(text) or self._keys
        except (OSError, httpx.HTTPError, ValueError, RecursionError) as error:
            _LOG.warning("jwks_unreadable source=%s reason=%s", self._source, error)
        finally:
            self._read_at = now


def _source(url: str | None, file: Path | None) -> str | Path:
    if (url is None) is (file is None):
        raise ConfigError("give one of jwks_url and jwks_file: where the issuer's keys are")
    if url is None:
        return cast("Path", file)
    if not is_safe(url):
        raise ConfigError(f"jwks_url={url!r}: keys that anybody on the way can replace prove nothing; give https://")
    return url


def _keys(text: bytes) -> dict[str | None, jwt.PyJWK]:
    """Return the keys for signatures by their ids, without secrets and those of an unknown kind. Raise ValueError for
    another document."""
    document: object = json.loads(text)
    listed = cast("dict[str, object]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no list of keys")
    found: dict[str | None, jwt.PyJWK] = {}
    for one in cast("list[object]", listed):
        fields = cast("dict[str, object]", one) if isinstance(one, dict) else {}
        if fields.get("kty") == "oct" or fields.get("use", "sig") != "sig":
            continue
        try:
            key_id = fields.get("kid")
            found[key_id if isinstance(key_id, str) else None] = jwt.PyJWK.from_dict(fields)
        except (jwt.PyJWTError, NotImplementedError, ValueError, TypeError, RecursionError):
            continue
    return found
