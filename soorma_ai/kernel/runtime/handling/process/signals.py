"""Wake-ups inside one process, and the presence of its agents. A signal only saves waiting: the woken one reads the
rows."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import Clock, Registry
from soorma_ai.kernel.runtime.handling.process.counters import Counters

HEARTBEAT = timedelta(seconds=60)


class Signal(asyncio.Event):
    """Signal of an event; `reply` is a reply that came in this process."""

    reply: EventEnvelope | None = None


class Signals:
    """Signals of one process. `tallies` count its events so far. `mail` waits for other stores; agents have been
    `registered`, or other stores ask for its agents."""

    def __init__(self) -> None:
        self.tallies = Counters()
        self._agents: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._watchers: set[asyncio.Event] = set()
        self._awaited: defaultdict[str, set[Signal]] = defaultdict(set)
        self._broken: BaseException | None = None
        self.outbox = asyncio.Event()
        self.mail = asyncio.Event()
        self.timers = asyncio.Event()
        self.registered = asyncio.Event()

    def agent(self, name: str) -> asyncio.Event:
        return self._agents[name]

    def wake_agents(self, names: frozenset[str] | None = None) -> None:
        woken = names if names is not None else list(self._agents)
        for name in woken:
            self._agents[name].set()
        self.signal(map(deliveries_of, woken))

    def signal_commit(self, is_leaving: bool) -> None:
        """Signal that a transaction wrote, and whether something is left to the relay."""
        if is_leaving:
            self.outbox.set()
        for watcher in self._watchers:
            watcher.set()

    def signal(self, keys: Iterable[str]) -> None:
        """Signal that a plan has ended, or a tree of plans asks people something."""
        for key in keys:
            for waiter in self._awaited.get(key, ()):
                waiter.set()

    def hand_replies(self, replies: Mapping[str, EventEnvelope]) -> None:
        """Hand clients the replies to their requests."""
        for request_id, reply in replies.items():
            for waiter in self._awaited.get(request_id, ()):
                waiter.reply = reply
                waiter.set()

    def broke(self, error: BaseException) -> None:
        """Signal a fault fatal to every handling, such as a call missing in its recording: all waits here end with
        it."""
        self._broken = error
        for waiter in (*self._watchers, *(w for waiters in self._awaited.values() for w in waiters)):
            waiter.set()

    def check(self) -> None:
        """Raise the fault."""
        if self._broken is not None:
            raise self._broken.with_traceback(None)

    def notice_of(self, *keys: str) -> AbstractContextManager[Signal]:
        """An event that is set when one of these has happened."""
        return _Notice(self._awaited, keys)

    def watch(self) -> asyncio.Event:
        """An event that is set after every commit, until `unwatch`."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        return watcher

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)


class _Notice:
    """Registration of a signal under these keys, for a block."""

    def __init__(self, awaited: defaultdict[str, set[Signal]], keys: tuple[str, ...]) -> None:
        self._awaited, self._keys = awaited, keys
        self._waiter = Signal()

    def __enter__(self) -> Signal:
        for key in self._keys:
            self._awaited[key].add(self._waiter)
        return self._waiter

    def __exit__(self, *_: object) -> None:
        for key in self._keys:
            waiters = self._awaited[key]
            waiters.discard(self._waiter)
            if not waiters:
                del self._awaited[key]


def deliveries_of(agent: str) -> str:
    """Return the key of an agent's deliveries."""
    return f"deliveries of {agent}"


def questions_of(root_plan_id: str) -> str:
    """Return the key of the questions of a tree of plans."""
    return f"questions of {root_plan_id}"


class Presence:
    """The agents of this process are alive as long as it is, however long it was suspended."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._last: datetime | None = None

    def add(self, name: str) -> None:
        self.names += (name,)

    async def confirm(self, registry: Registry, now: datetime) -> None:
        """Give a heart-beat after an old one: before a look at the live agents, and once a minute."""
        if self.names and (self._last is None or now - self._last >= HEARTBEAT):
            self._last = now
            await registry.heartbeat(self.names, now)


async def until(woken: asyncio.Event, clock: Clock, seconds: float | None) -> None:
    """Wait until woken or, by this clock, so many seconds later. The event is cleared."""
    if not woken.is_set():
        forget = clock.call_later(seconds, woken.set) if seconds is not None else None
        try:
            await woken.wait()
        finally:
            if forget is not None:
                forget()
    woken.clear()
