"""Connection to a server: opened at its first call, opened again after its loss."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import urlsplit

from msgspec import Struct

from soorma_ai.errors import ConfigError, RemoteProtocolError, TransientError
from soorma_ai.gateways.mcp.tools import MOST_TOOLS, ServerTool
from soorma_ai.kernel.domain.values import clip, message_of

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Target(Struct, frozen=True):
    """Place of a server: the words of a command, or a URL with a token for it."""

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    token: str | None = None


def target_of(where: str | Sequence[str], env: Mapping[str, str], token: str | None) -> Target:
    """Return the place of a server. Raise ConfigError."""
    if not isinstance(where, str) or not where.startswith(("http://", "https://")):
        words = tuple(shlex.split(where) if isinstance(where, str) else where)
        if not words or token is not None:
            raise ConfigError(
                f"McpServer({where!r}): give a command, with its secrets in env=, or a URL, with its token in token="
            )
        return Target(command=words, env=env)
    parts = urlsplit(where)
    if not parts.hostname or parts.username or parts.password:
        raise ConfigError(f"McpServer({where!r}): give where the server is, as in https://tools.example/mcp")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ConfigError(f"McpServer({where!r}): servers of other machines are called by https")
    return Target(url=where, token=token)


class Connection:
    """Connection to a server, shared by the calls of an agent. A task of its own holds it."""

    def __init__(self, target: Target, seconds: float) -> None:
        self._target = target
        self._seconds = seconds
        self._opening = asyncio.Lock()
        self._client: Client | None = None
        self._ended = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None

    async def client(self) -> "Client":
        """Return the open client. Raise TransientError for a server out of reach, ConfigError for a missing command."""
        async with self._opening:
            if self._client is not None and self._holder is not None and not self._holder.done():
                return self._client
            self._ended = asyncio.Event()
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._holder = asyncio.create_task(self._hold(ready, self._ended))
            try:
                async with asyncio.timeout(self._seconds):
                    client = await asyncio.shield(ready)
            except TimeoutError as error:
                await self.close()
                raise TransientError(f"the server did not greet within {self._seconds:g} seconds") from error
            self._client = client
            return client

    async def tools(self) -> list[ServerTool]:
        """Return the list of the server: fresh, or cached for the time given by the server."""
        client = await self.client()
        found: list[Tool] = []
        cursor: str | None = None
        async with asyncio.timeout(self._seconds):
            while True:
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if cursor is None or len(found) > MOST_TOOLS:
                    return [_tool(one) for one in found[: MOST_TOOLS + 1]]

    async def close(self) -> None:
        """End the connection, and a server that was started for it."""
        holder, self._holder, self._client = self._holder, None, None
        if holder is None:
            return
        self._ended.set()
        done, _ = await asyncio.wait([holder], timeout=self._seconds)
        if not done:
            holder.cancel()
            with suppress(asyncio.CancelledError):
                await holder

    async def _hold(self, ready: "asyncio.Future[Client]", ended: asyncio.Event) -> None:
        try:
            async with _open(self._target, self._seconds) as client:
                ready.set_result(client)
                await ended.wait()
        except ConfigError as error:
            _fail(ready, error)
        except FileNotFoundError:
            _fail(ready, ConfigError(f"no command {self._target.command[0]!r}: install the server, or give its path"))
        except Exception as error:  # the library, and a server behind it
            _fail(ready, TransientError(f"the server is out of reach: {clip(message_of(error), 300)}"))


def _fail(ready: "asyncio.Future[Client]", fault: Exception) -> None:
    if not ready.done():
        ready.set_exception(fault)
        ready.exception()  # a caller that has left asks no more


@asynccontextmanager
async def _open(target: Target, seconds: float) -> "AsyncGenerator[Client]":
    _must_be_installed()
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if target.command:
        command, *rest = target.command
        server = StdioServerParameters(command=command, args=rest, env=dict(target.env))
        with _log_of_server() as log:
            async with Client(stdio_client(server, errlog=log), read_timeout_seconds=seconds) as client:
                yield client
        return
    headers = {"authorization": f"Bearer {target.token}"} if target.token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=seconds, trust_env=False) as http,
        Client(streamable_http_client(target.url, http_client=http), read_timeout_seconds=seconds) as client,
    ):
        yield client


@contextmanager
def _log_of_server() -> Generator[TextIO]:
    """Yield the file for the log lines of a server. The library takes sys.stderr of its import, which in notebooks and
    captured runs is no file."""
    if sys.__stderr__ is not None:
        yield sys.__stderr__
        return
    with Path(os.devnull).open("w") as nothing:
        yield nothing


def _must_be_installed() -> None:
    try:
        import_module("mcp")
    except ModuleNotFoundError as error:
        raise ConfigError("McpServer needs the package mcp: pip install 'soorma-ai[mcp]'") from error


def _tool(listed: "Tool") -> ServerTool:
    hints = listed.annotations
    if not listed.name:
        raise RemoteProtocolError("the server lists a tool without a name")
    return ServerTool(
        name=listed.name,
        description=listed.description or listed.title or "",
        input_schema=listed.input_schema,
        output_schema=listed.output_schema,
        is_read_only=bool(hints and hints.read_only_hint),
        is_destructive=hints is None or hints.destructive_hint is not False,
        is_idempotent=bool(hints and hints.idempotent_hint),
    )
