"""A small OpenID Connect provider over loopback, with answers set by a test."""

import asyncio
import hmac
import json
import socket
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx
import jwt
import uvicorn
from console_kit import SECRET, Browser
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from soorma_ai import Platform
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.tokens import ApiKeys
from soorma_ai.adapters.tokens.code_flow import ClientRegistration, CodeFlow
from soorma_ai.api.tokens import ClaimNames
from soorma_ai.apps.console import Console
from soorma_ai.server import app

CONSOLE = "http://localhost"
CLIENT, CLIENT_SECRET = "console", "known to both"
KEY, OTHER_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PUBLIC = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
Sign = Callable[[Mapping[str, Any]], str]


def sign_claims(claims: Mapping[str, Any], key: Any = KEY, algorithm: str = "RS256") -> str:
    return jwt.encode(dict(claims), key, algorithm, headers={"kid": "k1"})


def unsigned_token(claims: Mapping[str, Any]) -> str:
    return jwt.encode(dict(claims), "", "none", headers={"kid": "k1"})


def sign_with_public_key(claims: Mapping[str, Any]) -> str:
    """Return a token with a signature valid for a client with the public key as its secret."""
    head, body = (_encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "k1"}, dict(claims)))
    return f"{head}.{body}.{_encoded(hmac.new(PUBLIC, f'{head}.{body}'.encode(), sha256).digest())}"


def _encoded(said: bytes) -> str:
    return urlsafe_b64encode(said).rstrip(b"=").decode()


@dataclass
class Provider:
    """`claims` replace claims of the ID token, None leaves one out; `document` replaces parts of the provider's
    metadata; `asked` is the query of the last browser."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    document: dict[str, Any] = field(default_factory=dict[str, Any])
    sign: Sign = sign_claims
    asked: dict[str, str] = field(default_factory=dict[str, str])
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def served(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._describe),
                Route("/authorize", self._authorize),
                Route("/token", self._exchange, methods=["POST"]),
                Route("/keys", self._list_keys),
                Route("/logout", self._log_out),
            ]
        )

    async def _describe(self, request: Request) -> Response:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        said = {name: f"{self.url}/{place}" for name, place in places.items()}
        return JSONResponse({"issuer": self.url, **said, **self.document})

    async def _list_keys(self, request: Request) -> Response:
        found = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
        return JSONResponse({"keys": [{**found, "kid": "k1"}]})

    async def _authorize(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        code = f"code-{len(self.codes)}"
        self.codes[code] = self.asked
        back = urlencode({"code": code, "state": self.asked["state"], "iss": self.url})
        return RedirectResponse(f"{self.asked['redirect_uri']}?{back}", 303)

    async def _log_out(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        return RedirectResponse(
            f"{self.asked['post_logout_redirect_uri']}?{urlencode({'state': self.asked['state']})}", 303
        )

    async def _exchange(self, request: Request) -> Response:
        sent = dict(parse_qsl((await request.body()).decode()))
        asked = self.codes.pop(sent.get("code", ""), None)
        is_known = httpx.BasicAuth(CLIENT, CLIENT_SECRET)._auth_header == request.headers.get("authorization")  # pyright: ignore
        challenge = _encoded(sha256(sent.get("code_verifier", "").encode()).digest())
        if (
            not is_known
            or asked is None
            or (asked["code_challenge"], asked["redirect_uri"]) != (challenge, sent["redirect_uri"])
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = SystemClock().now()
        usual = {"iss": self.url, "aud": CLIENT, "sub": "ann", "tenant": "default", "roles": ["manager"]}
        times = {"iat": now, "exp": now + timedelta(minutes=5), "nonce": asked["nonce"]}
        claims = {name: value for name, value in {**usual, **times, **self.claims}.items() if value is not None}
        claims = {name: int(value.timestamp()) if name in ("iat", "exp") else value for name, value in claims.items()}
        return JSONResponse({"access_token": "of no use here", "token_type": "Bearer", "id_token": self.sign(claims)})


class _Server(uvicorn.Server):
    """Signals its start."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.has_begun.set()


@asynccontextmanager
async def run_provider() -> AsyncGenerator[Provider]:
    provider = Provider()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        provider.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = _Server(uvicorn.Config(provider.served(), log_config=None, lifespan="off", ws="none"))
        serving = asyncio.create_task(server.serve([listener]))
        await server.has_begun.wait()
        try:
            yield provider
        finally:
            server.should_exit = True
            await serving


def flow(provider: Provider, platform: Platform, **names: str) -> CodeFlow:
    known = ClientRegistration(provider.url, CLIENT, CONSOLE, CLIENT_SECRET)
    return CodeFlow(known, names=ClaimNames(**names), clock=platform.services.clock)


@asynccontextmanager
async def open_browser_with(provider: Provider, platform: Platform, **names: str) -> AsyncGenerator[Browser]:
    """Yield a browser with the console in this process, and the provider at its own address."""
    site = Console(secret=SECRET, provider=flow(provider, platform, **names))
    served = httpx.ASGITransport(app(platform, auth=ApiKeys(platform), site=site))
    async with httpx.AsyncClient(mounts={CONSOLE: served}, base_url=CONSOLE, follow_redirects=True) as client:
        yield Browser(client)
