"""The real clock, and the one source of fresh ids."""

import asyncio
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """`now` never goes back. When the wall clock is put back, it goes on by the monotonic clock, from which whatever is
    due takes its time; when that is put forward, or the machine has slept, it follows at once. Both are read in
    nanoseconds."""

    def __init__(
        self, wall: Callable[[], int] = time.time_ns, monotonic: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._ahead: int | None = None

    def now(self) -> datetime:
        # In this order: time that passes between both looks puts nothing forward.
        ahead = self._wall() - (since := self._monotonic())
        self._ahead = ahead if self._ahead is None else max(ahead, self._ahead)
        return _EPOCH + timedelta(microseconds=(since + self._ahead) // 1000)

    def monotonic(self) -> float:
        return self._monotonic() / 1e9

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(seconds, call).cancel

    def new_id(self) -> str:
        return str(uuid.uuid4())
