"""A client with a check of every answer against the server's own document, and the small applications of the tests."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Self, Unpack

import httpx
import jsonschema_rs
from starlette.applications import Starlette

from soorma_ai import Platform
from soorma_ai.api.server.openapi import document
from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.operations import OPERATIONS
from soorma_ai.server import Options, app

Json = Any


@cache
def the_document() -> dict[str, Any]:
    return json.loads(document(OPERATIONS, "/"))


@cache
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for({**json.loads(schema), "components": the_document()["components"]})


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Return the operation of the most literal matching path."""
    fitting = [
        (template.count("{"), methods[method.lower()])
        for template, methods in the_document()["paths"].items()
        if method.lower() in methods and re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), path)
    ]
    return min(fitting, key=lambda one: one[0])[1] if fitting else None


async def must_fit_the_document(response: httpx.Response) -> None:
    """Fail for an answer outside its operation's description: another status, another type, or off its schema."""
    request = response.request
    operation = operation_of(request.method, request.url.path)
    if operation is None:
        return
    told = operation["responses"].get(str(response.status_code))
    assert told is not None, f"{operation['operationId']} does not describe {response.status_code}"
    kinds = told.get("content", {})
    kind = response.headers.get("content-type", "").partition(";")[0]
    if not kinds:
        assert not await response.aread()
        return
    assert kind in kinds, f"{operation['operationId']} answers {kind!r}"
    if kind == "text/event-stream":
        return
    body = json.loads(await response.aread())
    _validator(json.dumps(kinds[kind]["schema"])).validate(body)
    if kind == "application/problem+json":
        assert body["status"] == response.status_code


class Keys:
    """Authenticator of tokens by their callers."""

    def __init__(self, **callers: Caller) -> None:
        self.callers = dict(callers)

    async def authenticate(self, token: str) -> Caller:
        if token not in self.callers:
            raise Unauthenticated("no such token")
        return self.callers[token]


def caller(tenant: str = "shop", user: str = "maria", *roles: str) -> Caller:
    return Caller(Person(tenant, user, frozenset(roles)))


@asynccontextmanager
async def client_as(
    served: Starlette, token: str | None = None, *, address: str = "127.0.0.1"
) -> AsyncGenerator[httpx.AsyncClient]:
    """Yield a client of an application, as the holder of a token."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(served, client=(address, 5000))
    async with httpx.AsyncClient(
        transport=transport,
        base_url="http://127.0.0.1:8700",
        headers=headers,
        event_hooks={"response": [must_fit_the_document]},
        timeout=20,
    ) as client:
        yield client


@asynccontextmanager
async def local(platform: Platform, **options: Unpack[Options]) -> AsyncGenerator[httpx.AsyncClient]:
    async with client_as(app(platform, **options)) as client:
        yield client


def events_in(text: str) -> list[dict[str, str]]:
    """Return the server-sent events of a stream, without comments."""
    found: list[dict[str, str]] = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if "data" in fields:
            found.append(fields)
    return found


class OpenStream:
    """A stream of an application. Its reader takes one chunk after the other, or none."""

    def __init__(self, served: Starlette, path: str, *, reads: bool = True, body: bytes = b"", **headers: str) -> None:
        """A `body` is posted."""
        self._body = body
        path, _, query = path.partition("?")
        named = {"host": "127.0.0.1:8700", **{name.replace("_", "-"): value for name, value in headers.items()}}
        self._scope: dict[str, Any] = {
            "type": "http",
            "method": "POST" if body else "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
            "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 8700),
            "http_version": "1.1",
        }
        self._served = served
        self._has_asked = False
        self._left = asyncio.Event()
        self._may_read = asyncio.Event()
        if reads:
            self._may_read.set()
        self._came = asyncio.Event()
        self.status = 0
        self.text = ""

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._served(self._scope, self._receive, self._send))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._left.set()
        await asyncio.wait_for(self._running, 5)

    async def ended(self) -> None:
        await asyncio.wait_for(self._running, 5)

    @property
    def events(self) -> list[dict[str, str]]:
        return events_in(self.text)

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                self._came.clear()
                await self._came.wait()

    def read(self) -> None:
        self._may_read.set()

    async def _receive(self) -> dict[str, Any]:
        if not self._has_asked:
            self._has_asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            await self._may_read.wait()
            self.text += message.get("body", b"").decode()
        self._came.set()
