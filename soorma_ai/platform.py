"""The composition root: the one module that knows every adapter."""

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import Self

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.owner.control import ControlServer
from soorma_ai.adapters.owner.lock import Owner
from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.agents.agent import Agent
from soorma_ai.agents.planner_base import BasePlanner
from soorma_ai.domain.expectations import Arrival
from soorma_ai.domain.people import Person
from soorma_ai.domain.values import JsonObject, clip
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.ports import Bus, Clock, ModelSettings, Reasoner, Store
from soorma_ai.runtime.client.client import Client
from soorma_ai.runtime.client.commands import carry_out
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.process.signals import Signals
from soorma_ai.runtime.loops.supervise import Supervisor
from soorma_ai.settings import DEFAULT_BUS_URL, hide_password, read_settings, sqlite_path


class Platform(Client):
    """Store, bus and agents of one process; the trusted root, whose bare calls act as `default/local`.

    `store_url` and `bus_url` come from SOORMA_STORE_URL and SOORMA_BUS_URL when not given. `store`, `bus` and
    `clock` replace the adapters that the URLs choose.
    """

    def __init__(
        self,
        store_url: str | None = None,
        bus_url: str | None = None,
        *,
        store: Store | None = None,
        bus: Bus | None = None,
        clock: Clock | None = None,
        purpose: str = "an application",
    ) -> None:
        self.person = Person()
        self._open_services = None
        self._settings = read_settings(store_url, bus_url)
        if self._settings.bus_url != DEFAULT_BUS_URL:
            raise ConfigError(
                f"bus_url={hide_password(self._settings.bus_url)!r}: this version has the bus of one process; "
                f"leave it out, or give {DEFAULT_BUS_URL!r}"
            )
        self._path = None if store else sqlite_path(self._settings.store_url)
        self._store = store
        self._bus = bus
        self._clock = clock or SystemClock()
        self._purpose = purpose
        self._supervisor: Supervisor | None = None
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Raise ConfigError for a file that another process owns, that is damaged, or that cannot be written."""
        if self._open_services is not None:
            raise LocalProtocolError("this platform is open already")
        async with AsyncExitStack() as opening:
            await self._open(opening)
            self._closing = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def start(self, *agents: Agent) -> None:
        """Return when all are registered and their handlers take events. Raise ConfigError, and start none."""
        if self._supervisor is None:
            raise LocalProtocolError("the platform is not open; use `async with Platform(...)`")
        for given in agents:
            _must_be_an_agent(given)
        for agent in agents:
            if isinstance(agent, BasePlanner):
                _give_reasoner(agent)
            agent.check()
        await self._supervisor.start(agents)

    async def _open(self, opened: AsyncExitStack) -> None:
        """Open what a platform needs; `opened` closes it, the last one first, whatever one of them raises."""
        signals = Signals()
        owner = opened.enter_context(Owner.take(self._path, purpose=self._purpose)) if self._path else None
        opened.callback(self._forget)
        store = self._store or SqliteStore(self._path)
        opened.push_async_callback(store.close)
        store.notify(signals.committed, self._arrived)
        await store.open(self._clock.now())
        prompts = PromptFiles(*self._settings.prompts_dirs)
        backlog = self._settings.max_backlog
        self._open_services = Services(
            store, self._clock, prompts, signals, max_backlog=backlog, make_reasoner=make_reasoner
        )
        self._supervisor = Supervisor(self._open_services, self._bus or LocalBus())
        opened.push_async_callback(self._supervisor.stop)
        if owner is not None:
            control = ControlServer(owner.info.socket, self._obey)
            await control.start()
            opened.push_async_callback(control.close)

    def _arrived(self, arrival: Arrival) -> None:
        if self._supervisor is not None:
            self._supervisor.arrived(arrival)

    def _forget(self) -> None:
        self._open_services = self._supervisor = None

    async def _obey(self, request: JsonObject) -> JsonObject:
        """Carry out a command that came through the control socket, which only this user of this machine can open."""
        return await carry_out(self.services, request)


def run(*agents: Agent) -> None:
    """Run agents as a process, set up by the environment, until SIGINT or SIGTERM."""
    asyncio.run(_serve(agents))


async def _serve(agents: tuple[Agent, ...]) -> None:
    stop = stop_by_signal()
    async with Platform(purpose=", ".join(agent.name for agent in agents)) as platform:
        await platform.start(*agents)
        await stop.wait()


def stop_by_signal() -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets from now on, instead of ending the process."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    return stop


def _must_be_an_agent(given: object) -> None:
    if not isinstance(given, Agent):
        raise ConfigError(f"start({clip(repr(given), 80)}): give agents, one after the other: start(first, second)")


def _give_reasoner(planner: BasePlanner) -> None:
    if planner.reasoner is None and planner.model_settings is not None:
        planner.reasoner = make_reasoner(planner.model_settings)


def make_reasoner(settings: ModelSettings) -> Reasoner:
    return LiteLLMReasoner(
        settings.model,
        api_base=settings.api_base,
        api_key=settings.api_key,
        temperature=settings.temperature,
        **settings.extra,
    )
