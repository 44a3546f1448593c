"""Growth of the CPU of a step with the number of steps in its plan, events in the log, or events with takers.

`near_cpu_ms` and `far_cpu_ms` are medians of the same minutes, taken in turns; `growth` is their ratio. A unit is a
step.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.measure import Figures, Lap, main
from bench.rows.agents import count, count_to, counting, desk, fields, store_url
from soorma_ai import EventTopic, InvocationContext, Platform, PlatformContext, Tool

STEPS = 20
FILL = "fill.wanted"
AT_ONCE = 500
NEAR_AND_FAR = 20


async def measure(folder: Path, *, of: str, near: int, far: int, plans: int) -> Figures:
    """`of` is "steps", "log" or "registry"; `near` and `far` are their numbers."""
    if of == "steps":
        return await along_plans(folder, near, far, plans)
    return await among(folder, of, (near, far), plans)


async def along_plans(folder: Path, near: int, far: int, plans: int) -> Figures:
    moments: list[float] = []
    reasoner = count_to(far, lambda number, question: moments.append(time.process_time()))
    first: list[float] = []
    last: list[float] = []
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), counting(reasoner))
        await count(platform, "warm")
        with Lap() as lap:
            for number in range(plans):
                moments.clear()
                await count(platform, number)
                spent = [after - before for before, after in pairwise(moments)]
                first += spent[max(0, near - NEAR_AND_FAR // 2) : near + NEAR_AND_FAR // 2]
                last += spent[-NEAR_AND_FAR:]
    return {**growth_figures(first, last), **lap.per(plans * far)}


async def among(folder: Path, of: str, sizes: Sequence[int], plans: int) -> Figures:
    """Measure two platforms in turns: one with few, one with many."""
    spent: tuple[list[float], list[float]] = ([], [])
    async with open_platform(folder / "few", of, sizes[0]) as few, open_platform(folder / "many", of, sizes[1]) as many:
        with Lap() as lap:
            for number in range(plans):
                for platform, times in zip((few, many), spent, strict=True):
                    with Lap() as one:
                        await count(platform, number)
                    times.append(one.cpu / STEPS)
    return {**growth_figures(*spent), **lap.per(plans * STEPS * 2)}


def growth_figures(near: Sequence[float], far: Sequence[float]) -> Figures:
    before, after = 1000 * median(near), 1000 * median(far)
    return {"near_cpu_ms": before, "far_cpu_ms": after, "growth": after / before}


@asynccontextmanager
async def open_platform(folder: Path, of: str, size: int) -> AsyncGenerator[Platform]:
    """Yield a platform with this number of events in its log, or with takers."""
    strangers = others(size) if of == "registry" else []
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), counting(count_to(STEPS)), scribe(), *strangers)
        if of == "log":
            for begin in range(0, size, AT_ONCE):
                await platform.request(FILL, {"n": min(AT_ONCE, size - begin)}, timeout=60)
        for number in range(3):
            await count(platform, f"warm {number}")
        yield platform


def scribe() -> Tool:
    """Return a tool to publish a requested number of facts."""
    tool = Tool("scribe")

    @tool.on_invoke(FILL, payload_schema=fields(n="integer"))
    async def fill(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        for number in range(request.data["n"]):
            data = {"number": number, "text": "so much is told of it " * 10}
            await context.bus.publish(EventTopic.BUSINESS_FACTS, "thing.happened", data)
        return {}

    return tool


def others(events: int) -> list[Tool]:
    """Return agents for this number of further events."""

    async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        return {}

    tools = [Tool(f"other-{number}") for number in range(min(events, 10))]
    for number in range(events):
        schema = fields(**{f"field_{n}": "string" for n in range(8)})
        words = f"Take parcel {number} to street {number % 97}, and say when it was there."
        tools[number % len(tools)].on_invoke(f"parcel{number}.requested", description=words, payload_schema=schema)(
            answer
        )
    return tools


if __name__ == "__main__":
    main(measure)
