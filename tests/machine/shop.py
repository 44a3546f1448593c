"""One platform on one file, through as many processes as a test wants: started, crashed, closed, started again."""

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
    """`wrap` may put something round the store and the bus of each process."""

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
        """None when the process died of it: whoever asked does not know what became of it."""
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
        """Whatever wakes goes on until all is quiet, before the clock goes on."""
        until = self.clock.now() + span
        while (wake := self.clock.next_wake) is not None and wake <= until:
            self.do(self.clock.advance(wake - self.clock.now()))
            self.settle()
        self.do(self.clock.advance(until - self.clock.now()))

    def starve(self, span: timedelta) -> None:
        """Time passes, and the process hardly gets a turn: what it has in hand is overdue before it is done."""
        self.world.is_overtaken = True
        self.do(self.clock.advance(span))

    def crash(self, down: timedelta = timedelta(0), away: Sequence[str] = ()) -> None:
        """The process ends where it is, and another one starts after a while."""
        self.store.die()
        self._loop.abandon()
        self._loop.wait_for(self.store.close())
        self.clock_on(down)
        self._open()
        self.start(away)
        self.world.is_overtaken = False

    def restart(self, down: timedelta = timedelta(0), away: Sequence[str] = ()) -> None:
        """Closed in order: nothing disturbs it, and what is in hand is done before."""
        self.store.spare()
        self.settle()
        while self.audit.rows("SELECT 1 FROM inbox WHERE state = 'leased'"):
            self.advance(PRINTING_TAKES)
        self._loop.wait_for(self.platform.__aexit__(None, None, None))
        self.clock_on(down)
        self._open()
        self.start(away)

    def clock_on(self, span: timedelta) -> None:
        """While nobody lives."""
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
