"""The disk of a long plan, with `step_bytes` of text in every answer of its tool. A unit is a step."""

from pathlib import Path

from bench.measure import Figures, Lap, disk_kb, main
from bench.rows.agents import count, count_to, counting, desk, store_url
from soorma_ai import Platform


async def measure(folder: Path, *, steps: int, step_bytes: int) -> Figures:
    """`disk_kb` is the growth of a store with only the plan's agents in it."""
    agents = desk(step_bytes), counting(count_to(steps))
    async with Platform(store_url(folder)) as platform:
        await platform.start(*agents)
    empty = disk_kb(folder)
    async with Platform(store_url(folder)) as platform:
        await platform.start(*agents)
        with Lap() as lap:
            await count(platform, "long")
    kept = disk_kb(folder) - empty
    return {"disk_kb": kept, "times_payload": kept * 1024 / (steps * step_bytes), **lap.per(steps)}


if __name__ == "__main__":
    main(measure)
