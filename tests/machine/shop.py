"""One platform on one file, through any number of processes: started, crashed, closed, started again."""

from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from machine.quiet import QuietLoop, Stuck
from machine.stores import MortalStore, kind_of_store
from machine.world import PRINTING_TAKES, World, agents
from soorma_ai import Platform
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.kernel.ports import Bus, Store
from soorma_ai.testing.clock import VirtualClock

T = TypeVar("T")
Wrap = Callable[[Store, Bus, VirtualClock], tuple[Store, Bus]]


def as_they_are(store: Store, bus: Bus, clock: VirtualClock) -> tuple[Store, Bus]:
    return store, bus


class Shop:
    """`wrap` may put layers around the store and the bus of each process."""

    def __init__(self, path: Path, make_store: type[MortalStore] | None = None, wrap: Wrap = as_they_are) -> None:
        self.clock = VirtualClock()
        self.world = World(self.clock)
        self._make_store = make_store = make_store or kind_of_store()
        self._wrap = wrap
        self._loop = QuietLoop()
        self._home = make_store.make_home(path)
        self._open()
        self.audit = make_store.audit_of(self._home)
        self.world.look = self.audit.rows

    def start(self, away: Sequence[str] = ()) -> None:
        self.do(self.platform.start(*agents(self.world, away)))

    def do(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Run a call; None if the process died of it: the caller does not know the outcome."""
        try:
            return self._loop.do(work)
        except Stuck:
            if not self.store.is_dead:
                raise
            return None

    def settle(self) -> None:
        self._loop.settle()
        self.world.is_overtaken = False

    def steps(self, count: int) -> None:
        self._loop.steps(count)

    def advance(self, span: timedelta) -> None:
        """Advance the clock from timer to timer; each time all work settles before the clock continues."""
        until = self.clock.now() + span
        while (wake := self.clock.next_wake) is not None and wake <= until:
            self.do(self.clock.advance(wake - self.clock.now()))
            self.settle()
        self.do(self.clock.advance(until - self.clock.now()))

    def starve(self, span: timedelta) -> None:
        """Let time pass with hardly a turn for the process: its work is overdue before it is done."""
        self.world.is_overtaken = True
        self.do(self.clock.advance(span))

    def crash(self, down: timedelta = timedelta(0), away: Sequence[str] = ()) -> None:
        """End the process in the middle of its work, and start another after a while."""
        self.store.die()
        self._loop.abandon()
        self._loop.wait_for(self.store.close())
        self.clock_on(down)
        self._open()
        self.start(away)
        self.world.is_overtaken = False

    def restart(self, down: timedelta = timedelta(0), away: Sequence[str] = ()) -> None:
        """Close in order: the work in hand is completed first."""
        self.store.spare()
        self.settle()
        while self.audit.rows("SELECT 1 FROM inbox WHERE state = 'leased'"):
            self.advance(PRINTING_TAKES)
        self._loop.wait_for(self.platform.__aexit__(None, None, None))
        self.clock_on(down)
        self._open()
        self.start(away)

    def clock_on(self, span: timedelta) -> None:
        """Advance the clock without a living process."""
        self._loop.do(self.clock.advance(span))

    def close(self) -> None:
        self.store.die()
        self._loop.abandon()
        self._loop.wait_for(self.store.close())
        self.audit.close()
        self._loop.close()

    def _open(self) -> None:
        self.store = self._make_store(self._home)
        self.bus: Bus
        store, self.bus = self._wrap(self.store, LocalBus(), self.clock)
        self.platform = Platform(store=store, bus=self.bus, clock=self.clock)
        self._loop.wait_for(self.platform.__aenter__())
