"""Server of an application on a socket."""

import asyncio
import resource
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from soorma_ai.api.server.application import stop
from soorma_ai.api.server.auth import is_local
from soorma_ai.api.server.connections import BoundedConfig, ConnectionBounds
from soorma_ai.api.server.proxies import CallsByAddress
from soorma_ai.errors import ConfigError

GRACE_SECONDS = 10
MOST_CONNECTIONS = 4_000
# Of the files that a process may open, for the store, the bus, models, and connections that are just being closed.
FEWEST_OTHER_FILES = 96
# A turn of the loop accepts so many at most, so that those refused are closed before the files run out.
ACCEPTED_AT_ONCE = 16
BACKLOG = 2_048


def listen(host: str, port: int, *, is_open: bool) -> socket.socket:
    """Return a socket that is bound to this place. Raise ConfigError when it is taken, or cannot be; and for another
    host than this machine where no token is asked for (`is_open`)."""
    if is_open and not is_local(host):
        raise ConfigError(
            f"--host {host}: without --auth nobody is asked who they are, so only this machine may be served: "
            "give 127.0.0.1, ::1 or localhost, or an authenticator"
        )
    listener: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise ConfigError(f"{host}:{port} cannot be served: {error.strerror or error}; give another --port") from error
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def most_connections(asked: int | None = None) -> int:
    """Return how many connections may be open at once, with the process's limit of open files raised for them as far
    as it goes. Raise ConfigError where fewer may be open than are asked for."""
    wanted = asked or MOST_CONNECTIONS
    needed = wanted + max(FEWEST_OTHER_FILES, wanted // 8)
    files = _raise_open_files(needed)
    room = files - max(FEWEST_OTHER_FILES, files // 9)
    if room < (asked or 1):
        raise ConfigError(
            f"{wanted} connections need {needed} open files, and this process may have {files}: raise the limit "
            "(ulimit -n, LimitNOFILE=), or allow fewer connections"
        )
    return min(wanted, room)


def _raise_open_files(needed: int) -> int:
    """Return the number of files open to this process, up to this bound."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return needed
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


async def serve(
    served: Starlette,
    listener: socket.socket,
    until: asyncio.Event,
    on_start: Callable[[], None],
    bounds: ConnectionBounds | None = None,
) -> None:
    """Serve until the event is set; then end the streams, answer waiting calls, and return. The socket is closed."""
    if bounds is None:
        most = most_connections()
        bounds = ConnectionBounds(most, max(1, most // 2))
    config = BoundedConfig(
        CallsByAddress(served, bounds.proxies, bounds.most_each),
        bounds,
        backlog=ACCEPTED_AT_ONCE,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _UvicornServer(config, on_start)
    serving = asyncio.create_task(server.serve([listener]), name="http")
    stopping = asyncio.create_task(until.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        stop(served)
        server.should_exit = True
        await serving


class _UvicornServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)
        self._on_start()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals to the caller."""
        yield
