"""All of a long plan is read in pages, and the loop serves others between them."""

import asyncio

import pytest
from kit import PATIENCE, order, planner, stock

from soorma_ai import Platform
from soorma_ai.kernel.runtime.views import plans
from soorma_ai.testing.scripted import complete, publish

SCRIPT = [*(publish("inventory.reserve.requested", order_id=name) for name in "ABCDEF"), complete({})]


@pytest.mark.parametrize("call", ["plan", "trace"])
async def test_others_are_served_while_a_long_plan_is_read(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    plan = await order(platform, planner(SCRIPT), stock())
    await plan.result(timeout=PATIENCE)
    at_once = await getattr(platform, call)(plan.plan_id)
    monkeypatch.setattr(plans, "PAGE", 3)
    turns, reading = 0, asyncio.ensure_future(getattr(platform, call)(plan.plan_id))
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
    assert await reading == at_once
    assert len(at_once.steps) >= 12
    assert turns >= len(at_once.steps) // 3
