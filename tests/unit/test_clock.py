import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from soorma_ai.adapters.clock import HostClock, SteadyClock, SystemClock
from soorma_ai.testing.clock import START, VirtualClock

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("seconds", "span"),
    [
        (1e-06, MICROSECOND),
        (9.99e-07, MICROSECOND),
        (300.000001 - 300, MICROSECOND),
        (0.1 + 0.2, 300_000 * MICROSECOND),
    ],
)
def test_a_sleeper_wakes_at_its_moment_despite_rounded_floats(seconds: float, span: timedelta) -> None:
    clock = VirtualClock()

    async def sleeps() -> None:
        asleep = asyncio.create_task(clock.sleep(seconds))
        await asyncio.sleep(0)
        assert clock.next_wake == START + span
        await clock.advance(span)
        await asleep

    asyncio.run(sleeps())


@pytest.mark.parametrize(
    ("wall", "went"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, -3598, -3597], [0, 1, 2, 3]),
        ([0, 1, 7202, 7203], [0, 1, 7202, 7203]),
        ([0, -1000, 2, 5000], [0, 1, 2, 5000]),
    ],
    ids=["as time passes", "put back an hour", "slept two hours", "put back, put right, put forward"],
)
def test_the_clock_never_goes_back_or_stands_still_and_follows_forward_jumps(wall: list[int], went: list[int]) -> None:
    seconds = iter(wall)
    ticks = iter(range(len(wall)))
    clock = SystemClock(wall=lambda: next(seconds) * 10**9, monotonic=lambda: next(ticks) * 10**9)
    assert [clock.now().timestamp() for _ in wall] == went


class ScriptedClock(VirtualClock):
    """A clock with a scripted wall time; each reading advances its monotonic clock by a second."""

    def __init__(self, wall: list[float]) -> None:
        super().__init__()
        self._wall = iter(enumerate(wall))
        self._looks = -1

    def now(self) -> datetime:
        self._looks, seconds = next(self._wall)
        return START + timedelta(seconds=seconds)

    def monotonic(self) -> float:
        return float(self._looks)


@pytest.mark.parametrize(
    ("wall", "went"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, -3598, -3597], [0, 1, 2, 3]),
        ([0, 1, 7202, 7203], [0, 1, 7202, 7203]),
        ([0, 3600, 2, 3, 3603], [0, 3600, 3601, 3602, 3603]),
        ([0, 1, 1.5, 2.5], [0, 1, 1.5, 2.5]),
        ([0, 1, 0.9, 2], [0, 1, 2, 2.0]),
        ([5, 5.5, 6.5], [5, 5.5, 6.5]),
    ],
)
def test_an_applications_own_clock_never_goes_back(wall: list[float], went: list[float]) -> None:
    clock = SteadyClock(ScriptedClock(wall))
    assert [(clock.now() - START).total_seconds() for _ in wall] == went


def at(seconds: float) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("looks", "wanted"),
    [
        # (local seconds, time of the other clock or None without a reading)
        ([(0, 0), (10, None)], [0, 10]),
        ([(0, 0), (10, 25), (20, None)], [0, 25, 35]),
        ([(0, 0), (10, 9.5), (10.25, None), (20, None)], [0, 10, 10, 19.5]),
        ([(0, 0), (10, -3600), (20, None)], [0, 10, 20]),
    ],
    ids=["by the monotonic clock", "forward at once", "stands still for a little", "goes on where it was put back"],
)
def test_a_clock_that_follows_another_never_goes_back(
    looks: list[tuple[float, float | None]], wanted: list[float]
) -> None:
    here = 0.0
    clock, seen = HostClock(lambda: int(here * 1e9)), list[datetime]()
    for went, said in looks:
        here = went
        if seen:
            clock.now()
        if said is not None:
            clock.keep_to(at(said))
        seen.append(clock.now())
    assert seen == [at(seconds) for seconds in wanted]
