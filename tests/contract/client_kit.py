"""A platform reached in three ways, and bad servers."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import httpx

from soorma_ai import Approval, AsyncClient, Platform, PlatformClient, Tool
from soorma_ai.api.clients.address import address_of
from soorma_ai.api.clients.sender import CallBounds
from soorma_ai.api.clients.transport import AsyncTransport
from soorma_ai.api.server.serve import listen, serve, url_of
from soorma_ai.server import app

ROLES = ("manager",)
IN_PROCESS, IN_MEMORY, BY_SOCKET = "in process", "ASGI", "socket"
WAYS = (IN_PROCESS, IN_MEMORY, BY_SOCKET)
OVER_HTTP = (IN_MEMORY, BY_SOCKET)


@asynccontextmanager
async def serve_platform(platform: Platform, port: int = 0) -> AsyncGenerator[str]:
    """Serve a platform for the time of a block; return its URL."""
    stop, started = asyncio.Event(), asyncio.Event()
    listener = listen("127.0.0.1", port, is_open=True)
    url = url_of(listener)
    serving = asyncio.create_task(serve(app(platform, roles=ROLES), listener, stop, started.set))
    try:
        await started.wait()
        yield url
    finally:
        stop.set()
        await serving


@asynccontextmanager
async def connect_client(platform: Platform, way: str, **options: Any) -> AsyncGenerator[PlatformClient]:
    """A client of a platform, by one of the `WAYS`, as `local` with the roles operator and manager."""
    if way == IN_PROCESS:
        yield platform.as_user(tenant_id="default", user_id="local", roles={"operator", *ROLES})
    elif way == IN_MEMORY:
        transport = httpx.ASGITransport(app(platform, roles=ROLES), client=("127.0.0.1", 5000))
        async with AsyncClient("http://127.0.0.1:8700", transport=transport, **options) as client:
            yield client
    else:
        async with serve_platform(platform) as url, AsyncClient(url, **options) as client:
            yield client


def delivery(approval: Approval) -> Tool:
    """A tool with an approval for its goods."""
    tool = Tool("delivery")

    @tool.on_invoke("goods.deliver.requested", approval=approval)
    async def deliver(request: Any, context: Any) -> dict[str, Any]:
        return {"delivered": True}

    return tool


class HurriedLine(AsyncTransport):
    """A transport with recorded pauses of no length."""

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__(address_of(url, token), None)
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return super().monotonic() + sum(self.pauses)

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


@asynccontextmanager
async def hurried_client(url: str, **bounds: Any) -> AsyncGenerator[tuple[AsyncClient, list[float]]]:
    """A client without waits between its tries, and its recorded pauses."""
    line = HurriedLine(url, "geheim")
    async with AsyncClient.over(line, url, CallBounds(**bounds)) as client:
        yield client, line.pauses


Says = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class BadServer:
    """A server: treats each call by the next entry of its script, and all further ones by the last."""

    def __init__(self, *script: bytes | Says) -> None:
        self._script = list(script)
        self._conversations: set[asyncio.Task[None]] = set()
        self.calls: list[str] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for conversation in self._conversations:
            conversation.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)
        await self._server.wait_closed()

    def header(self, number: int, name: str) -> str | None:
        """Return a header of a call."""
        lines = [line.partition(": ") for line in self.calls[number].splitlines()]
        return next((value for found, _, value in lines if found.lower() == name), None)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.create_task(self._converse(reader, writer))
        self._conversations.add(conversation)
        conversation.add_done_callback(self._conversations.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.calls.append((await reader.readuntil(b"\r\n\r\n")).decode())
            said = self._script.pop(0) if len(self._script) > 1 else self._script[0]
            if isinstance(said, bytes):
                writer.write(said)
                await writer.drain()
            else:
                await said(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client has left
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def answer_of(status: str, kind: str, body: str | bytes, **headers: str) -> bytes:
    sent = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(sent)}\r\n{more}connection: close\r\n\r\n"
    )
    return head.encode() + sent


def json_of(body: object, status: str = "200 OK") -> bytes:
    return answer_of(status, "application/json", json.dumps(body))


def problem_of(status: str, code: str, **fields: object) -> bytes:
    return answer_of(status, "application/problem+json", json.dumps({"code": code, "detail": "said", **fields}))


def stream_of(text: str) -> bytes:
    """A stream without a mark of its end."""
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + text.encode()


LOST = b""
