"""Store of a process without one: an agent's needs are requested from a server."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar, cast

from pydantic import TypeAdapter

from soorma_ai.api.clients.sender import Sender
from soorma_ai.errors import LocalProtocolError, SoormaError, TransientError
from soorma_ai.features.remote.elsewhere.calls import RemoteCalls
from soorma_ai.features.remote.elsewhere.queue import RemoteQueue
from soorma_ai.features.remote.records import Neighbour, PlacedEvent, Reading
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation, Untaken
from soorma_ai.kernel.domain.memory import MemoryKey, SessionSummary, StoredValue
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.ports import (
    AgentRow,
    Audit,
    Clock,
    EventHandling,
    EventLog,
    Hands,
    Memory,
    Note,
    Plans,
    Queue,
    Registry,
    Store,
    StoredEvent,
    StoreKey,
)
from soorma_ai.kernel.runtime.handling.logs import warn

T = TypeVar("T")

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
MOST_LISTED = 10_000
_REGISTRATIONS = TypeAdapter(list[Registration])


class _BesideTheStore:
    """Parts of a store closed to remote processes."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        def refuse(*_: object, **__: object) -> NoReturn:
            raise LocalProtocolError(f"{name} is asked in the process of the store, and not by an agent elsewhere")

        return refuse


class RemotePlans(_BesideTheStore):
    def __init__(self, door: RemoteCalls) -> None:
        self._read = door.read

    async def plan_status(self, plan_id: str) -> tuple[PlanStatus, str | None] | None:
        found = await self._read(Reading.STANDING, id=plan_id)
        return (PlanStatus(found[0]), found[1]) if found else None

    async def plan(self, plan_id: str) -> PlanRecord | None:
        return await self._read(Reading.PLAN, id=plan_id)

    async def goal_of(self, plan_id: str) -> tuple[str, EventEnvelope] | None:
        return await self._read(Reading.GOAL_OF, id=plan_id)

    async def plans(
        self,
        *,
        tenant_id: str | None,
        status: PlanStatus | None,
        root_plan_id: str | None,
        limit: int,
        session_id: str | None = None,
        user_id: str | None = None,
    ) -> list[PlanRecord]:
        limit = min(limit, MOST_LISTED)
        return await self._read(
            Reading.PLANS, status=status, root_plan_id=root_plan_id, limit=limit, session_id=session_id
        )

    async def plan_answering(self, tenant_id: str, answer_key: str) -> PlanRecord | None:
        return await self._read(Reading.PLAN_ANSWERING, id=answer_key)

    async def expectation(self, expectation_id: str) -> Expectation | None:
        return await self._read(Reading.EXPECTATION, id=expectation_id)

    async def expectations_by_id(self, ids: Sequence[str]) -> list[Expectation]:
        return await self._read(Reading.NAMED_EXPECTATIONS, ids=tuple(ids))

    async def group(self, group_id: str) -> list[Expectation]:
        return await self._read(Reading.GROUP, id=group_id)

    async def find_met(self, owner: str, event_id: str) -> Expectation | None:
        return await self._read(Reading.MET_BY, id=event_id)

    async def task(self, agent: str, task_id: str) -> TaskRecord | None:
        return await self._read(Reading.TASK, agent=agent, id=task_id)

    async def agents_of_task(self, task_id: str) -> list[str]:
        return await self._read(Reading.AGENTS_OF_TASK, id=task_id)

    async def sub_tasks(self, agent: str, task_id: str, first: int = 0, last: int | None = None) -> list[SubTaskInfo]:
        return await self._read(Reading.SUB_TASKS, agent=agent, id=task_id, first=first, last=last)

    async def sub_tasks_later(self, agent: str, task_id: str) -> Callable[[], list[SubTaskInfo]]:
        """Read them now: nothing can be asked on the spot."""
        found = await self.sub_tasks(agent, task_id)
        return lambda: found

    async def task_expectations(self, agent: str, task_id: str) -> list[Expectation]:
        return await self._read(Reading.TASK_EXPECTATIONS)


class RemoteMemory(_BesideTheStore):
    def __init__(self, door: RemoteCalls) -> None:
        self._read = door.read

    async def recall(self, at: MemoryKey) -> StoredValue:
        return await self._read(Reading.RECALL, id=at.plan_id, key=at.key)

    async def memory_keys(self, tenant_id: str, plan_id: str) -> list[str]:
        return await self._read(Reading.MEMORY_KEYS, id=plan_id)

    async def sessions(self, tenant_id: str, limit: int, *, user_id: str | None = None) -> list[SessionSummary]:
        return await self._read(Reading.SESSIONS, limit=limit)


class RemoteEvents(_BesideTheStore):
    def __init__(self, door: RemoteCalls) -> None:
        self._read = door.read

    async def event(self, event_id: str) -> EventEnvelope | None:
        return await self._read(Reading.EVENT, id=event_id)

    async def events(
        self,
        *,
        after: int = 0,
        tenant_id: str | None = None,
        root_plan_id: str | None = None,
        limit: int = 500,
        newest: bool = False,
    ) -> list[StoredEvent]:
        found: list[PlacedEvent] = await self._read(Reading.EVENTS, after=after, root_plan_id=root_plan_id, limit=limit)
        return [StoredEvent(one.seq, one.event) for one in found]

    async def receivers_of(self, event_ids: Sequence[str]) -> list[EventHandling]:
        return await self._read(Reading.HANDED, ids=tuple(event_ids))

    async def untaken(
        self,
        tenant_id: str,
        now: datetime,
        *,
        limit: int,
        root_plan_id: str | None = None,
        task_id: str | None = None,
        user_id: str | None = None,
    ) -> list[Untaken]:
        return await self._read(Reading.UNTAKEN, id=task_id or "", root_plan_id=root_plan_id, limit=limit)


