"""A plan of 200 equal parts: some are done, some run and one has failed."""

import asyncio
from typing import Any

from kit import planner, until

from soorma_ai import InvocationContext, Limits, Platform, PlatformContext, Reject, Tool
from soorma_ai.testing.scripted import complete, publish, publish_all

PARTS, DONE, FAILED = 200, 30, 1


async def plan_of_parts(platform: Platform, *, ends: bool = False) -> str:
    """Return the id of the plan after the end of the first parts; the others last for ever, or end too."""
    tool, still = Tool("loader", max_in_flight=8), asyncio.Event()
    if ends:
        still.set()

    @tool.on_invoke("item.load.requested")
    async def load(request: InvocationContext[Any], context: PlatformContext) -> dict[str, Any]:
        number = request.data["item"]
        if number == DONE:
            raise Reject("no such item", code="unknown")
        if number > DONE:
            await still.wait()
        return {"loaded": number}

    asking = publish_all(*(publish("item.load.requested", item=number) for number in range(PARTS)))
    script = [asking, complete({"loaded": PARTS - FAILED, "table": "sales"})]
    limits = Limits(max_actions=PARTS + 1, max_parallel=PARTS)
    loading = planner(script, name="etl", goals=["table.wanted"], title="Load {table}", limits=limits)
    await platform.start(loading, tool)
    plan = await platform.submit("table.wanted", {"table": "sales", "day": "2026-03-01"})
    if ends:
        await plan.result(timeout=60)
        return plan.plan_id

    async def has_come() -> bool:
        actions = await platform.tracker.actions(plan.plan_id)
        return sum(one.status.is_final for one in actions) >= DONE + FAILED

    await until(platform, has_come)
    return plan.plan_id
