"""A till out of paper unless the file `paper` lies beside the store, books without a close, and a planner with a way
around a missing receipt. `seed` leaves their dead letters in the store of the environment.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from soorma_ai import (
    Agent,
    ChoreographyPlanner,
    EventEnvelope,
    InvocationContext,
    PlanFailed,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.settings import read_settings, sqlite_path
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

till = Tool("till")
alarm = Agent("alarm")
sales = ChoreographyPlanner(
    "sales",
    goals=["sale.made"],
    reasoner=ScriptedReasoner([publish("receipt.print", order="o-1"), complete({"sold": True})]),
)
books = ChoreographyPlanner("books", goals=["day.closed"], reasoner=ScriptedReasoner([]))


@till.on_invoke("receipt.print")
async def print_receipt(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    if not _paper().exists():
        raise RuntimeError(f"no paper for {request.data['order']}")
    await context.bus.announce("receipt.printed", {"order": request.data["order"]})
    return {"printed": True}


@till.on_event("drawer.opened", topic="business-facts")
async def count_money(event: EventEnvelope, context: PlatformContext) -> None:
    raise RuntimeError("the drawer is stuck")


@alarm.on_event("drawer.opened", topic="business-facts")
async def ring(event: EventEnvelope, context: PlatformContext) -> None:
    raise RuntimeError("no bell")


@books.on_goal("day.closed")
async def close(goal: Any, context: PlatformContext) -> None:
    raise KeyError("balance")


def _paper() -> Path:
    store = sqlite_path(read_settings(None, None).store_url)
    assert store is not None
    return store.with_name("paper")


agents = [till, alarm, sales, books]


async def seed(order: str) -> None:
    async with Platform() as platform:
        await platform.start(*agents)
        await platform.request("receipt.print", {"order": order}, timeout=30)
        await (await platform.submit("sale.made", {})).result(timeout=30)
        with suppress(PlanFailed):
            await (await platform.submit("day.closed", {})).result(timeout=30)
        changed = platform.services.signals.watch()
        await platform.publish("business-facts", "drawer.opened", {})
        while len(await platform.dead_letters()) < 5:
            await changed.wait()
            changed.clear()