class RemoteRegistry(_BesideTheStore):
    def __init__(self, door: RemoteCalls) -> None:
        self._door = door
        self._read = door.read
        self.registered: dict[str, Registration] = {}

    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        """Raise ConfigError, Forbidden, Unauthenticated, and StoreUnavailable."""
        await self._register(registrations)
        self.registered |= {one.agent: one for one in registrations}

    async def register_again(self, agent: str) -> None:
        await self._register([self.registered[agent]])

    async def _register(self, registrations: Sequence[Registration]) -> None:
        given = _REGISTRATIONS.dump_python(list(registrations), mode="json")
        await self._door.register({"agents": [{**one, "agent": plain_name(one["agent"])} for one in given]})

    async def heartbeat(self, agents: Sequence[str], now: datetime) -> None:
        for agent in agents:
            await self._door.tell(agent, "confirm")

    async def leave(self, agents: Sequence[str]) -> None:
        for agent in agents:
            self.registered.pop(agent, None)
            try:
                await self._door.tell(agent, "leave")
            except TransientError as error:
                # It is gone when it has said nothing for long enough.
                warn("leave_failed", agent=agent, reason=error)

    async def live_events(self, tenant_id: str, now: datetime) -> Sequence[RegisteredEvent]:
        return await self._read(Reading.LIVE_EVENTS)

    async def all_events(self, tenant_id: str) -> Sequence[RegisteredEvent]:
        return await self._read(Reading.KNOWN_EVENTS)

    async def definitions(self, tenant_id: str, event_name: str) -> list[EventDefinition]:
        return await self._read(Reading.DEFINITIONS, id=event_name)

    async def agents(self, now: datetime) -> list[AgentRow]:
        found: Collection[Neighbour] = await self._read(Reading.AGENTS)
        return [
            AgentRow(one.registration.agent, one.registration.tenant_id, one.registration, now, one.live)
            for one in found
        ]


class RemoteStore:
    """Store over HTTP. One call for each agent waits for its deliveries; they are leased within its room. While the
    server is away it is asked again with growing pauses, and at its return the agents register again."""

    def __init__(self, caller: Sender, clock: Clock) -> None:
        self._caller = caller
        self._clock = clock
        self._door = door = RemoteCalls(caller)
        self._queue = RemoteQueue(door, clock.new_id())
        self._registry = RemoteRegistry(door)
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._on_arrival: Callable[[Arrival], None] = lambda _: None
        self.queue: Queue = self._queue
        self.plans = cast("Plans", RemotePlans(door))
        self.memory = cast("Memory", RemoteMemory(door))
        self.registry = cast("Registry", self._registry)
        self.events = cast("EventLog", RemoteEvents(door))
        nothing: Any = _BesideTheStore()
        self.audit: Audit = nothing
        self.features = frozenset[str]()

    def part(self, key: StoreKey[T]) -> T:
        raise LocalProtocolError(f"{key.name} is asked in the process of the store, and not by an agent elsewhere")

    def find(self, key: StoreKey[T]) -> T | None:
        return None

    async def name(self, fresh: str) -> str:
        raise LocalProtocolError("the name of a store is asked in the process of the store")

    def with_note(self, note: Note) -> Store:
        raise LocalProtocolError("what a caller changed is written down in the process of the store")

    def within(self, tenant_id: str) -> Store:
        """Return this store: the token fixes its tenant."""
        return self

    def notify(self, on_commit: Callable[[bool], None], on_arrival: Callable[[Arrival], None]) -> None:
        self._on_arrival = on_arrival

    def deliver(self, hands: Hands, lease: timedelta) -> None: ...

    async def open(self, now: datetime) -> None: ...

    def watch(self) -> None:
        """Wait from now on for deliveries of all registered agents."""
        for agent in self._registry.registered:
            if agent not in self._watching:
                self._watching[agent] = asyncio.create_task(self._watch(agent), name=f"watch:{agent}")

    async def close(self) -> None:
        for task in self._watching.values():
            task.cancel()
        await asyncio.gather(*self._watching.values(), return_exceptions=True)
        await self._caller.line.close()

    async def _watch(self, agent: str) -> None:
        idle, pause = self._queue.idle[agent], FIRST_PAUSE
        while True:
            await idle.wait()
            begun = self._clock.monotonic()
            try:
                has_come = await self._door.has_come(agent)
            except SoormaError as error:
                warn("server_away", agent=agent, reason=error)
                await self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                await self._register_again(agent)
                continue
            pause = FIRST_PAUSE
            if has_come:
                await self._have_leased(agent)
            elif self._clock.monotonic() - begun < FIRST_PAUSE:
                await self._clock.sleep(FIRST_PAUSE)  # a server that ends waits for nothing

    async def _have_leased(self, agent: str) -> None:
        idle = self._queue.idle[agent]
        idle.clear()
        self._queue.lent.discard(agent)
        self._on_arrival(Arrival(agents=frozenset({agent})))
        await idle.wait()
        if agent not in self._queue.lent:
            await self._clock.sleep(FIRST_PAUSE)  # what has come is held here already, beyond its lease

    async def _register_again(self, agent: str) -> None:
        try:
            await self._registry.register_again(agent)
        except SoormaError as error:
            warn("register_failed", agent=agent, reason=error)
