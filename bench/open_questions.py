"""What a request costs beside many plans that wait for a person, without and with somebody who waits for the next
question of a plan that asks nothing. Both are to be what they are beside few. Prints one JSON line.

    python bench/open_questions.py [PLANS]
"""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.testing.scripted import ScriptedReasoner, publish

AT_ONCE = 500
REQUESTS = 50


def agents(let_go: asyncio.Event) -> tuple[ChoreographyPlanner, ChoreographyPlanner, Tool]:
    desk = Tool("desk")

    @desk.on_invoke("pay.requested", approval="always")
    @desk.on_invoke("echo.requested")
    async def echo(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        return {}

    @desk.on_invoke("sit.requested")
    async def sit(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        await let_go.wait()
        return {}

    asking = ChoreographyPlanner(
        "asking", goals=["asking"], reasoner=ScriptedReasoner(lambda _: publish("pay.requested"))
    )
    sitting = ChoreographyPlanner("sitting", goals=["sitting"], reasoner=ScriptedReasoner([publish("sit.requested")]))
    return asking, sitting, desk


async def milliseconds(platform: Platform) -> float:
    begin = time.perf_counter()
    for _ in range(REQUESTS):
        await platform.request("echo.requested", {})
    return round((time.perf_counter() - begin) * 1000 / REQUESTS, 2)


async def measure(path: Path, plans: int) -> dict[str, object]:
    let_go = asyncio.Event()
    async with Platform(f"sqlite:///{path}") as platform:
        await platform.start(*agents(let_go))
        few = await milliseconds(platform)
        for begin in range(0, plans, AT_ONCE):
            goals = [platform.submit("asking", {}) for _ in range(min(AT_ONCE, plans - begin))]
            await asyncio.gather(*(handle.next_wait() for handle in await asyncio.gather(*goals)))
        many = await milliseconds(platform)
        following = asyncio.create_task((await platform.submit("sitting", {})).next_wait())
        await asyncio.sleep(0.5)
        followed = await milliseconds(platform)
        following.cancel()
        let_go.set()
    return {"open_questions": plans, "ms_without": few, "ms_beside_them": many, "ms_with_next_wait": followed}


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(Path(folder) / "bench.db", number))))
