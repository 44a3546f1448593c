"""A plan is paused by its planner, and resumed by the first of two: an answer, or an event of the planner."""

import asyncio
from typing import Any

import pytest
from fanin import arrive, reply_to
from kit import (
    PATIENCE,
    order,
    payments,
    planner,
    published_events,
    pursue,
    stock,
    the_wait,
    types,
    until,
    wait_for_requests,
    wait_for_step,
)
from machines import GOAL, Web, analyst, requests_for, research, researcher

from soorma_ai import (
    EventContext,
    EventDefinition,
    GoalContext,
    PlanCancelled,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    TransitionContext,
)
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.registry import AgentKind, EventRole, Registration
from soorma_ai.testing.scripted import complete

CHARGE = "payment.charge.requested"

BUYING = {
    "start": {"default_next": "awaiting_budget_approval"},
    "awaiting_budget_approval": {
        "transitions": [
            {"on_event": "budget.refused", "to_state": "done"},
            {"on_event": "budget.approved", "to_state": "buying"},
            {"on_event": "plan.resumed", "to_state": "buying"},
        ]
    },
    "buying": {
        "action": {"event_type": CHARGE, "data": {"amount": "{results.user_input.approved_amount}"}},
        "default_next": "done",
    },
    "done": {"is_terminal": True, "result": "{results.user_input.approved_amount}"},
}


def buyer(resumed: list[Any] | None = None) -> Planner:
    """As the seeds write it: the plan pauses, and an event of the business resumes it."""
    planner = Planner("buyer")

    @planner.on_goal("buy.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=BUYING)
        await plan.execute_next()
        if plan.current_state == "awaiting_budget_approval":
            await plan.pause(reason="budget_approval_required")

    @planner.on_event("budget.approved", topic="business-facts")
    async def handle_approval(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        if resumed is not None:
            resumed.append(plan.status if plan else None)
        if plan and plan.status == "paused":
            await plan.resume({"approved_amount": event.data["amount"]})

    return planner


async def test_an_event_of_the_planner_resumes_the_plan(platform: Platform) -> None:
    plan = await pursue(platform, "buy.wanted", {}, buyer(), payments())
    question = await the_wait(platform)
    assert (question.message, (await platform.plan(plan.plan_id)).status) == ("budget_approval_required", "paused")
    (goal,) = [event for event in await published_events(platform) if event.type == "buy.wanted"]
    key = goal.correlation_id or goal.id
    await platform.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id=key)
    assert await plan.result(timeout=PATIENCE) == 7
    assert await platform.answer(question.wait_id, {"approved_amount": 8}) == "superseded"


async def test_an_answer_resumes_the_plan(platform: Platform) -> None:
    plan = await pursue(platform, "buy.wanted", {}, buyer(), payments())
    question = await the_wait(platform)
    assert await platform.answer(question.wait_id, {"approved_amount": 8}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == 8
    await platform.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id=plan.plan_id)
    assert requests_for(await published_events(platform), CHARGE) == [{"amount": 8}]


async def test_of_answers_and_events_at_the_same_moment_one_resumes_the_plan(platform: Platform) -> None:
    await platform.start(buyer(), payments())
    for _ in range(3):
        plan = await platform.submit("buy.wanted", {})
        question = await the_wait(platform)
        outcome, *_ = await asyncio.gather(
            platform.answer(question.wait_id, {"approved_amount": 8}),
            platform.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id=plan.plan_id),
            platform.publish("business-facts", "budget.approved", {"amount": 6}, correlation_id=question.wait_id),
        )
        result = await plan.result(timeout=PATIENCE)
        assert (result == 8) is (outcome == "accepted")
        charged = [e for e in await published_events(platform) if e.type == CHARGE and e.plan_id == plan.plan_id]
        assert [event.data["amount"] for event in charged] == [result]


async def test_an_event_for_no_plan_of_this_planner_or_of_another_tenant_finds_none(platform: Platform) -> None:
    resumed: list[Any] = []
    plan = await pursue(platform, "buy.wanted", {}, buyer(resumed), payments())
    await the_wait(platform)
    other = platform.as_user(tenant_id="other", user_id="eve")
    await other.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id=plan.plan_id)
    await platform.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id="nobody's")
    await platform.publish("business-facts", "budget.approved", {"amount": 7})
    await until(platform, lambda: len(resumed) == 3)
    assert resumed == [None, None, None]


