import asyncio
from datetime import timedelta

import pytest

from soorma_ai.testing.clock import START, VirtualClock


@pytest.mark.parametrize("seconds", [1e-06, 9.99e-07, 300.000001 - 300])
def test_whoever_sleeps_for_a_microsecond_wakes_one_later_whatever_a_float_makes_of_it(seconds: float) -> None:
    clock = VirtualClock()

    async def sleeps() -> None:
        asleep = asyncio.create_task(clock.sleep(seconds))
        await asyncio.sleep(0)
        assert clock.next_wake == START + timedelta(microseconds=1)
        await clock.advance(timedelta(microseconds=1))
        await asleep

    asyncio.run(sleeps())


def test_a_sleeper_wakes_at_its_moment_however_the_float_is_rounded() -> None:
    clock = VirtualClock()

    async def sleeps() -> None:
        asleep = asyncio.create_task(clock.sleep(0.1 + 0.2))
        await asyncio.sleep(0)
        await clock.advance(0.3)
        await asleep

    asyncio.run(sleeps())
