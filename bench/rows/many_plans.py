"""Many short plans, a number of them at once. A unit is a plan."""

import asyncio
from pathlib import Path

from bench.measure import Figures, Lap, main
from bench.rows.agents import count, count_to, counting, desk, store_url
from soorma_ai import Platform


async def measure(folder: Path, *, plans: int, steps: int, in_flight: int) -> Figures:
    numbers = iter(range(plans))
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), counting(count_to(steps)))
        await count(platform, "warm")

        async def keep_on() -> None:
            for number in numbers:
                await count(platform, number)

        with Lap() as lap:
            await asyncio.gather(*(keep_on() for _ in range(in_flight)))
    return {"total_s": lap.wall, **lap.per(plans)}


if __name__ == "__main__":
    main(measure)
