"""Agents of a process without a store; their platform is served at a URL."""

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self

from soorma_ai.adapters.clock import SteadyClock, SystemClock
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.agents.agent import Agent
from soorma_ai.agents.mounts import Inlet
from soorma_ai.api.clients.address import address_of
from soorma_ai.api.clients.sender import CallBounds, Sender
from soorma_ai.api.clients.transport import AsyncTransport
from soorma_ai.assembly import EVERY, build_models, reasoners_of
from soorma_ai.errors import ConfigError, LocalProtocolError, TransientError
from soorma_ai.features.remote.elsewhere.store import RemoteStore
from soorma_ai.kernel.domain.registry import AgentKind
from soorma_ai.kernel.extension import context_parts
from soorma_ai.kernel.ports import Clock
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.models import Models
from soorma_ai.kernel.runtime.handling.process.signals import Signals
from soorma_ai.kernel.runtime.loops.supervisor import Supervisor
from soorma_ai.settings import SERVER_URL, TOKEN, Server, read_server, read_settings

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64 * 2**20
PAUSE_BEFORE_START = 2.0


class RemoteAgents:
    """Tools, workers and plain agents of a platform at a URL. Their deliveries are leased over HTTP and handled here;
    the recorded effects are committed at the server, with every check of a handling beside the store.

    Planners run in the process of the store.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        clock: Clock | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        """Read the address. Raise ConfigError.

        Args:
            url: URL of the server; by default SOORMA_URL.
            token: token of these agents; by default SOORMA_TOKEN.
            clock: clock in the place of the system's.
            transport: another way than TCP, such as `httpx.AsyncHTTPTransport(uds=...)`.
        """
        server = read_server(url, token)
        if server is None:
            raise ConfigError(f"the URL of the server is missing: give url=, or set {SERVER_URL} (and {TOKEN})")
        self._address = address_of(server.url, server.token)
        self._line = AsyncTransport(self._address, transport)
        self._clock = SteadyClock(clock) if clock else SystemClock()
        self._store = RemoteStore(Sender(self._line, self._address.url, CallBounds(most_bytes=MOST_BYTES)), self._clock)
        self._supervisor: Supervisor | None = None
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._supervisor is not None:
            raise LocalProtocolError("these agents are in a block already")
        build_models()
        signals, prompts = Signals(), PromptFiles(*read_settings().prompts_dirs)
        parts = context_parts(EVERY)
        self._services = Services(
            self._store, self._clock, prompts, signals, models=Models(reasoners_of(None)), parts=parts, is_remote=True
        )
        self._supervisor = Supervisor(self._services, LocalBus())
        self._store.notify(signals.signal_commit, self._supervisor.note_arrival)
        self._closing.push_async_callback(self._store.close)
        self._closing.push_async_callback(self._supervisor.stop)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def start(self, *agents: Agent) -> None:
        """Start `agents`; return after their registration. Raise ConfigError for agents in need of the store, Forbidden
        and Unauthenticated for missing rights of the token, and StoreUnavailable while the server is away: then none
        has started."""
        if self._supervisor is None:
            raise LocalProtocolError("use `async with RemoteAgents(...)`")
        for agent in agents:
            must_run_elsewhere(agent)
        for agent in agents:
            agent.take_reasoner(self._services.models)
        await asyncio.gather(*(agent.prepare() for agent in agents))
        for agent in agents:
            agent.check()
        await self._supervisor.start(agents)
        self._store.watch()


def must_run_elsewhere(agent: Agent) -> None:
    """Raise ConfigError for an agent in need of the store in its process."""
    if agent.kind is AgentKind.PLANNER:
        raise ConfigError(
            f"{agent.name} is a planner: planners and state machines run beside the store. Start it there with "
            f"`soorma serve`, or leave {SERVER_URL} out"
        )
    if isinstance(agent, Inlet):
        raise ConfigError(f"{agent.name} is posted to at the server: start it there, with `soorma serve`")


async def serve(agents: tuple[Agent, ...], server: Server, stop: asyncio.Event) -> None:
    """Run agents until `stop` is set, and wait for an absent server."""
    async with RemoteAgents(server.url, token=server.token) as remote:
        stopping = asyncio.ensure_future(stop.wait())
        while not stop.is_set():
            try:
                await remote.start(*agents)
            except TransientError as error:
                warn("server_away", reason=error)
                await asyncio.wait((stopping,), timeout=PAUSE_BEFORE_START)
            else:
                await stopping
