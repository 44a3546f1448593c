"""Decision and tool call, one after the other: plans of `steps` requests, one plan at a time. A unit is one of both."""

from pathlib import Path

from bench.measure import Figures, Lap, main
from bench.rows.agents import count, count_to, counting, desk, store_url
from soorma_ai import Platform


async def measure(folder: Path, *, kept: str, plans: int, steps: int) -> Figures:
    """`kept` is "file" or "memory"."""
    async with Platform(store_url(folder, kept)) as platform:
        await platform.start(desk(), counting(count_to(steps)))
        await count(platform, "warm")
        with Lap() as lap:
            for number in range(plans):
                await count(platform, number)
    return lap.per(plans * steps)


if __name__ == "__main__":
    main(measure)
