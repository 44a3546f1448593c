"""Transports to a server, by httpx: an async one, and a blocking one.

Methods of the blocking one never wait for an event loop, so a coroutine over it ends at its first step (`run`).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from ipaddress import ip_address
from pathlib import Path
from random import SystemRandom
from secrets import token_hex
from threading import Event
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx
from msgspec import Struct

from soorma_ai.api.clients.address import Address
from soorma_ai.api.clients.messages import HttpRequest
from soorma_ai.errors import ServerUnavailable

CONNECT_SECONDS = 10.0
KEPT_CONNECTIONS = 20
_RANDOM = SystemRandom()

T = TypeVar("T")


class Unreachable(ServerUnavailable):
    """Nothing of the call has left."""


class OpenResponse(Struct, frozen=True):
    """Response with its headers read, and its body open. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class HttpTransport(Protocol):
    def monotonic(self) -> float: ...

    def draw(self) -> float:
        """Return any number from 0 to 1."""
        ...

    def new_key(self) -> str: ...

    async def pause(self, seconds: float) -> None: ...

    def open(self, request: HttpRequest, timeout: float) -> AbstractAsyncContextManager[OpenResponse]:
        """Send a request. `timeout`, in seconds, is how long nothing may come. Raise ServerUnavailable."""
        ...

    async def close(self) -> None: ...


class _Common:
    def __init__(self, address: Address) -> None:
        self._address = address

    def monotonic(self) -> float:
        return time.monotonic()

    def draw(self) -> float:
        return _RANDOM.random()

    def new_key(self) -> str:
        return token_hex(16)

    @contextmanager
    def _translate_faults(self, request: HttpRequest, timeout: float) -> Generator[None]:
        """Raise httpx's errors as our own, with the URL and a cure."""
        url = self._address.url
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            said = str(error) or type(error).__name__
            raise Unreachable(
                f"{url} cannot be reached ({said}): start a server there (`soorma serve`), or give the URL of another"
            ) from error
        except httpx.TimeoutException as error:
            raise ServerUnavailable(f"{url} said nothing to {request.name} for {timeout:.1f} s: try again") from error
        except httpx.HTTPError as error:
            said = str(error) or type(error).__name__
            raise ServerUnavailable(f"{url} was lost while it answered {request.name} ({said}): try again") from error

    def _parts(self, request: HttpRequest, timeout: float) -> dict[str, Any]:
        spans = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        return {
            "method": request.method,
            "url": self._address.url + request.path,
            "params": dict(request.query) or None,
            "headers": {**self._address.headers, **request.headers},
            "content": request.body,
            "timeout": spans,
            "follow_redirects": False,
        }

    @property
    def _options(self) -> dict[str, Any]:
        # What the environment says of proxies is not about this machine. Whoever waits for many things at once has a
        # connection for each.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)
        return {"trust_env": not _is_local(self._address.url), "limits": limits}


class AsyncTransport(_Common):
    def __init__(self, address: Address, transport: httpx.AsyncBaseTransport | None) -> None:
        super().__init__(address)
        self._http = httpx.AsyncClient(transport=transport, **self._options)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @asynccontextmanager
    async def open(self, request: HttpRequest, timeout: float) -> AsyncGenerator[OpenResponse]:
        with self._translate_faults(request, timeout):
            async with self._http.stream(**self._parts(request, timeout)) as response:
                yield OpenResponse(response.status_code, response.headers, response.aiter_raw())

    async def close(self) -> None:
        await self._http.aclose()


class BlockingTransport(_Common):
    def __init__(self, address: Address, transport: httpx.BaseTransport | None) -> None:
        super().__init__(address)
        self._http = httpx.Client(transport=transport, **self._options)

    async def pause(self, seconds: float) -> None:
        Event().wait(seconds)

    @asynccontextmanager
    async def open(self, request: HttpRequest, timeout: float) -> AsyncGenerator[OpenResponse]:
        with self._translate_faults(request, timeout), self._http.stream(**self._parts(request, timeout)) as response:
            yield OpenResponse(response.status_code, response.headers, _as_they_come(response.iter_raw()))

    async def close(self) -> None:
        self._http.close()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine over a blocking transport."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    finally:
        work.close()
    raise RuntimeError("a blocking call waited for an event loop")


async def _as_they_come(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def way_by(socket: Path) -> httpx.AsyncBaseTransport:
    """Return the transport to a local socket, without a check of certificates."""
    return httpx.AsyncHTTPTransport(uds=str(socket), verify=False)


def timed_out(error: ServerUnavailable) -> bool:
    """Tell whether a server is there and did not answer in time."""
    return isinstance(error.__cause__, httpx.TimeoutException)


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