def pausing_planner(when: str) -> Planner:
    """A planner: pauses right after its request, or at an event from outside."""
    planner = researcher(research())

    @planner.on_goal(GOAL)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=research())
        await plan.execute_next()
        if when == "at once":
            await plan.pause("look at it")

    @planner.on_event("stop.wanted", topic="business-facts")
    async def stop(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.data["plan"], context)
        if plan is not None:
            await plan.pause("look at it")

    return planner


@pytest.mark.parametrize("when", ["at once", "later"])
async def test_a_reply_to_a_paused_plan_waits_until_the_plan_is_resumed(platform: Platform, when: str) -> None:
    await register_searching(platform)
    plan = await pursue(platform, GOAL, {"topic": "owls"}, pausing_planner(when), analyst())
    (request,) = await wait_for_requests(platform, "web.search.requested")
    if when == "later":
        await platform.publish("business-facts", "stop.wanted", {"plan": plan.plan_id})
    question = await the_wait(platform)
    said = {"success": True, "result": {"pages": [1]}}
    await arrive(platform, [reply_to(request, **said)])
    await wait_for_step(platform, plan.plan_id, "replied")
    assert (await platform.plan(plan.plan_id)).status == "paused"
    assert await types(platform) == [GOAL, "web.search.requested"]
    assert await platform.answer(question.wait_id, {"fine": True}) == "accepted"
    results = {"searching": {"pages": [1]}, "user_input": {"fine": True}, "analyzing": {"summary": "short"}}
    assert await plan.result(timeout=PATIENCE) == results


async def test_a_model_is_not_asked_while_its_plan_is_paused(platform: Platform) -> None:
    minds = planner([complete({"ok": 1})])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await goal.dispatch("inventory.reserve.requested", {"order_id": "A1"})
        await (await PlanContext.create_from_goal(goal, context)).pause("look at it")

    plan = await order(platform, minds, stock())
    question = await the_wait(platform)
    await wait_for_step(platform, plan.plan_id, "replied")
    assert minds.reasoner.questions == []  # type: ignore[union-attr]
    assert await platform.answer(question.wait_id, {"fine": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert "reserved" in str(minds.reasoner.questions[0].messages)  # type: ignore[union-attr]


async def register_searching(platform: Platform) -> None:
    """Register a taker of searches. It never answers: the answers are made here."""
    taken = EventDefinition(event_name="web.search.requested")
    web = Registration("web", AgentKind.TOOL, events=((EventRole.TAKES, taken),))
    await platform.services.store.registry.register([web], platform.services.clock.now())


async def test_the_state_kept_by_a_handler_is_there_at_the_next_step(platform: Platform) -> None:
    planner = researcher(research())

    @planner.on_transition()
    async def handle(transition: TransitionContext, context: PlatformContext) -> None:
        transition.plan.state["steps"] = int(str(transition.plan.state.get("steps", 0))) + 1
        await transition.plan.execute_next(transition.event)
        if transition.plan.is_complete():
            await transition.plan.finalize(transition.plan.state["steps"])

    await platform.start(planner, Web("failed", "found"), analyst())
    assert await (await platform.submit(GOAL, {"topic": "owls"})).result(timeout=PATIENCE) == 3


async def test_a_handler_can_cancel_its_plan(platform: Platform) -> None:
    planner = researcher(research())

    @planner.on_transition()
    async def handle(transition: TransitionContext, context: PlatformContext) -> None:
        await transition.plan.cancel("enough")

    await platform.start(planner, Web("found"), analyst())
    with pytest.raises(PlanCancelled, match="enough"):
        await (await platform.submit(GOAL, {"topic": "owls"})).result(timeout=PATIENCE)


async def test_outside_a_handler_no_plan_is_restored() -> None:
    with pytest.raises(LocalProtocolError, match="inside a handler"):
        await PlanContext.restore("p")


async def test_a_state_outside_json_fails_the_plan(platform: Platform) -> None:
    planner = researcher(research())

    @planner.on_transition()
    async def handle(transition: TransitionContext, context: PlatformContext) -> None:
        transition.plan.state["x"] = object()  # type: ignore[assignment]
        await transition.plan.execute_next(transition.event)

    await platform.start(planner, Web("found"), analyst())
    with pytest.raises(PlanFailed, match="must be JSON"):
        await (await platform.submit(GOAL, {"topic": "owls"})).result(timeout=PATIENCE)
