"""The output of `soorma` for a plan of a state machine, and for the model's planning of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Shop

from soorma_ai import GoalContext, InvocationContext, Planner, Platform, PlatformContext, Tool
from soorma_ai.errors import NotFound
from soorma_ai.testing.scripted import ScriptedReasoner, draw

MACHINE: dict[str, Any] = {
    "start": {"action": {"event_type": "stock.count", "data": {}}, "default_next": "done"},
    "done": {"is_terminal": True, "result": "{results.start.count}"},
}


async def run_counting_plan(store: Path) -> str:
    astray = MACHINE | {"start": {"action": {"event_type": "stock.cuont", "data": {}}, "default_next": "done"}}
    planner, stock = Planner("counter", reasoner=ScriptedReasoner([draw(astray), draw(MACHINE)])), Tool("stock")

    @planner.on_goal("stock.known")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await planner.create_plan(goal, None, context)

    @stock.on_invoke("stock.count")
    async def count(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"count": 3}

    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(planner, stock)
        plan = await platform.submit("stock.known", {})
        assert await plan.result(timeout=10) == 3
        assert (await platform.trace(plan.plan_id)).results == {"start": {"count": 3}}
        with pytest.raises(NotFound, match="in tenant 'acme'"):
            await platform.as_user(tenant_id="acme", user_id="ann").trace(plan.plan_id)
        return plan.plan_id


def test_a_state_machine_plan_is_shown_with_its_states_its_position_and_its_results(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    plan_id = asyncio.run(run_counting_plan(shop.store))
    shown = shop("plans", "show", plan_id).stdout
    assert 'state done, results {"start": {"count": 3}}\n' in shown
    assert "  refused a plan of 2 states: start, done" in shown
    assert "did you mean 'stock.count'" in shown
    assert "  decided a plan of 2 states: start, done" in shown
    told = shop.json("plans", "show", plan_id)
    assert (told["current_state"], told["results"]) == ("done", {"start": {"count": 3}})
    why = shop("why", plan_id).stdout
    assert "1. refused a plan of 2 states: start, done" in why
    assert "prompt    planner/plan version 6" in why
    assert [entry["prompt_id"] for entry in shop.json("why", plan_id)] == ["planner/plan"] * 2
