"""A store and a bus with false reports of their effects, around real ones."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from soorma_ai.errors import BusUnavailable, StoreUnavailable
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.ports import Brought, Bus, Clock, Store, StoredEvent, StoreKey

T = TypeVar("T")

# All other methods of a store write.
_READS = frozenset(
    {
        "agents",
        "backlog",
        "state",
        "cancellation",
        "dead_letter",
        "dead_letters",
        "decisions",
        "event",
        "events",
        "expectation",
        "expectations",
        "goal_of",
        "journal",
        "all_events",
        "live_events",
        "find_met",
        "next_due",
        "count_pending",
        "plan",
        "plans",
        "read_spent",
        "plan_status",
        "steps",
        "steps_at",
        "sub_tasks",
        "sub_tasks_later",
        "task",
        "task_expectations",
        "tenant_stats",
        "unsent",
    }
)
# fmt: on
_NOT_COUNTED = frozenset({"open", "close", "deliver", "name", "features"})

_silent: ContextVar[bool] = ContextVar("silent", default=False)


def _unless_silent(call: Callable[[T], None]) -> Callable[[T], None]:
    return lambda given: None if _silent.get() else call(given)


class Fault(Enum):
    """The effects of a write reported as failed. Its caller cannot tell them apart."""

    NOT_MADE = "not made"
    MADE = "made"
    MADE_IN_SILENCE = "made, and not even those who listen for commits were told"


@dataclass(frozen=True)
class StoreFault:
    """Reports the n-th write, from 1, as failed."""

    position: int
    what: Fault


class FaultyStore:
    """Counts the writes, by name, in `written`."""

    def __init__(self, store: Store, fault: StoreFault | None = None) -> None:
        self.written: list[str] = []
        self._store = store
        self._fault = fault

    def notify(self, on_commit: Callable[[bool], None], on_arrival: Callable[[Arrival], None]) -> None:
        self._store.notify(_unless_silent(on_commit), _unless_silent(on_arrival))

    def within(self, tenant_id: str) -> "FaultyStore":
        return self

    def part(self, key: StoreKey[T]) -> Any:
        return FaultyPart(self._store.part(key), self._write)

    def find(self, key: StoreKey[T]) -> Any:
        found = self._store.find(key)
        return None if found is None else FaultyPart(found, self._write)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return found if name in _NOT_COUNTED else FaultyPart(found, self._write)

    async def _write(self, name: str, method: Callable[..., Awaitable[Any]], *given: Any, **named: Any) -> Any:
        self.written.append(name)
        fault = self._fault
        if fault is None or fault.position != len(self.written):
            return await method(*given, **named)
        if fault.what is not Fault.NOT_MADE:
            silent = _silent.set(fault.what is Fault.MADE_IN_SILENCE)
            await method(*given, **named)
            _silent.reset(silent)
        raise StoreUnavailable(f"{name} did not answer")


@dataclass(frozen=True)
class FaultyPart:
    """The methods of one port; the writing ones are called by `write`."""

    part: Any
    write: Callable[..., Awaitable[Any]]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.part, name)
        return method if name in _READS else partial(self.write, name, method)


class Way(Enum):
    """The outcomes of one publish."""

    GOOD = "delivered"
    DENIED = "delivered, and reported as failed"
    FAILED = "not delivered, and reported as failed"
    DOUBLED = "delivered twice"
    LATE = "taken, and delivered later"
    MIXED = "delivered one by one, in another order, some of it later"
    LOST = "taken, and never delivered"


UNSAFE_WAYS = (Way.GOOD, Way.DENIED, Way.FAILED, Way.DOUBLED, Way.LATE, Way.MIXED)
LONGEST_DELAY = 40.0


class FaultyBus:
    """Treats each publish in a way drawn by `seed` from `ways`. `took` counts."""

    is_broker = True

    def __init__(self, bus: Bus, clock: Clock, seed: int, ways: Sequence[Way]) -> None:
        self.took: list[Way] = []
        self._bus = bus
        self._clock = clock
        self._random = random.Random(seed)
        self._ways = ways
        self._late: set[asyncio.Task[None]] = set()

    async def subscribe(self, receive: Callable[[Sequence[Brought]], Awaitable[None]]) -> None:
        await self._bus.subscribe(receive)

    async def close(self) -> None:
        await self._bus.close()

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        way = self._random.choice(self._ways)
        self.took.append(way)
        match way:
            case Way.GOOD:
                await self._bus.publish(rows)
            case Way.DENIED:
                await self._bus.publish(rows)
                raise BusUnavailable("the bus did not say that it took them")
            case Way.FAILED:
                raise BusUnavailable("the bus is away")
            case Way.DOUBLED:
                await self._bus.publish([*rows, *rows])
                await self._bus.publish(rows)
            case Way.LATE:
                self._later(rows)
            case Way.MIXED:
                await self._mixed(rows)
            case Way.LOST:
                pass

    async def _mixed(self, rows: Sequence[StoredEvent]) -> None:
        for row in self._random.sample(rows, len(rows)):
            if self._random.random() < 0.5:
                await self._bus.publish([row])
            else:
                self._later([row])

    def _later(self, rows: Sequence[StoredEvent]) -> None:
        task = asyncio.create_task(self._deliver(self._random.uniform(0, LONGEST_DELAY), rows))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _deliver(self, seconds: float, rows: Sequence[StoredEvent]) -> None:
        """Deliver until acknowledged, as a bus does after taking an event."""
        await self._clock.sleep(seconds)
        while True:
            try:
                await self._bus.publish(rows)
            except (BusUnavailable, StoreUnavailable):
                await self._clock.sleep(1.0)
            else:
                return
