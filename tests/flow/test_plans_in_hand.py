"""A plan goes on from its rows, unchanged by an author's copies of it and by deliveries in line behind a result."""

import asyncio
from typing import Any

import pytest
from fanin import PART, reply_to
from kit import PATIENCE, order, planner, stock, until
from test_runs import begin_plan, wait_for_requests

from soorma_ai import GoalContext, PlanFailed, Planner, Platform, PlatformContext, TransitionContext
from soorma_ai.kernel.domain.decisions import PlannerDecision, PublishAction
from soorma_ai.testing.scripted import complete


async def test_a_client_changes_its_own_copy_of_a_result(platform: Platform) -> None:
    plan = await order(platform, planner([complete({"ids": [1]})]), stock())
    first = await plan.result(timeout=5)
    first["ids"].append("changed")
    assert await plan.result(timeout=5) == {"ids": [1]}


async def test_a_goal_changed_later_by_its_author_is_unchanged_in_the_plan(platform: Platform) -> None:
    seen, kept = list[Any](), list[Any]()
    minds = planner([], goals=[])

    @minds.on_goal("order.received")
    async def handle_goal(goal: GoalContext, context: PlatformContext) -> None:
        await goal.dispatch(PART, {"n": 1})

    @minds.on_transition()
    async def go_on(transition: TransitionContext, context: PlatformContext) -> None:
        seen.append(dict(transition.plan.goal_data))
        kept.append(transition.plan.goal_data)
        if len(seen) > 1:
            await transition.plan.finalize({})
        else:
            await ask_again(transition, context)

    async def ask_again(transition: TransitionContext, context: PlatformContext) -> None:
        decision = PlannerDecision(next_action=PublishAction(event_type=PART, data={"n": 2}))
        await minds.execute_decision(decision, context, plan=transition.plan)

    plan, (first,) = await begin_plan(platform, minds, 1)
    await platform.services.store.queue.arrive([reply_to(first)], platform.services.clock.now())
    requests = await wait_for_requests(platform, PART, 2)
    kept[0]["changed"] = True
    second = next(one for one in requests if one.data["n"] == 2)
    await platform.services.store.queue.arrive([reply_to(second)], platform.services.clock.now())
    await plan.result(timeout=5)
    assert seen == [{}, {}]


async def test_the_last_result_of_a_run_ends_a_plan_with_nothing_to_come(platform: Platform) -> None:
    """Each result closes its expectation, also one that came while another was handled."""
    in_line = asyncio.Event()
    minds = Planner("orders")

    @minds.on_goal("order.received")
    async def handle_goal(goal: GoalContext, context: PlatformContext) -> None:
        for number in range(3):
            await goal.dispatch(PART, {"n": number})

    @minds.on_transition()
    async def keep(transition: TransitionContext, context: PlatformContext) -> None:
        await in_line.wait()

    plan, requests = await begin_plan(platform, minds, 3)
    queue, now = platform.services.store.queue, platform.services.clock.now()
    await queue.arrive([reply_to(requests[0])], now)
    for _ in range(20):
        await asyncio.sleep(0)
    await queue.arrive([reply_to(one) for one in requests[1:]], now)

    async def are_in_line() -> bool:
        return await queue.count_pending("orders", plan.plan_id) == 3

    await until(platform, are_in_line)
    in_line.set()
    with pytest.raises(PlanFailed, match="nothing to wait for"):
        await plan.result(timeout=PATIENCE)
