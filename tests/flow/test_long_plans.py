"""All of a long plan is read in pages, and the loop serves others between them."""

import asyncio

import pytest
from kit import PATIENCE, order, payments, planner, stock, the_wait

from soorma_ai import Platform
from soorma_ai.features.human_tasks import question
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.runtime.views import plans
from soorma_ai.kernel.sql.plans import SqlPlans
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


async def test_the_reasoning_about_a_question_is_found_from_the_end_of_the_plan(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [*SCRIPT[:-1], {**publish("payment.charge.requested", amount=5), "reasoning": "It is due."}]
    await order(platform, planner(script), stock(), payments("always"))
    wait = await the_wait(platform)
    sizes = list[int]()

    class Counting(SqlPlans):
        async def decisions(self, plan_id: str, first: int = 0, limit: int = 10**6) -> list[JournalEntry]:
            found = await super().decisions(plan_id, first, limit)
            sizes.append(len(found))
            return found

    platform.services.store.plans = Counting(platform.services.store.database)  # type: ignore[attr-defined]
    monkeypatch.setattr(question, "DECISIONS", 2)
    details = await question.question_details(platform.services, Person("default"), wait.wait_id)
    assert details.reasoning is not None and details.reasoning.words == "It is due."
    assert sizes == [2]
