"""Routes for the processes of one user of this machine, over connections closed to everybody else."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from soorma_ai.api.operation import Operation
from soorma_ai.api.server.app_state import AppState
from soorma_ai.api.server.application import Dispatcher, assemble
from soorma_ai.api.server.auth import LOCAL_HOSTS, AccessControl
from soorma_ai.api.server.rates import OpenStreams
from soorma_ai.api.tokens import read_name
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.runtime.client.client import Client

# Of a body. Whoever may open the socket may write into the file as well.
MOST_BYTES = 4 * 2**20


class TrustedNames:
    """Accepts callers under their own names."""

    async def authenticate(self, token: str) -> Caller:
        return Caller(read_name(token))


def conversation(platform: Client, operations: tuple[Operation, ...]) -> Callable[[socket.socket], Awaitable[None]]:
    """Return the service of a platform on one connection, until its end. Its callers are trusted, and may be the root;
    operations of a file's owner are served here too."""
    entrance = AccessControl(TrustedNames(), LOCAL_HOSTS, frozenset(), frozenset(), None)
    desk = Dispatcher(entrance, AppState(platform, trusts_callers=True), OpenStreams(), MOST_BYTES)
    config = Config(
        assemble(desk, operations),
        http=H11Protocol,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    config.load()

    async def converse(connection: socket.socket) -> None:
        state = ServerState()
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_accepted_socket(lambda: _Protocol(config, state), connection)
        try:
            await protocol.lost.wait()
            # Whoever hung up needs no answer; what they asked for is done all the same.
            await asyncio.gather(*state.tasks, return_exceptions=True)
        finally:
            transport.abort()
            given_up = tuple(state.tasks)
            for task in given_up:
                task.cancel()
            await asyncio.gather(*given_up, return_exceptions=True)

    return converse


class _Protocol(H11Protocol):
    def __init__(self, config: Config, state: ServerState) -> None:
        super().__init__(config, state, {})
        self.lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set()
