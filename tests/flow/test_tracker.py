"""The progress of plans, over any order of arrivals."""

import asyncio
import random
from typing import Any

import pytest
from fanin import reply_to
from kit import PATIENCE, order, planner, published_events, pursue, until, wait_for_end, wait_for_requests

from soorma_ai import (
    Agent,
    DelegationSpec,
    EventEnvelope,
    EventTopic,
    GoalContext,
    InvocationContext,
    Platform,
    PlatformContext,
    Reject,
    ResultContext,
    TaskContext,
    Tool,
    TransitionContext,
    Worker,
)
from soorma_ai.context_parts.progress import Action, ActionStatus
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.decisions import CompleteAction, PlannerDecision, PublishAction
from soorma_ai.testing.scripted import complete, delegate, publish

ASKED = 20


def worker(started: asyncio.Event | None = None, go_on: asyncio.Event | None = None) -> Tool:
    tool = Tool("hands")

    @tool.on_invoke("work.requested")
    async def handle(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if started and go_on:
            started.set()
            await go_on.wait()
        if request.data.get("fails"):
            raise Reject("it is broken", code="broken")
        return {"n": request.data.get("n")}

    return tool


async def test_an_action_refused_during_a_look_is_at_no_moment_completed(platform: Platform) -> None:
    started, go_on, tool = asyncio.Event(), asyncio.Event(), Tool("clerk")

    @tool.on_invoke("begin.requested")
    async def begin(request: InvocationContext, context: PlatformContext) -> None:
        await context.bus.publish("action-requests", "work.requested", {"fails": True})

    plan = await order(platform, planner([publish("begin.requested"), complete({})]), tool, worker(started, go_on))
    await started.wait()
    store = platform.services.store
    look = store.events.receivers_of

    async def is_refused() -> bool:
        return any(e.source == "hands" for e in await published_events(platform, topic="action-results"))

    async def handed(event_ids: Any) -> Any:
        go_on.set()
        await until(platform, is_refused)
        return await look(event_ids)

    store.events.receivers_of = handed  # type: ignore[method-assign]
    (work,) = [one for one in await platform.tracker.actions(plan.plan_id) if one.event_type == "work.requested"]
    assert (work.status, work.error) == (ActionStatus.FAILED, "it is broken")


def fan_out_planner(count: int) -> Any:
    minds = planner([], goals=[])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        for n in range(count):
            action = PublishAction(event_type="work.requested", data={"n": n, "fails": n % 5 == 4})
            await minds.execute_decision(PlannerDecision(next_action=action), context)

    @minds.on_transition()
    async def join(transition: TransitionContext, context: PlatformContext) -> None:
        if not context.handling.open_now and not await context.handling.has_more_to_come():
            done = PlannerDecision(next_action=CompleteAction(result={}))
            await minds.execute_decision(done, context)

    return minds


async def statuses(platform: Platform, plan_id: str) -> list[str]:
    return [one.status for one in await platform.tracker.actions(plan_id)]


async def test_an_action_is_pending_then_running_then_done(platform: Platform) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    tool = worker(started, go_on)
    await platform.services.store.registry.register([tool.registration()], platform.services.clock.now())
    plan = await order(platform, planner([publish("work.requested", n=1), complete({"ok": True})]))

    async def has_asked() -> list[str]:
        try:
            return await statuses(platform, plan.plan_id)
        except NotFound:
            return []

    assert await until(platform, has_asked) == ["pending"]
    (request,) = [e for e in await published_events(platform) if e.type == "work.requested"]
    await until(platform, lambda: platform.services.store.events.receivers_of([request.id]))
    assert await statuses(platform, plan.plan_id) == ["pending"], "in line is not begun"
    progress = await platform.tracker.plan_progress(plan.plan_id)
    assert (progress.status, progress.total, progress.done) == ("running", 1, 0)
    await platform.start(tool)
    await started.wait()
    assert await statuses(platform, plan.plan_id) == ["running"]
    go_on.set()
    await plan.result(timeout=PATIENCE)
    (action,) = await platform.tracker.actions(plan.plan_id)
    assert (action.status, action.event_type, action.asked_by) == ("completed", "work.requested", "orders")
    assert (action.agents, action.error, action.parent_id) == (("hands",), None, None)
    assert action.ended_at is not None and action.ended_at >= action.requested_at
    kinds = [entry.kind for entry in await platform.tracker.timeline(plan.plan_id)]
    assert kinds.index("request") < kinds.index("reply") < kinds.index("end")


@pytest.mark.parametrize("seed", range(2))
async def test_no_finished_action_ever_shows_as_pending(platform: Platform, seed: int) -> None:
    """Replies in any order, some doubled, and requests brought by the bus again after their replies."""
    rng = random.Random(seed)
    await platform.services.store.registry.register([worker().registration()], platform.services.clock.now())
    plan = await order(platform, fan_out_planner(ASKED))
    requests = await wait_for_requests(platform, "work.requested", ASKED)
    arriving = [_reply(request) for request in requests]
    arriving += rng.sample(arriving, 7)
    arriving += rng.sample(requests, 12)
    rng.shuffle(arriving)
    finished: set[str] = set()
    while arriving:
        batch, arriving = arriving[:3], arriving[3:]
        await platform.services.store.queue.arrive(batch, platform.services.clock.now())
        platform.services.signals.wake_agents()
        finished |= {str(e.correlation_id) for e in batch if e.topic is EventTopic.ACTION_RESULTS}
        found = {one.action_id: one for one in await platform.tracker.actions(plan.plan_id)}
        assert {key for key, one in found.items() if one.status.is_final} == finished
    await wait_for_end(platform, plan.plan_id)
    progress = await platform.tracker.plan_progress(plan.plan_id)
    assert (progress.done, progress.total) == (len(requests), len(requests))
    assert progress.counts[ActionStatus.FAILED] == len(requests) // 5


def _reply(request: EventEnvelope) -> EventEnvelope:
    fails = bool(request.data.get("fails"))
    return reply_to(request, success=not fails, **({"error": {"code": "x", "message": "no"}} if fails else {}))


@pytest.mark.parametrize("way", ["publish", "request", "plan"])
async def test_an_approved_request_is_one_action(platform: Platform, way: str) -> None:
    tool, gated = Tool("hand"), Tool("bank")

    @tool.on_invoke("hand.requested")
    async def hand(request: InvocationContext, context: PlatformContext) -> None:
        if way == "publish":
            await context.bus.publish("action-requests", "money.requested", {})
        else:
            await context.bus.request("money.requested", {}, "money.sent")

    @gated.on_invoke("money.requested", approval="always")
    async def send(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {}

    first = "money.requested" if way == "plan" else "hand.requested"
    plan = await order(platform, planner([publish(first), complete({})]), tool, gated)
    question = await plan.next_wait(timeout=PATIENCE)
    assert question is not None
    await platform.answer(question.wait_id, {"approved": True})
    await plan.result(timeout=PATIENCE)

    async def is_done() -> bool:
        found = await platform.tracker.actions(plan.plan_id)
        return all(one.status.is_final for one in found) and "money.requested" in {one.event_type for one in found}

    await until(platform, is_done)
    names = [one.event_type for one in await platform.tracker.actions(plan.plan_id)]
    assert sorted(names) == sorted({first, "money.requested"})
    assert (await platform.tracker.plan_progress(plan.plan_id)).total == len(names)


def clerk() -> Worker:
    made = Worker("clerk")

    @made.on_task("task.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        specs = [DelegationSpec("work.requested", {"n": n, "fails": n == 2}, "work.done") for n in range(3)]
        await task.report_progress(0.25, "asking")
        task.state["group"] = await task.delegate_parallel(specs)

    @made.on_result("work.done")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if await task.aggregate_parallel_results(task.state["group"]) is not None:
            await task.report_progress(0.75, "adding up")
            await task.complete({"group": task.state["group"]})

    return made


async def test_a_group_is_shown_while_it_runs_and_when_its_task_has_ended(platform: Platform) -> None:
    await platform.services.store.registry.register([worker().registration()], platform.services.clock.now())
    plan = await order(platform, planner([publish("task.requested"), complete({})]), clerk())
    store = platform.services.store
    requests = await wait_for_requests(platform, "work.requested", 3)
    (asked,) = await store.plans.expectations_by_id([requests[0].id])
    group_id = str(asked.group_id)
    await store.queue.arrive([_reply(requests[1])], platform.services.clock.now())
    group = await platform.tracker.delegation_group(group_id)
    assert (group.total, group.came, set(group.missing)) == (3, 1, {requests[0].id, requests[2].id})
    assert sorted(one.status for one in group.members) == ["completed", "pending", "pending"]
    await platform.start(worker())
    found = await wait_for_end(platform, plan.plan_id)
    assert found.status == "completed"
    group = await platform.tracker.delegation_group(group_id)
    assert (group.total, group.came, group.missing, group.agent) == (3, 3, (), "clerk")
    assert sorted(one.status for one in group.members) == ["completed", "completed", "failed"]
    with pytest.raises(NotFound):
        await platform.tracker.delegation_group("nobody")
    with pytest.raises(NotFound):
        await platform.as_user(tenant_id="other", user_id="eve").tracker.delegation_group(group_id)


async def test_parts_and_reports_of_tasks_show_in_the_progress(platform: Platform) -> None:
    plan = await order(platform, planner([publish("task.requested"), complete({})]), clerk(), worker())
    await plan.result(timeout=PATIENCE)
    task, *parts = await platform.tracker.actions(plan.plan_id)
    assert (task.event_type, task.status, task.parent_id) == ("task.requested", "completed", None)
    assert task.report is not None and (task.report.progress, task.report.message) == (0.75, "adding up")
    assert [(one.asked_by, one.parent_id) for one in parts] == [("clerk", task.action_id)] * 3
    assert len({one.group_id for one in parts}) == 1
    progress = await platform.tracker.plan_progress(plan.plan_id)
    assert (progress.total, progress.done, set(progress.reports)) == (4, 4, {task.action_id})


async def test_a_tree_and_a_session_show_their_plans(platform: Platform) -> None:
    child = planner([publish("work.requested", n=1), complete({"below": True})], name="below", goals=["part.goal"])
    parent = planner([delegate("below", "part.goal", {"x": 1}), complete({"above": True})])
    plan = await pursue(platform, "order.received", {}, child, parent, worker(), session_id="s-1")
    await plan.result(timeout=PATIENCE)
    tree = await platform.tracker.plan_tree(plan.plan_id)
    (below,) = tree.children
    assert (tree.agent, below.agent, below.children) == ("orders", "below", ())
    assert [one.event_type for one in await platform.tracker.actions(plan.plan_id)] == ["part.goal"]
    assert [one.event_type for one in await platform.tracker.actions(below.plan.plan_id)] == ["work.requested"]
    assert (await platform.tracker.plan_tree(below.plan.plan_id)).plan == below.plan
    assert {one.plan_id for one in await platform.tracker.session_plans("s-1")} == {plan.plan_id, below.plan.plan_id}


async def test_a_tools_own_request_is_done_with_its_reply_or_when_none_can_come(platform: Platform) -> None:
    tool, listener = Tool("asking"), Agent("listener")

    @tool.on_invoke("outer.requested")
    async def outer(request: InvocationContext, context: PlatformContext) -> None:
        await context.bus.request("work.requested", {"n": 1}, "work.done")
        for name in ("work.requested", "noted.requested", "broken.requested"):
            await context.bus.publish("action-requests", name, {"n": 1})

    listener.on_event("noted.requested", topic="action-requests")(lambda event, context: None)
    listener.on_event("broken.requested", topic="action-requests")(lambda event, context: 1 / 0)
    plan = await order(platform, planner([publish("outer.requested"), complete({})]), tool, worker(), listener)
    await plan.result(timeout=PATIENCE)

    async def all_done() -> list[Action]:
        found = await platform.tracker.actions(plan.plan_id)
        return found if all(one.status.is_final for one in found) else []

    found = await until(platform, all_done)
    assert [one.asked_by for one in found] == ["orders", *["asking"] * 4]
    assert [one.event_type for one in found if one.status != "completed"] == ["broken.requested"]


async def test_two_workers_of_one_request_have_a_group_each(platform: Platform) -> None:
    groups: list[str] = []

    def gathers(name: str) -> Worker:
        worker = Worker(name)

        @worker.on_task("order.requested")
        async def begin(task: TaskContext, context: PlatformContext) -> None:
            groups.append(await task.delegate_parallel([DelegationSpec("part.requested", {}, "part.done")] * 2))

        worker.on_result("part.done")(lambda result, context: None)
        return worker

    await platform.start(gathers("first"), gathers("second"))
    await platform.publish("action-requests", "order.requested", {})
    await wait_for_requests(platform, "part.requested", 4)
    assert [(await platform.tracker.delegation_group(group)).total for group in set(groups)] == [2, 2]


async def test_no_progress_of_another_tenants_plan_is_shown(platform: Platform) -> None:
    seen: list[str] = []
    watch = Agent("watch")
    await platform.start(planner([publish("work.requested", n=1), complete({})]), worker())
    plan = await platform.submit("order.received", {}, session_id="s-1")
    await plan.result(timeout=PATIENCE)

    @watch.on_event("look", "business-facts")
    async def look(event: Any, context: PlatformContext) -> None:
        seen.extend(one.status for one in await context.tracker.actions(event.data["plan_id"]))

    await platform.start(watch)
    other = platform.as_user(tenant_id="other", user_id="eve")
    for call in (
        other.tracker.plan_progress(plan.plan_id),
        other.tracker.actions(plan.plan_id),
        other.tracker.timeline(plan.plan_id),
        other.tracker.plan_tree(plan.plan_id),
    ):
        with pytest.raises(NotFound):
            await call
    assert await other.tracker.session_plans("s-1") == []
    await platform.publish("business-facts", "look", {"plan_id": plan.plan_id})
    await until(platform, lambda: seen)
    assert seen == ["completed"], "inside a handler too"
