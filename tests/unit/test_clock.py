import asyncio
from datetime import timedelta

import pytest

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
def test_a_sleeper_wakes_at_its_moment_however_the_float_is_rounded(seconds: float, span: timedelta) -> None:
    clock = VirtualClock()

    async def sleeps() -> None:
        asleep = asyncio.create_task(clock.sleep(seconds))
        await asyncio.sleep(0)
        assert clock.next_wake == START + span
        await clock.advance(span)
        await asleep

    asyncio.run(sleeps())
