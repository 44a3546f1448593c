"""Concurrent events, and events in an unexpected order."""

import asyncio
from collections.abc import Sequence
from typing import Any

from kit import is_idle, order, payments, planner, stock, until

from soorma_ai import GoalContext, Platform, PlatformContext, TransitionContext
from soorma_ai.kernel.domain.decisions import CompleteAction, PlannerDecision, PublishAction
from soorma_ai.testing.scripted import complete, publish


async def test_a_plan_with_a_reply_in_line_has_a_next_step(platform: Platform) -> None:
    minds = planner([], goals=[])
    replies: list[str] = []

    @minds.on_goal("order.received")
    async def both(goal: GoalContext, context: PlatformContext) -> None:
        for action in (
            PublishAction(event_type="inventory.reserve.requested", data={"order_id": "A"}),
            PublishAction(event_type="payment.charge.requested", data={"amount": 1}),
        ):
            await minds.execute_decision(PlannerDecision(next_action=action), context)

    @minds.on_transition()
    async def join(transition: TransitionContext, context: PlatformContext) -> None:
        replies.append(transition.what_happened)
        if len(set(replies)) == 2:
            done = PlannerDecision(next_action=CompleteAction(result={"both": True}))
            await minds.execute_decision(done, context)

    await platform.start(minds, stock(), payments())
    for number in range(5):
        replies.clear()
        plan = await platform.submit("order.received", {"n": number})
        assert await plan.result(timeout=5) == {"both": True}


async def test_a_plan_with_a_slow_model_holds_up_no_other(platform: Platform) -> None:
    thinking, answer = asyncio.Event(), asyncio.Event()

    async def decide(question: Any) -> Any:
        if '{"slow":true}' in question.messages[1].content:
            thinking.set()
            await answer.wait()
        return complete({"ok": True})

    slow = await order(platform, planner(decide), stock(), slow=True)
    await thinking.wait()
    others = [await platform.submit("order.received", {"n": n}) for n in range(20)]
    assert await asyncio.gather(*(plan.result(timeout=5) for plan in others)) == [{"ok": True}] * 20
    assert (await platform.plan(slow.plan_id)).status == "pending"
    answer.set()
    assert await slow.result(timeout=5) == {"ok": True}


async def test_results_of_100_plans_at_once_are_each_their_own(platform: Platform) -> None:
    def decide(question: Any) -> Any:
        told = question.messages[-1].content
        number = told.partition('{"order_id":"')[2].partition('"')[0]
        if "was answered" in told:
            return complete({"order": number})
        return publish("inventory.reserve.requested", order_id=number)

    await platform.start(planner(decide), stock())
    plans = [await platform.submit("order.received", {"order_id": str(n)}) for n in range(100)]
    results: Sequence[Any] = await asyncio.gather(*(plan.result(timeout=30) for plan in plans))
    assert [result["order"] for result in results] == [str(n) for n in range(100)]
    await until(platform, lambda: is_idle(platform))
