"""A goal given to another planner: its budget, its questions and its end belong to the whole tree."""

from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, as_time_passes, order, planner, published_events, stock, the_wait, until, wait_for_end

from soorma_ai import (
    DelegateAction,
    GoalContext,
    InvocationContext,
    Limits,
    PlannerDecision,
    Platform,
    PlatformContext,
    PublishAction,
    ResultContext,
    TaskContext,
    Tool,
    TransitionContext,
    Worker,
)
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, delegate, publish, wait

RESERVE = publish("inventory.reserve.requested", order_id="A")


def buyer(script: Any, **options: Any) -> Any:
    return planner(script, name="buyer", goals=["buy.wanted"], **options)


async def test_a_child_answers_its_parent_and_the_parent_goes_on(platform: Platform) -> None:
    root = planner([delegate("buyer", "buy.wanted", {"what": "pens"}), complete({"ok": True})])
    await platform.start(root, buyer([RESERVE, complete({"bought": "pens"})]), stock())
    plan = await platform.submit("order.received", {}, session_id="s-1")
    found = await wait_for_end(platform, plan.plan_id)
    assert found.status == "completed"
    (child,) = [one for one in await platform.plans() if one.parent_plan_id == plan.plan_id]
    assert (child.root_plan_id, child.lineage.session_id, child.depth) == (plan.plan_id, "s-1", 2)
    (replied,) = [step for step in found.steps if step.kind == "replied"]
    assert replied.data == {"bought": "pens"}
    assert found.usage.actions == 2, "the child's request and the delegation itself"


async def test_a_question_of_a_child_is_seen_at_the_root(platform: Platform) -> None:
    root = planner([delegate("buyer", "buy.wanted", {}), complete({"ok": True})])
    child = buyer([wait("colour.chosen", "Which colour?"), complete({})], external_events=["colour.chosen"])
    plan = await order(platform, root, child, stock())
    question = await plan.next_wait()
    assert question is not None
    assert (question.message, question.root_plan_id) == ("Which colour?", plan.plan_id)
    assert question.plan_id != plan.plan_id
    await platform.answer(question.wait_id, {"colour": "red"})
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_cancelling_a_plan_cancels_its_children_and_their_questions(platform: Platform) -> None:
    root = planner([delegate("buyer", "buy.wanted", {})])
    middle = buyer([delegate("seller", "sell.wanted", {})])
    last = planner(
        [wait("colour.chosen", "Which?")], name="seller", goals=["sell.wanted"], external_events=["colour.chosen"]
    )
    plan = await order(platform, root, middle, last, stock())
    await the_wait(platform)
    assert await platform.cancel(plan.plan_id, "no longer wanted")
    await until(platform, lambda: _count(platform, "cancelled", 3))
    assert await platform.waits() == []
    found = await platform.plan(plan.plan_id)
    assert found.reason == "no longer wanted; asked and not answered, so unknown: buy.wanted"


async def _count(platform: Platform, status: str, count: int) -> bool:
    return len(await platform.plans(status=status)) == count


CARRY = [publish("carry.requested"), wait("weight.told", "Is it heavy?")]


def asks() -> Any:
    return buyer([wait("colour.chosen", "Which?"), complete({})], external_events=["colour.chosen"])


