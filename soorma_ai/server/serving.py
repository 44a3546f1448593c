"""An application over a socket, until it is told to stop."""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from soorma_ai.errors import ConfigError
from soorma_ai.server.application import stop
from soorma_ai.server.entrance import is_local

GRACE_SECONDS = 10
MOST_CONNECTIONS = 4_000


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


async def serve(served: Starlette, listener: socket.socket, until: asyncio.Event, on_start: Callable[[], None]) -> None:
    """Serve until the event is set; then end the streams, answer what waits, and return. The socket is closed."""
    config = uvicorn.Config(
        served,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,  # what a proxy says of its callers is no reason to trust them
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
    )
    server = _Server(config, on_start)
    serving = asyncio.create_task(server.serve([listener]), name="http")
    stopping = asyncio.create_task(until.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        stop(served)
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals to who serves."""
        yield
