"""A paused root plan waits for as long as it takes; nothing else does."""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from kit import (
    PATIENCE,
    as_time_passes,
    happens,
    is_idle,
    pass_time,
    payments,
    planner,
    pursue,
    sleeps,
    stock,
    the_wait,
    until,
    wait_for_requests,
    wait_for_step,
)

from soorma_ai import (
    Agent,
    Approval,
    ChoreographyPlanner,
    EventContext,
    GoalContext,
    Limits,
    LocalProtocolError,
    NotFound,
    PlanContext,
    PlanFailed,
    Planner,
    PlannerDecision,
    Platform,
    PlatformContext,
    TaskContext,
    WaitAction,
    Worker,
)
from soorma_ai.kernel.domain.decisions import DelegateAction
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, wait

HOUR = 3600.0
BUYING: Any = {
    "start": {"default_next": "paying"},
    "paying": {"action": {"event_type": "payment.charge.requested", "data": {"amount": 7}}, "default_next": "done"},
    "done": {"is_terminal": True, "result": "{results.user_input}"},
}


def buyer(goal: str = "buy.wanted", name: str = "buyer") -> Planner:
    """A planner: pauses first; an event of the business resumes it."""
    planner = Planner(name, limits=Limits(deadline=timedelta(hours=2)))

    @planner.on_goal(goal)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=BUYING)
        await plan.pause(reason="budget_approval_required")

    @planner.on_event("budget.approved", topic="business-facts")
    async def approved(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        if plan and plan.status == "paused":
            await plan.resume({"amount": event.data["amount"]})

    return planner


@pytest.mark.parametrize("way", ["answer", "event", "resumed"])
async def test_a_paused_plan_outlives_its_deadline_and_gets_it_back(
    platform: Platform, clock: VirtualClock, way: str
) -> None:
    plan = await pursue(platform, "buy.wanted", {}, buyer())
    question = await the_wait(platform)
    begun = clock.now()
    assert (question.deadline, (await platform.plan(plan.plan_id)).deadline) == (None, None)
    await clock.advance(5 * HOUR)
    assert (await platform.plan(plan.plan_id)).status == "paused"
    if way == "answer":
        assert await platform.answer(question.wait_id, {"amount": 7}) == "accepted"
    elif way == "event":
        await platform.publish("business-facts", "plan.resumed", {"amount": 7}, correlation_id=plan.plan_id)
    else:
        await platform.publish("business-facts", "budget.approved", {"amount": 7}, correlation_id=plan.plan_id)
    await wait_for_step(platform, plan.plan_id, "parked")
    assert (await platform.plan(plan.plan_id)).deadline == begun + timedelta(hours=7)
    await platform.start(payments())
    assert await plan.result(timeout=PATIENCE) == {"amount": 7}


async def test_a_resumed_plan_ends_at_its_later_deadline(platform: Platform, clock: VirtualClock) -> None:
    plan = await pursue(platform, "buy.wanted", {}, buyer())
    question = await the_wait(platform)
    await clock.advance(10 * HOUR)
    await platform.answer(question.wait_id, {"amount": 7})
    await wait_for_step(platform, plan.plan_id, "parked")
    await clock.advance(2 * HOUR)
    await as_time_passes(clock, lambda: platform.plans(status="failed"))
    with pytest.raises(PlanFailed, match="deadline"):
        await plan.result(timeout=PATIENCE)


async def test_a_snooze_in_a_pause_ends_before_the_returning_deadline(platform: Platform, clock: VirtualClock) -> None:
    """It is measured by the time left, since the plan may resume at once."""
    asking = Planner("asking", limits=Limits(deadline=timedelta(hours=2)))

    @asking.on_goal("buy.wanted", state_machine=BUYING)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context)
        await plan.execute_next()

    @asking.on_event("stop.wanted", topic="business-facts")
    async def stop(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        assert plan is not None
        await plan.pause()

    gate = Approval(approvers=("manager",), timeout=timedelta(days=2), reminders=(timedelta(hours=6),))
    plan = await pursue(platform, "buy.wanted", {}, asking, payments(gate))
    question, manager = (
        await the_wait(platform),
        platform.as_user(tenant_id="default", user_id="ann", roles=["manager"]),
    )
    await platform.publish("business-facts", "stop.wanted", {}, correlation_id=plan.plan_id)
    await until(platform, lambda: _is_paused(platform, plan.plan_id))
    await clock.advance(5 * HOUR)
    with pytest.raises(LocalProtocolError, match="the deadline if the paused plan resumes now"):
        await manager.inbox.snooze(question.wait_id, clock.now() + timedelta(hours=2))
    made = await manager.inbox.snooze(question.wait_id, clock.now() + timedelta(hours=1.9))
    (pause,) = [one for one in await platform.waits() if one.expected_event == "plan.resumed"]
    owner = platform.as_user(tenant_id="default", user_id="local")
    await owner.inbox.snooze(pause.wait_id, clock.now() + timedelta(days=3))
    assert await platform.answer(pause.wait_id, {}) == "accepted"
    await until(platform, partial(_has_deadline, platform, plan.plan_id))
    deadline = (await platform.wait(question.wait_id)).deadline
    assert deadline is not None and made.until < deadline == clock.now() + timedelta(hours=2)


async def _is_paused(platform: Platform, plan_id: str) -> bool:
    plan = await platform.services.store.plans.plan(plan_id)
    return plan is not None and plan.paused is not None


async def test_people_are_reminded_of_a_pause(platform: Platform, clock: VirtualClock) -> None:
    await pursue(platform, "buy.wanted", {}, buyer())
    question = await the_wait(platform)
    reminded: list[Any] = []
    agent = Agent("listener")

    @agent.on_event("plan.wait.reminded", topic="notification-events")
    async def hear(event: EventContext, context: PlatformContext) -> None:
        reminded.append((event.data["wait_id"], event.data["reminder"]))

    await platform.start(agent)
    await clock.advance(24 * HOUR)
    await until(platform, lambda: bool(reminded))
    assert reminded == [(question.wait_id, 1)]


async def test_the_pause_of_a_child_ends_with_the_deadline_of_its_parent(
    platform: Platform, clock: VirtualClock
) -> None:
    parent = planner([], limits=Limits(deadline=timedelta(hours=2)))

    @parent.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        action = DelegateAction(target_planner="buyer", goal_event="buy.wanted", goal_data={})
        await parent.execute_decision(PlannerDecision(next_action=action), context)

    await platform.start(parent, buyer())
    plan = await platform.submit("order.received", {})
    question = await the_wait(platform)
    assert question.deadline is None or question.deadline == clock.now() + timedelta(hours=2)
    await clock.advance(2 * HOUR)
    await as_time_passes(clock, lambda: platform.plans(status="failed"))
    with pytest.raises(PlanFailed, match="deadline"):
        await plan.result(timeout=PATIENCE)


@pytest.mark.parametrize("paused", [1, 5], ids=["short", "longer than the deadline"])
async def test_deadlines_capped_by_a_paused_plan_move_with_its_own(
    platform: Platform, clock: VirtualClock, paused: float
) -> None:
    """A child, the child's task, and the question of the task."""
    worker = Worker("reviewer")

    @worker.on_task("review.requested")
    async def review(task: TaskContext, context: PlatformContext) -> None:
        asked = {"question": "Fine?", "response_event": "review.answered", "timeout_seconds": 10 * HOUR}
        await context.bus.publish("notification-events", "notification.human_input", asked)

    @worker.on_result("review.answered")
    async def answered(result: Any, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.data)

    child = planner([publish("review.requested"), complete({"reviewed": True})], name="child", goals=["child.wanted"])
    script = [wait("user.replied", "Go on?"), complete({"done": True})]
    root = planner(script, external_events=["user.replied"], limits=Limits(deadline=timedelta(hours=2)))

    @root.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        action = DelegateAction(target_planner="child", goal_event="child.wanted", goal_data={})
        await root.execute_decision(PlannerDecision(next_action=action), context)

    @root.on_event("stop.wanted", topic="business-facts")
    async def stop(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        assert plan is not None
        await plan.pause()

    await platform.start(root, child, worker)
    plan = await platform.submit("order.received", {})
    question = await the_wait(platform)
    until_when = clock.now() + timedelta(hours=2)
    assert question.deadline == until_when
    await platform.publish("business-facts", "stop.wanted", {}, correlation_id=plan.plan_id)
    await sleeps(platform, plan.plan_id)
    assert [one.deadline for one in await platform.waits()] == [None, None]
    await clock.advance(paused * HOUR)
    (pause,) = [one for one in await platform.waits() if one.expected_event == "plan.resumed"]
    assert await platform.answer(pause.wait_id, {}) == "accepted"

    async def has_moved() -> bool:
        return (await platform.plan(plan.plan_id)).deadline == until_when + timedelta(hours=paused)

    await until(platform, has_moved)
    await until(platform, partial(is_idle, platform))
    (moved,) = [one for one in await platform.waits() if one.wait_id == question.wait_id]
    (delegated,) = [one for one in await platform.plans() if one.parent_plan_id == plan.plan_id]
    assert moved.deadline == until_when + timedelta(hours=paused)
    assert delegated.deadline == until_when + timedelta(hours=paused)
    await clock.advance(1.5 * HOUR)
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"done": True}


@pytest.mark.parametrize("is_known", [True, False], ids=["in line for its tool", "taken by nobody"])
async def test_the_request_of_a_child_waits_as_long_as_the_pause_of_its_root(
    platform: Platform, clock: VirtualClock, *, is_known: bool
) -> None:
    child = Planner("small")

    @child.on_goal("small.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=BUYING)
        await plan.execute_next()

    root = planner([complete({"done": True})], limits=Limits(deadline=timedelta(hours=2)))

    @root.on_goal("order.received")
    async def begin_root(goal: GoalContext, context: PlatformContext) -> None:
        action = DelegateAction(target_planner="small", goal_event="small.wanted", goal_data={})
        await root.execute_decision(PlannerDecision(next_action=action), context)

    @root.on_event("stop.wanted", topic="business-facts")
    async def stop(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        assert plan is not None
        await plan.pause()

    tool = payments()
    await platform.start(root, child)
    if is_known:
        await platform.services.store.registry.register([tool.registration()], clock.now())
    plan = await platform.submit("order.received", {})
    await until(platform, lambda: _has_asked(platform))
    await platform.publish("business-facts", "stop.wanted", {}, correlation_id=plan.plan_id)
    await sleeps(platform, plan.plan_id)
    for _ in range(10):
        await clock.advance(0.5 * HOUR)
    (pause,) = [one for one in await platform.waits() if one.expected_event == "plan.resumed"]
    assert await platform.answer(pause.wait_id, {}) == "accepted"
    await platform.start(tool)
    assert await plan.result(timeout=PATIENCE) == {"done": True}


async def _has_asked(platform: Platform) -> bool:
    """Tell whether the child waits for its request."""
    children = [one for one in await platform.plans() if one.agent == "small"]
    return bool(children) and bool((await platform.plan(children[0].plan_id)).expectations)


async def test_create_plan_without_agents_is_refused(platform: Platform) -> None:
    minds = Planner("minds", reasoner=ScriptedReasoner([]))

    @minds.on_goal("research.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        agents = await context.registry.discover(goal.requirements)
        with pytest.raises(NotFound, match=r"requires \['flying'\]: start an agent"):
            await minds.create_plan(goal, agents, context)
        await minds.create_plan(goal, [], context)

    plan = await pursue(platform, "research.wanted", {"requirements": ["flying"]}, minds, stock())
    with pytest.raises(PlanFailed, match="create_plan got no agents"):
        await plan.result(timeout=PATIENCE)


async def test_custom_context_stays_in_the_prompt_until_another_is_given(platform: Platform) -> None:
    script = [publish("inventory.reserve.requested", order_id=order) for order in ("A1", "A2")]
    minds = planner([*script, complete()])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        policy = {"policy": "orders over 5000 need approval"}
        decision = await minds.reason_next_action("The order came.", context, custom_context=policy)
        await minds.execute_decision(decision, context)

    plan = await pursue(platform, "order.received", {}, minds, stock())
    await plan.result(timeout=PATIENCE)
    told = ["\n".join(one.content for one in asked.messages) for asked in minds.reasoner.questions]  # type: ignore[union-attr]
    assert ["orders over 5000 need approval" in text for text in told] == [True, True, True]


def waiting_planner(*approvers: str) -> ChoreographyPlanner:
    minds = planner([complete({"granted": True})])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        action = WaitAction(
            reason="Order >$5k requires manager approval",
            expected_event="approval.granted",
            timeout_seconds=3600,
            approvers=approvers,
        )
        await minds.execute_decision(PlannerDecision(next_action=action), context)

    return minds


@pytest.mark.parametrize("under", ["plan_id", "correlation", "wait"])
async def test_a_wait_of_the_authors_own_declares_its_event(platform: Platform, under: str) -> None:
    plan = await pursue(platform, "order.received", {}, waiting_planner(), stock())
    question = await the_wait(platform)
    key = {"plan_id": None, "correlation": plan.plan_id, "wait": question.wait_id}[under]
    named = plan.plan_id if under == "plan_id" else None
    await platform.publish("business-facts", "approval.granted", {}, plan_id=named, correlation_id=key)
    assert await plan.result(timeout=PATIENCE) == {"granted": True}


async def test_a_wait_with_approvers_is_ended_by_an_answer_only(platform: Platform) -> None:
    agent = Agent("robot", events_produced=["approval.granted"])

    @agent.on_event("robot.begins", topic="system-events")
    async def begin(event: EventContext, context: PlatformContext) -> None:
        await context.bus.announce("approval.granted", {}, correlation_id=event.data["plan"])

    await platform.start(agent)
    plan = await pursue(platform, "order.received", {}, waiting_planner("manager"))
    question = await the_wait(platform)
    await platform.publish("business-facts", "approval.granted", {}, correlation_id=plan.plan_id)
    await platform.publish("system-events", "robot.begins", {"plan": plan.plan_id})

    async def robot_has_spoken() -> bool:
        rows = await platform.services.store.events.events(limit=1000)
        return any(row.event.source == "robot" for row in rows)

    await until(platform, robot_has_spoken)
    assert (await the_wait(platform)).wait_id == question.wait_id
    manager = platform.as_user(tenant_id="default", user_id="maria", roles=["manager"])
    assert await manager.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"granted": True}


async def test_a_models_wait_is_only_for_an_offered_event(platform: Platform) -> None:
    from soorma_ai.testing.scripted import wait

    minds = planner([wait("approval.granted", message="Fine?")] * 3)
    plan = await pursue(platform, "order.received", {}, minds, stock())
    with pytest.raises(PlanFailed, match=r"approval\.granted"):
        await plan.result(timeout=PATIENCE)


@pytest.mark.parametrize("first", ["worker", "user-agent"])
async def test_a_user_agent_hears_a_question_and_answers_it_by_its_event(platform: Platform, first: str) -> None:
    worker, user_agent = Worker("reviewer"), Agent("user-agent", events_produced=["review.answered"])

    @worker.on_task("review.requested")
    async def review(task: TaskContext, context: PlatformContext) -> None:
        asked = {"question": "Fine?", "response_event": "review.answered", "timeout_seconds": 60, "page": "a.txt"}
        await context.bus.publish("notification-events", "notification.human_input", asked, correlation_id=task.task_id)

    @worker.on_result("review.answered")
    async def answered(result: Any, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.data)

    @user_agent.on_event(topic="notification-events", event_type="notification.human_input")
    async def ask_human(event: EventContext, context: PlatformContext) -> None:
        said = {"approved": True, "of": event.data["page"]}
        where, name = "notification-events", event.data["response_event"]
        await context.bus.publish(where, name, said, correlation_id=event.correlation_id)

    both = [worker, user_agent] if first == "worker" else [user_agent, worker]
    for agent in both:
        await platform.start(agent)
    reply: Any = await platform.request("review.requested", {}, timeout=PATIENCE)
    assert reply["result"] == {"approved": True, "of": "a.txt"}


async def test_a_user_agent_answers_the_question_of_a_plan(platform: Platform) -> None:
    user_agent = Agent("user-agent", events_produced=["approval.granted"])

    @user_agent.on_event(topic="notification-events", event_type="notification.human_input")
    async def ask_human(event: EventContext, context: PlatformContext) -> None:
        name = event.data["response_event"]
        await context.bus.publish("notification-events", name, {}, correlation_id=event.correlation_id)

    plan = await pursue(platform, "order.received", {}, user_agent, waiting_planner())
    assert await plan.result(timeout=PATIENCE) == {"granted": True}
    assert await wait_for_requests(platform, "order.received")


@pytest.mark.parametrize("begins", ["before the pause", "during it", "after it"])
async def test_a_task_requested_before_a_pause_gets_the_time_of_the_pause(
    platform: Platform, clock: VirtualClock, begins: str
) -> None:
    """Its parts are requested after the plan's first deadline."""
    seconds, begun, paused = 60.0, asyncio.Event(), asyncio.Event()
    worker = Worker("reviewer")

    @worker.on_task("review.requested")
    async def review(task: TaskContext, context: PlatformContext) -> None:
        begun.set()
        await happens(paused)
        await task.delegate("payment.charge.requested", {"amount": 7}, response_event="charged")

    @worker.on_result("charged")
    async def charged(result: Any, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({"paid": result.success})

    root = Planner("editor", limits=Limits(deadline=timedelta(seconds=seconds)))
    reviewing = {"action": {"event_type": "review.requested"}, "default_next": "done"}
    states: Any = {
        "start": {"default_next": "reviewing"},
        "reviewing": reviewing,
        "done": {"is_terminal": True, "result": {"paid": "{results.reviewing.paid}"}},
    }

    @root.on_goal("order.received", state_machine=states)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context)
        await plan.execute_next()

    @root.on_event("stop.wanted", topic="business-facts")
    async def stop(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        assert plan is not None
        await plan.pause()

    tool = payments()
    for agent in (worker, tool):
        await platform.services.store.registry.register([agent.registration()], clock.now())
    await platform.start(root, *([worker] if begins == "before the pause" else []))
    plan = await platform.submit("order.received", {})
    await wait_for_requests(platform, "review.requested")
    if begins == "before the pause":
        await happens(begun)
    await platform.publish("business-facts", "stop.wanted", {}, correlation_id=plan.plan_id)
    await sleeps(platform, plan.plan_id)
    await pass_time(platform, clock, timedelta(seconds=1.5 * seconds))
    paused.set()
    if begins != "after it":
        await (platform.start(worker) if begins == "during it" else asyncio.sleep(0))
        await wait_for_requests(platform, "payment.charge.requested")
        await pass_time(platform, clock, timedelta(seconds=seconds))
    assert await platform.resume(plan.plan_id) == "accepted"
    if begins == "after it":
        await until(platform, partial(_has_deadline, platform, plan.plan_id))
        await platform.start(worker)
        await wait_for_requests(platform, "payment.charge.requested")
    await platform.start(tool)
    assert await plan.result(timeout=PATIENCE) == {"paid": True}


async def _has_deadline(platform: Platform, plan_id: str) -> bool:
    return (await platform.plan(plan_id)).deadline is not None
