"""Decision and tool call, one after the other, with decisions of a model on loopback. A unit is one of both."""

from pathlib import Path

from bench.measure import Figures, Lap, main
from bench.rows.agents import GOAL, HIGH, INSTRUCTIONS, count, desk, store_url
from bench.rows.model import MODEL, PRICE, running
from soorma_ai import ChoreographyPlanner, Platform


async def measure(folder: Path, *, plans: int, steps: int) -> Figures:
    with running(steps) as url:
        planner = ChoreographyPlanner(
            "counter",
            goals=[GOAL],
            reasoning_model=MODEL,
            api_base=url,
            api_key="none",
            price=PRICE,
            limits=HIGH,
            system_instructions=INSTRUCTIONS,
        )
        async with Platform(store_url(folder)) as platform:
            await platform.start(desk(), planner)
            await count(platform, "warm")
            with Lap() as lap:
                for number in range(plans):
                    await count(platform, number)
    return lap.per(plans * steps)


if __name__ == "__main__":
    main(measure)