async def test_a_completed_plan_cancels_its_children(platform: Platform) -> None:
    root = planner([], goals=[])

    @root.on_goal("order.received")
    async def both(goal: GoalContext, context: PlatformContext) -> None:
        for action in (
            DelegateAction(target_planner="buyer", goal_event="buy.wanted"),
            PublishAction(event_type="inventory.reserve.requested", data={"order_id": "A"}),
        ):
            await root.execute_decision(PlannerDecision(next_action=action), context)

    @root.on_transition()
    async def is_enough(transition: TransitionContext, context: PlatformContext) -> None:
        await until(platform, platform.waits)
        await transition.plan.finalize({"ok": True})

    plan = await order(platform, root, asks(), stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    await until(platform, lambda: _count(platform, "cancelled", 1))
    assert await platform.waits() == []


@pytest.mark.parametrize("begun", [True, False])
async def test_a_goal_made_for_a_cancelled_plan_is_cancelled_or_not_begun(platform: Platform, begun: bool) -> None:
    tool, child = Tool("clerk"), asks()

    @tool.on_invoke("carry.requested")
    async def carry(request: InvocationContext, context: PlatformContext) -> None:
        await context.bus.request("buy.wanted", {}, "buy.done")

    await platform.services.store.registry.register([child.registration()], platform.services.clock.now())
    plan = await order(platform, planner(CARRY, external_events=["weight.told"]), tool, *([child] if begun else []))

    async def all_ask() -> bool:
        asked = await _is_requested(platform, "buy.wanted") if not begun else True
        return asked and len(await platform.waits()) == (2 if begun else 1)

    await until(platform, all_ask)
    await platform.cancel(plan.plan_id)
    await wait_for_end(platform, plan.plan_id)
    if not begun:
        await platform.start(child)
    await until(platform, lambda: _count(platform, "cancelled", 2))
    assert await platform.waits() == []


async def _is_requested(platform: Platform, event_type: str) -> bool:
    requests = [event for event in await published_events(platform) if event.type == event_type]
    return bool(requests) and await platform.services.store.queue.backlog(1) > 0


async def test_a_worker_with_endless_requests_to_itself_ends_with_its_plan(
    platform: Platform, clock: VirtualClock
) -> None:
    worker = Worker("clerk")
    begun: list[int] = []

    @worker.on_task("carry.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        begun.append(task.data["n"])
        await task.delegate("carry.requested", {"n": task.data["n"] + 1}, "carry.done")

    @worker.on_result("carry.done")
    async def carried(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete()

    minds = planner([publish("carry.requested", n=0)], limits=Limits(deadline=timedelta(hours=1)))
    plan = await order(platform, minds, worker)
    await until(platform, lambda: len(begun) > 5)
    await clock.advance(timedelta(hours=1))
    await wait_for_end(platform, plan.plan_id)

    async def is_refused() -> bool:
        answers = [e for e in await published_events(platform, topic="action-results") if e.source == "clerk"]
        return any("the plan that asked for it has failed; " in str(answer.data.get("error")) for answer in answers)

    # Deliveries in hand at that hour come again.
    await as_time_passes(clock, is_refused)


async def test_cancelling_ends_the_task_of_a_worker_and_its_open_requests(platform: Platform) -> None:
    worker, lifter = Worker("clerk"), Worker("lifter")

    @worker.on_task("carry.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("lift.requested", {}, "lift.done")

    @lifter.on_task("lift.requested")
    async def lift(task: TaskContext, context: PlatformContext) -> None:
        await context.bus.publish(
            "notification-events",
            "notification.human_input",
            {"question": "Is it heavy?", "response_event": "weight.told", "timeout_seconds": 600},
        )

    worker.on_result("lift.done")(lambda result, context: pytest.fail("a cancelled task got a result"))
    lifter.on_result("weight.told")(lambda result, context: pytest.fail("a cancelled task got an answer"))
    plan = await order(platform, planner([publish("carry.requested")]), worker, lifter)
    question = await the_wait(platform)
    await platform.cancel(plan.plan_id)
    await until(platform, lambda: _no_waits(platform))
    assert await platform.answer(question.wait_id, {"kg": 5}) == "superseded"
    replies = [e for e in await published_events(platform, topic="action-results") if e.source in ("clerk", "lifter")]
    assert {(e.source, e.data["error"]["code"]) for e in replies} == {("clerk", "cancelled"), ("lifter", "cancelled")}  # type: ignore[index,call-overload]


async def _no_waits(platform: Platform) -> bool:
    rows = [e for e in await published_events(platform, topic="action-results") if e.source in ("clerk", "lifter")]
    return await platform.waits() == [] and len(rows) == 2


async def test_a_goal_delegated_back_to_its_planner_is_refused_and_asked_again(platform: Platform) -> None:
    first = planner([delegate("buyer", "buy.wanted", {"n": 1}), complete({"first": True})])
    back = delegate("orders", "order.received", {"n": 0})
    second = buyer([back, complete({"second": True})])
    plan = await order(platform, first, second, stock(), n=0)
    assert await plan.result(timeout=PATIENCE) == {"first": True}
    (child,) = [one for one in await platform.plans() if one.parent_plan_id]
    refused = (await platform.plan(child.plan_id)).decisions[0]
    assert refused.verdict == "refused"
    assert "round in circles" in refused.refusal
    assert len(await platform.plans()) == 2
