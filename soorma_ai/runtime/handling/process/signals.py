"""Wake-ups inside one process, and who is alive in it. A signal only saves waiting: who is woken looks at the rows."""

import asyncio
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from soorma_ai.ports import Clock, Registry

HEARTBEAT = timedelta(seconds=60)


class Signals:
    def __init__(self) -> None:
        self._agents: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._watchers: set[asyncio.Event] = set()
        self._awaited: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._broken: BaseException | None = None
        self.outbox = asyncio.Event()
        self.timers = asyncio.Event()

    def agent(self, name: str) -> asyncio.Event:
        return self._agents[name]

    def wake_agents(self, names: frozenset[str] | None = None) -> None:
        for name in names if names is not None else list(self._agents):
            self._agents[name].set()

    def committed(self) -> None:
        """Signal that a transaction wrote."""
        self.outbox.set()
        for watcher in self._watchers:
            watcher.set()

    def happened(self, keys: Iterable[str]) -> None:
        """Signal that a plan has ended, a tree of plans asks people something, or a client's request is answered."""
        for key in keys:
            for waiter in self._awaited.get(key, ()):
                waiter.set()

    def broke(self, error: BaseException) -> None:
        """Signal something that no handling may survive, such as a call that its recording does not hold: whoever waits
        here waits in vain, and is told."""
        self._broken = error
        for waiter in (*self._watchers, *(w for waiters in self._awaited.values() for w in waiters)):
            waiter.set()

    def check(self) -> None:
        """Raise what broke."""
        if self._broken is not None:
            raise self._broken.with_traceback(None)

    @contextmanager
    def awaiting(self, *keys: str) -> Generator[asyncio.Event]:
        """An event that is set when one of these has happened."""
        waiter = asyncio.Event()
        for key in keys:
            self._awaited[key].add(waiter)
        try:
            yield waiter
        finally:
            for key in keys:
                self._awaited[key].discard(waiter)
                if not self._awaited[key]:
                    del self._awaited[key]

    def watch(self) -> asyncio.Event:
        """An event that is set after every commit, until `unwatch`."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        return watcher

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)


def questions_of(root_plan_id: str) -> str:
    """Return the key of what a tree of plans asks people."""
    return f"questions of {root_plan_id}"


class Presence:
    """The agents of this process are alive as long as it is, however long it was suspended."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._last: datetime | None = None

    def add(self, name: str) -> None:
        self.names += (name,)

    async def confirm(self, registry: Registry, now: datetime) -> None:
        """Give a heart-beat when the last one is old: before looking who lives, and once a minute."""
        if self.names and (self._last is None or now - self._last >= HEARTBEAT):
            self._last = now
            await registry.heartbeat(self.names, now)


async def until(woken: asyncio.Event, clock: Clock, seconds: float | None) -> None:
    """Wait until woken or, by this clock, so many seconds later. The event is cleared."""
    if not woken.is_set():
        if seconds is None:
            await woken.wait()
        else:
            await _either(woken, clock, seconds)
    woken.clear()


async def _either(woken: asyncio.Event, clock: Clock, seconds: float) -> None:
    until_when = clock.monotonic() + seconds
    tasks: list[asyncio.Future[Any]] = [
        asyncio.ensure_future(woken.wait()),
        asyncio.ensure_future(_sleep(clock, until_when)),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _sleep(clock: Clock, until_when: float) -> None:
    """Sleep, counted from when it was decided and not from when this task came to run."""
    left = until_when - clock.monotonic()
    if left > 0:
        await clock.sleep(left)
