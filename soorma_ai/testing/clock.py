"""Virtual clock for tests: days pass in no time, and nothing sleeps."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from soorma_ai.kernel.domain.values import derived_id

START = datetime(2026, 1, 1, tzinfo=UTC)

# Number of the process among those of a crash test: a later one makes other ids.
life = 1


class VirtualClock:
    """Stands still until `advance`. Ids are derived from a counter, so a run can be repeated to the letter."""

    def __init__(self, start: datetime = START, *, seed: str = "test") -> None:
        self._now = start
        self._start = start
        self._seed = seed if life == 1 else f"{seed}.{life}"
        self._count = itertools.count()
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._start).total_seconds()

    def new_id(self) -> str:
        return derived_id("virtual", self._seed, str(next(self._count)))

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            await self._wake_after(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        def wake(woken: asyncio.Future[None]) -> None:
            if not woken.cancelled():
                call()

        def forget() -> None:
            future.cancel()

        future = self._wake_after(seconds)
        future.add_done_callback(wake)
        return forget

    def _wake_after(self, seconds: float) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if seconds > 0:
            heapq.heappush(self._sleepers, (self._now + timedelta(seconds=seconds), next(self._count), future))
        else:
            future.set_result(None)
        return future

    @property
    def next_wake(self) -> datetime | None:
        """Moment of the first sleeper's end; None without a sleeper."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def advance(self, span: timedelta | float) -> None:
        """Wake every sleeper with its time in this span, in order; their work goes on after the return."""
        until = self._now + (span if isinstance(span, timedelta) else timedelta(seconds=span))
        while self._sleepers and self._sleepers[0][0] <= until:
            due, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, due)
            if not future.done():
                future.set_result(None)
                await asyncio.sleep(0)
        self._now = until
