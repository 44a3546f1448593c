"""Platform of a process: its store, bus and agents, and its client."""

import asyncio
import signal
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Self, TypedDict, Unpack, cast

from soorma_ai.agents.agent import Agent
from soorma_ai.agents.arguments import must_have
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.features.upkeep.retention import keep_pruning, must_be_kept_long_enough
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Bus, Clock, Embedder, Store
from soorma_ai.kernel.runtime.loops.supervisor import Supervisor
from soorma_ai.local_client import LocalClient
from soorma_ai.settings import Server, is_postgres, nats_url, read_server, read_settings


class PlatformOptions(TypedDict, total=False):
    """Options of a `Platform`."""

    store: Store | None
    """Store in the place of the one that `store_url` chooses."""
    bus: Bus | None
    """Bus in the place of the one that `bus_url` chooses."""
    clock: Clock | None
    """Clock in the place of the system's."""
    embedder: Embedder | None
    """Embedder: memory is then found by its meaning, too."""
    retention: timedelta | None
    """Age from which ended plans of every tenant, and old events of none, are removed while agents run, as `prune`
    removes them. By default nothing is."""
    limits: Limits | None
    """Bounds for events outside of plans: `max_nesting`, `max_hops` and `max_events`."""
    purpose: str
    """Purpose of the process, for others that want its file."""


class Platform(LocalClient):
    """Store, bus and agents of one process, and the client of the trusted root. Calls act as `person`, by default
    `default/local`; `as_user` returns the calls of another person. For the options see `PlatformOptions`.

    Args:
        store_url: URL of the store; by default SOORMA_STORE_URL.
        bus_url: URL of the bus; by default SOORMA_BUS_URL.
    """

    def __init__(
        self, store_url: str | None = None, bus_url: str | None = None, **options: Unpack[PlatformOptions]
    ) -> None:
        must_know("Platform", options, PlatformOptions)
        must_have("Platform", "store", options.get("store"), "notify", "a Store; the place of one is store_url=")
        must_have("Platform", "bus", options.get("bus"), "subscribe", "a Bus; the place of one is bus_url=")
        must_have("Platform", "clock", options.get("clock"), "now", "a Clock, as soorma_ai.testing.VirtualClock is")
        must_have("Platform", "embedder", options.get("embedder"), "embed", "an Embedder")
        self.person = Person()
        self._open_services = None
        self._settings = read_settings(store_url, bus_url)
        nats_url(self._settings.bus_url)
        if options.get("store") is None:
            is_postgres(self._settings.store_url)
        limits, retention = options.get("limits"), options.get("retention")
        self._retention = None if retention is None else must_be_kept_long_enough(retention)
        if limits is not None and not isinstance(cast(object, limits), Limits):
            raise ConfigError(f"Platform(limits={clip(repr(limits), 80)}): give Limits(max_events=10_000, ...)")
        self._options = options
        self._supervisor: Supervisor | None = None
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Open the store and the bus. Raise ConfigError for a file owned by another process, a damaged file, and a file
        without write access."""
        if self._open_services is not None:
            raise LocalProtocolError("this platform is open already")
        async with AsyncExitStack() as opening:
            await self._open(opening)
            self._closing = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def start(self, *agents: Agent) -> None:
        """Start `agents`; return after their registration, with handlers ready for events. Raise ConfigError, and start
        none."""
        if self._supervisor is None:
            raise LocalProtocolError("the platform is not open; use `async with Platform(...)`")
        for given in agents:
            _must_be_an_agent(given)
        for agent in agents:
            agent.take_reasoner(self.services.models)
        await asyncio.gather(*(agent.prepare() for agent in agents))
        for agent in agents:
            agent.check()
        await self._supervisor.start(agents)

    async def _open(self, opened: AsyncExitStack) -> None:
        # A program that only names its agents opens nothing, and loads no adapter.
        from soorma_ai.assembly import Overrides, assemble

        opened.callback(self._forget)
        options = self._options
        given = Overrides(
            store=options.get("store"),
            bus=options.get("bus"),
            clock=options.get("clock"),
            embedder=options.get("embedder"),
            limits=options.get("limits") or Limits(),
        )
        purpose = options.get("purpose", "an application")
        self._open_services, self._supervisor = await assemble(opened, self._settings, purpose, given)
        if self._retention is not None:
            self._supervisor.beside["retention"] = partial(keep_pruning, self._open_services, self._retention)

    def _forget(self) -> None:
        self._open_services = self._supervisor = None


def run(*agents: Agent, url: str | None = None, token: str | None = None) -> None:
    """Run agents as a process, set up by the environment, until SIGINT or SIGTERM.

    With the `url` of a server (SOORMA_URL) and a `token` for it (SOORMA_TOKEN), the process has no store: it leases the
    deliveries of its agents from the server.
    """
    asyncio.run(_serve(agents, read_server(url, token)))


async def _serve(agents: tuple[Agent, ...], server: Server | None) -> None:
    stop = stop_by_signal()
    if server is not None:
        # Only such a program calls over HTTP.
        from soorma_ai.remote import serve

        await serve(agents, server, stop)
        return
    async with Platform(purpose=", ".join(agent.name for agent in agents)) as platform:
        await platform.start(*agents)
        await stop.wait()


def stop_by_signal() -> asyncio.Event:
    """Return an event; SIGINT and SIGTERM set it from now on, instead of ending the process."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    return stop


def _must_be_an_agent(given: object) -> None:
    if not isinstance(given, Agent):
        raise ConfigError(f"start({clip(repr(given), 80)}): give agents, one after the other: start(first, second)")
