"""The explicit form of the seeds: a handler owns the first step, or all of them."""

from typing import Any

import pytest
from kit import PATIENCE, order, planner, stock, until

from soorma_ai import (
    EventContext,
    GoalContext,
    PlanContext,
    PlanFailed,
    Platform,
    PlatformContext,
    TransitionContext,
    WaitAction,
    Worker,
)
from soorma_ai.kernel.domain.decisions import PlannerDecision, PublishAction
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")


async def test_a_goal_handler_makes_the_first_step_and_the_planner_goes_on_by_itself(platform: Platform) -> None:
    minds = planner([RESERVE, complete({"ok": True})], goals=[])

    @minds.on_goal("order.received")
    async def handle_goal(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(
            goal=goal, context=context, state_machine={}, current_state="reasoning", status="running"
        )
        decision = await minds.reason_next_action(
            trigger=f"Order: ${goal.data['amount']}",
            context=context,
            custom_context={"policy": "Orders >$5k need approval"},
        )
        await minds.execute_decision(decision, context, goal_event=goal, plan=plan)

    plan = await order(platform, minds, stock(), amount=7)
    assert await plan.result(timeout=5) == {"ok": True}
    first = minds.reasoner.questions[0].messages[1].content  # type: ignore[union-attr]
    assert "Order: $7" in first
    assert "Orders >$5k need approval" in first


async def test_with_on_transition_the_handler_owns_every_step(platform: Platform) -> None:
    seen: list[str] = []
    minds = planner([RESERVE, complete({"ok": True})])

    @minds.on_transition()
    async def handle(transition: TransitionContext, context: PlatformContext) -> None:
        seen.append(transition.what_happened)
        decision = await minds.reason_next_action(trigger=transition.what_happened, context=context)
        await minds.execute_decision(decision, context, plan=transition.plan)

    plan = await order(platform, minds, stock())
    assert await plan.result(timeout=5) == {"ok": True}
    assert seen == ["inventory.reserve.requested was answered."]


async def test_a_handler_without_a_next_step_fails_its_plan(platform: Platform) -> None:
    minds = planner([], goals=[])

    @minds.on_goal("order.received")
    async def forgetful(goal: GoalContext, context: PlatformContext) -> None:
        return

    await platform.start(minds, stock())
    with pytest.raises(PlanFailed, match="no_next_step"):
        await (await platform.submit("order.received", {})).result(timeout=5)


@pytest.mark.parametrize(
    "action", [PublishAction(event_type="nope"), PublishAction(event_type="inventory.reserve.requested")]
)
async def test_a_decision_of_the_handlers_own_is_checked_like_a_models(platform: Platform, action: Any) -> None:
    minds = planner([], goals=[])

    @minds.on_goal("order.received")
    async def reckless(goal: GoalContext, context: PlatformContext) -> None:
        await minds.execute_decision(PlannerDecision(next_action=action), context)

    await platform.start(minds, stock())
    with pytest.raises(PlanFailed):
        await (await platform.submit("order.received", {})).result(timeout=5)
    rows = await platform.services.store.events.events(limit=50)
    assert [row.event.type for row in rows] == ["order.received", "order.received.completed"]


@pytest.mark.parametrize("how", ["answered", "expired"])
async def test_a_woken_handler_has_the_tenant_user_and_session_of_its_plan(
    platform: Platform, clock: VirtualClock, how: str
) -> None:
    minds = planner([], external_events=["user.replied"])
    seen: list[Any] = []

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        action = WaitAction(expected_event="user.replied", message="?", timeout_seconds=60)
        await minds.execute_decision(PlannerDecision(next_action=action), context)

    @minds.on_transition()
    async def go_on(transition: TransitionContext, context: PlatformContext) -> None:
        seen.append((context.tenant_id, context.user_id, context.session_id, context.lineage.plan_id))
        await transition.plan.finalize()

    await platform.start(minds, stock())
    maria = platform.as_user(tenant_id="acme", user_id="maria")
    plan = await maria.submit("order.received", {}, session_id="s-1")
    (question,) = await until(platform, maria.waits)
    if how == "answered":
        bert = platform.as_user(tenant_id="acme", user_id="bert")
        assert await bert.answer(question.wait_id, {}) == "accepted"
    else:
        await clock.advance(60)
    await plan.result(timeout=5)
    assert seen == [("acme", "maria", "s-1", plan.plan_id)]


async def test_a_custom_context_outside_json_fails_the_plan(platform: Platform) -> None:
    minds = planner([complete({})])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await minds.reason_next_action("a goal came", context, {"orders": {1, 2}})

    plan = await order(platform, minds, stock())
    with pytest.raises(PlanFailed, match=r"the custom context.* must be JSON"):
        await plan.result(timeout=5)


def hearing_planner(*script: Any, **options: Any) -> Any:
    """A planner: decides about its plan at a cut of the budget, too."""
    minds = planner(script, **options)

    @minds.on_event("budget.cut", topic="business-facts")
    async def cut(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(str(event.data["order"]), context)
        decision = await minds.reason_next_action("The budget was cut.", context)
        await minds.execute_decision(decision, context, plan=plan)

    return minds


async def test_a_plan_sleeps_when_its_decision_on_a_fact_has_no_taker(platform: Platform, clock: VirtualClock) -> None:
    gone = publish("carry.requested")
    carrier = Worker("carrier")
    carrier.on_task("carry.requested")(lambda task, context: None)
    await platform.services.store.registry.register([carrier.registration()], clock.now())
    plan = await order(platform, hearing_planner(gone, complete({"ok": True})))

    async def status(wanted: str, steps: int) -> bool:
        stored = await platform.services.store.plans.plan(plan.plan_id)
        return stored is not None and (stored.status, stored.steps) == (wanted, steps)

    await until(platform, lambda: status("running", 2))
    await platform.services.store.registry.leave(["carrier"])
    await platform.publish("business-facts", "budget.cut", {"order": plan.plan_id})
    await until(platform, lambda: status("paused", 3))
    await platform.start(stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
