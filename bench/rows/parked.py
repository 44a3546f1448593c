"""Plans waiting for an approval: the disk and memory of each, and the cost to continue them.

They are parked in one process, and continue in another one started among them. A unit is a continued plan: from the
answer to the plan's result.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from bench.measure import Figures, Lap, anonymous_kb, disk_kb, main
from bench.rows.agents import ECHO, desk, store_url
from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, publish

GOAL, PAY = "bill.received", "pay.requested"
REQUESTS = 50
# After this share of parked plans the caches of the database are full: later growth of memory is the plans'.
HALF_WAY = 0.6
IDLE_SECONDS = 3.0


def paying() -> tuple[ChoreographyPlanner, Tool]:
    """Return a planner with one payment, and its tool with a person's approval."""

    def decide(question: ModelQuestion) -> Item:
        model.questions.clear()
        is_paid = "paid_by" in question.messages[-1].content
        return complete({"paid": True}) if is_paid else publish(PAY, amount=7)

    till = Tool("till")

    @till.on_invoke(PAY, description="Pay a bill.", approval="always")
    async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        return {"paid_by": "transfer"}

    model = ScriptedReasoner(decide)
    return ChoreographyPlanner("payer", goals=[GOAL], reasoner=model), till


async def measure(folder: Path, *, plans: int, resumed: int, in_flight: int) -> Figures:
    """With `plans` 0 they exist already, and continue."""
    if plans == 0:
        return await resume(folder, resumed)
    found = await park(folder, plans, in_flight)
    again = json.dumps({"plans": 0, "resumed": resumed, "in_flight": in_flight})
    command = [sys.executable, "-m", "bench.rows.parked", str(folder), again]
    resuming = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    told, _ = await resuming.communicate()
    if resuming.returncode:
        raise RuntimeError(f"letting plans go on ended with {resuming.returncode}; see above")
    return {**found, **json.loads(told)}


async def park(folder: Path, plans: int, in_flight: int) -> Figures:
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), *paying())
        before = await request_ms(platform)
        part = int(plans * HALF_WAY)
        with Lap() as lap:
            await park_some(platform, range(part), in_flight)
            half_way = anonymous_kb()
            await park_some(platform, range(part, plans), in_flight)
        whole = anonymous_kb()
        beside = await request_ms(platform)
    grown = {} if half_way is None or whole is None else {"memory_kb": (whole - half_way) / (plans - part)}
    return {
        "disk_kb": disk_kb(folder) / plans,
        **grown,
        "park_ms": lap.wall * 1000 / plans,
        "request_ms_before": before,
        "request_ms_beside": beside,
    }


async def park_some(platform: Platform, numbers: Iterable[int], in_flight: int) -> None:
    left = iter(numbers)

    async def keep_parking() -> None:
        for number in left:
            plan = await platform.submit(GOAL, {"bill": number})
            assert await plan.next_wait() is not None

    await asyncio.gather(*(keep_parking() for _ in range(in_flight)))


async def request_ms(platform: Platform) -> float:
    """Return the milliseconds of an independent request."""
    with Lap() as lap:
        for _ in range(REQUESTS):
            await platform.request(ECHO, {"say": "hello"})
    return lap.wall * 1000 / REQUESTS


async def resume(folder: Path, resumed: int) -> Figures:
    took: list[float] = []
    opening = time.perf_counter()
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), *paying())
        start = time.perf_counter() - opening
        await asyncio.sleep(1)
        with Lap() as idle:
            await asyncio.sleep(IDLE_SECONDS)
        waits = await platform.waits(limit=resumed)
        with Lap() as lap:
            for wait in waits:
                begin = time.perf_counter()
                await platform.answer(wait.wait_id, {"approved": True})
                await (await platform.follow(str(wait.plan_id))).result(timeout=60)
                took.append((time.perf_counter() - begin) * 1000)
    found = {"start_s": start, "idle_percent": 100 * idle.cpu / idle.wall, "resume_ms": median(took)}
    return {**lap.per(len(waits)), **found}


if __name__ == "__main__":
    main(measure)
