"""Samples with a task or a plan waiting for people."""

from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, planner, stock, the_wait

from seeds.acting import sent_events
from soorma_ai import (
    GoalContext,
    Limits,
    PlanContext,
    Planner,
    PlannerDecision,
    Platform,
    PlatformContext,
    ResultContext,
    StateAction,
    StateConfig,
    StateTransition,
    TaskContext,
    Tool,
    WaitAction,
    Worker,
)
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

REVIEW = "document.review.requested"


def reviewer() -> Worker:
    """A worker with a question of one hour, as in the sample."""
    worker = Worker("reviewer")

    @worker.on_task(event_type="document.review.requested")
    async def handle_review(task: TaskContext, context: PlatformContext):
        await context.bus.publish(
            topic="notification-events",
            event_type="notification.human_input",
            data={
                "question": "Please review this document",
                "document_url": task.data["url"],
                "response_event": "document.approval.received",
                "timeout_seconds": 3600,
            },
            correlation_id=task.task_id,
        )
        await task.save()

    @worker.on_result(event_type="document.approval.received")
    async def handle_approval(result: ResultContext, context: PlatformContext):
        task = await result.restore_task()
        if result.data["approved"]:
            await task.complete({"status": "approved"})
        else:
            await task.complete({"status": "rejected", "reason": result.data["reason"]})

    return worker


@pytest.mark.parametrize("way", ["answer", "event"])
@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"approved": True}, {"status": "approved"}),
        ({"approved": False, "reason": "too long"}, {"status": "rejected", "reason": "too long"}),
    ],
)
async def test_a_person_reviews_a_document(platform: Platform, way: str, said: Any, result: Any) -> None:
    await platform.start(reviewer())
    task_id = await platform.publish("action-requests", REVIEW, {"url": "file:a.txt"})
    question = await the_wait(platform)
    assert (question.task_id, question.message) == (task_id, "Please review this document")
    if way == "answer":
        assert await platform.answer(question.wait_id, said) == "accepted"
    else:
        await platform.publish("notification-events", "document.approval.received", said, correlation_id=task_id)
    (answer,) = await sent_events(platform, f"{REVIEW}.completed")
    assert answer.data["result"] == result


async def test_a_missing_review_is_a_timeout_with_a_transition_of_the_plan(
    platform: Platform, clock: VirtualClock
) -> None:
    minds = Planner("publisher")
    machine = {
        "start": StateConfig(state_name="start", default_next="reviewing"),
        "reviewing": StateConfig(
            state_name="reviewing",
            action=StateAction(event_type=REVIEW, data={"url": "file:a.txt"}),
            transitions=[StateTransition(on_event="task.timeout", to_state="put_off")],
            default_next="published",
        ),
        "published": StateConfig(state_name="published", is_terminal=True),
        "put_off": StateConfig(state_name="put_off", is_terminal=True, result={"put_off": True}),
    }

    @minds.on_goal("publish.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=machine)
        await plan.execute_next()

    await platform.start(reviewer(), minds)
    plan = await platform.submit("publish.wanted", {})
    await the_wait(platform)
    await clock.advance(3600)
    assert await plan.result(timeout=PATIENCE) == {"put_off": True}
    (told,) = await sent_events(platform, "task.timeout")
    (answer,) = await sent_events(platform, f"{REVIEW}.completed")
    assert (told.topic, told.data["task_id"]) == ("task-events", answer.data["task_id"])
    assert (answer.data["status"], answer.data["error"]["code"]) == ("failed", "task.timeout")


async def test_a_plan_is_paused_until_its_budget_is_approved(platform: Platform, clock: VirtualClock) -> None:
    planner = Planner("buyer", limits=Limits(deadline=timedelta(hours=2)))
    seen: list[Any] = []
    machine = {
        "start": StateConfig(state_name="start", default_next="pricing"),
        "pricing": StateConfig(
            state_name="pricing",
            action=StateAction(event_type="price.requested"),
            default_next="awaiting_budget_approval",
        ),
        "awaiting_budget_approval": StateConfig(
            state_name="awaiting_budget_approval",
            transitions=[StateTransition(on_event="budget.approved", to_state="bought")],
        ),
        "bought": StateConfig(
            state_name="bought", is_terminal=True, result={"amount": "{results.user_input.approved_amount}"}
        ),
    }

    @planner.on_goal("buy.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=machine)
        await plan.execute_next()

    async def handle_transition(transition, context):
        plan = transition.plan
        plan.update_state(transition.event)

        if plan.current_state == "awaiting_budget_approval":
            await plan.pause(reason="budget_approval_required")

    planner.on_transition()(handle_transition)

    @planner.on_event(topic="business-facts", event_type="budget.approved")
    async def handle_approval(event, context):
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        seen.append((plan.status, plan.state["pause_reason"]))
        if plan and plan.status == "paused":
            await plan.resume({"approved_amount": event.data["amount"]})

    shop = Tool("shop")

    @shop.on_invoke("price.requested")
    async def price(request: Any, context: PlatformContext) -> int:
        return 7

    await platform.start(planner, shop)
    plan = await platform.submit("buy.wanted", {})
    await the_wait(platform)
    await clock.advance(24 * 3600)
    assert (await platform.plan(plan.plan_id)).status == "paused", "the clock of the plan stands still, too"
    await platform.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id=plan.plan_id)
    assert await plan.result(timeout=PATIENCE) == {"amount": 7}
    assert seen[-1] == ("paused", "budget_approval_required")


@pytest.mark.parametrize("under", ["plan_id", "correlation_id", None])
async def test_a_plan_waits_for_an_approval_and_continues_by_itself(
    platform: Platform, clock: VirtualClock, under: str | None
) -> None:
    granted = under is not None
    minds = planner([complete({"granted": granted})], goals=[])

    @minds.on_goal("order.received")
    async def handle_goal(goal: GoalContext, context: PlatformContext) -> None:
        decision = PlannerDecision(
            next_action=WaitAction(
                reason="Order >$5k requires manager approval", expected_event="approval.granted", timeout_seconds=3600
            )
        )
        await minds.execute_decision(decision, context)

    await platform.start(minds, stock())
    plan = await platform.submit("order.received", {"amount": 9000})
    question = await the_wait(platform)
    assert (question.expected_event, question.message) == ("approval.granted", "Order >$5k requires manager approval")
    assert (await platform.plan(plan.plan_id)).status == "paused"
    if under is not None:
        await platform.publish("business-facts", "approval.granted", {"by": "maria"}, **{under: plan.plan_id})
    else:
        await clock.advance(3600)
    assert await plan.result(timeout=PATIENCE) == {"granted": granted}
    asked = minds.reasoner.questions[0].messages[1].content  # type: ignore[union-attr]
    assert ("maria" in asked) is granted
