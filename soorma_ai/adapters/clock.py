"""Real clocks, and the one source of fresh ids."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from os import urandom

from soorma_ai.kernel.domain.values import spell_uuid
from soorma_ai.kernel.ports import Clock

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# As far as a clock stands still to let another come up.
MOST_AHEAD = 1_000_000_000
A_LITTLE = timedelta(seconds=1)


class SystemClock:
    """Clock of this machine. `now` never goes back: after a step back of the wall clock, it goes on by the monotonic
    clock, the base of all due times; after a step forward, or a sleep of the machine, it follows at once. Both are read
    in nanoseconds."""

    def __init__(
        self, wall: Callable[[], int] = time.time_ns, monotonic: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._ahead: int | None = None

    def now(self) -> datetime:
        # In this order: time that passes between both looks puts nothing forward.
        ahead = self._wall() - (since := self._monotonic())
        if self._ahead is None or ahead > self._ahead:
            self._ahead = ahead
        return _EPOCH + timedelta(microseconds=(since + self._ahead) // 1000)

    def monotonic(self) -> float:
        return self._monotonic() / 1e9

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(seconds, call).cancel

    def new_id(self) -> str:
        return spell_uuid(urandom(16).hex(), 4)


class SteadyClock:
    """A clock of the application's own, kept from going back. When it is put back by more than a little, this one goes
    on by its monotonic clock until the other has come up; by a little, it stands still."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        said, since = self._clock.now(), self._clock.monotonic()
        if self._last is not None:
            last, looked = self._last
            passed = timedelta(seconds=since - looked)
            said = max(said, last) if last + passed - said <= A_LITTLE else last + passed
        self._last = said, since
        return said

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        return self._clock.call_later(seconds, call)

    def new_id(self) -> str:
        return self._clock.new_id()


class HostClock(SystemClock):
    """Clock of another host, such as that of a shared database, and never of this one: a stored moment, such as the end
    of a lease, means the same to all processes.

    Between two looks there it goes on by the monotonic clock. After a small lead, it stands still until the other has
    caught up; after a larger step back of the other, it goes on as it was. Used by any thread.
    """

    def __init__(self, monotonic: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(monotonic=monotonic)
        self._last = _EPOCH

    def keep_to(self, moment: datetime) -> None:
        """Adjust to the other clock's answer, as old as its transfer took."""
        ahead = (moment - _EPOCH) // timedelta(microseconds=1) * 1000 - self._monotonic()
        if self._ahead is None or ahead > self._ahead - MOST_AHEAD:
            self._ahead = ahead

    def now(self) -> datetime:
        if self._ahead is None:
            return super().now()
        moment = _EPOCH + timedelta(microseconds=(self._monotonic() + self._ahead) // 1000)
        self._last = max(moment, self._last)
        return self._last
