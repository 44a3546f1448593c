"""Wire forms of OAuth 2.0 and OpenID Connect, by Authlib; the library has no types of its own."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from soorma_ai.api.tokens import PendingSignIn
from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.kernel.domain.values import clip

FORM = "application/x-www-form-urlencoded"


def check() -> None:
    """Raise ConfigError where Authlib is missing."""
    if find_spec("authlib") is None:
        raise ConfigError("to sign in by OpenID Connect needs Authlib: pip install 'soorma-ai[server,oidc]'")


def authorization_url(url: str, client_id: str, begun: PendingSignIn, asked: Mapping[str, str]) -> str:
    """Return where a browser is sent."""
    challenge = _part("rfc7636", "create_s256_code_challenge")(begun.verifier)
    proof = {"code_challenge": challenge, "code_challenge_method": "S256"}
    prepare = _part("rfc6749.parameters", "prepare_grant_uri")
    return str(prepare(url, client_id, "code", state=begun.state, nonce=begun.nonce, **proof, **asked))


def token_request(
    client: tuple[str, str, str], url: str, code: str, begun: PendingSignIn, return_url: str
) -> tuple[str, dict[str, str]]:
    """Return body and headers for the exchange of a code. `client` is its id, its secret, and the way of its proof."""
    auth, prepare = _part("auth", "ClientAuth")(*client), _part("rfc6749.parameters", "prepare_token_request")
    body = prepare("authorization_code", redirect_uri=return_url, code=code, code_verifier=begun.verifier)
    headers = {"content-type": FORM, "accept": "application/json"}
    _, headers, body = auth.prepare("POST", url, headers, body)
    return str(body), cast("dict[str, str]", headers)


def _part(module: str, name: str) -> Any:
    return getattr(import_module(f"authlib.oauth2.{module}"), name)


def check_claims(claims: Mapping[str, object], algorithm: str, client_id: str, nonce: str, access_token: str) -> None:
    """Raise Unauthenticated for an ID token that is of another sign-in, client or access token. Its signature, issuer,
    audience and time were checked before."""
    from authlib.oidc.core import CodeIDToken
    from joserfc.errors import JoseError

    params = {"nonce": nonce, "client_id": client_id, "access_token": access_token}
    token = cast("Any", CodeIDToken)(dict(claims), {"alg": algorithm}, {}, params)
    try:
        for check_one in (token.validate_nonce, token.validate_azp, token.validate_at_hash):
            check_one()
    except (JoseError, TypeError, ValueError) as error:
        raise Unauthenticated(f"the ID token is none of this sign-in: {clip(str(error), 200)}") from error
