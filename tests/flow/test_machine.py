"""The state machine of the seeds in all its ways: its transitions by events, and its stops without one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, kill_platform, open_platform, order, payments, published_events, pursue, the_wait, until
from machines import ANALYZE, CLARIFIED, FOUND, GOAL, SEARCH, Web, analyst, requests_for, research, researcher, state

from soorma_ai import (
    Agent,
    GoalContext,
    Limits,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    StateAction,
    StateTransition,
    TransitionContext,
)
from soorma_ai.errors import ConfigError
from soorma_ai.testing.clock import VirtualClock

TOPIC = {"topic": "owls"}


async def test_a_search_with_results_is_analyzed_and_done(platform: Platform) -> None:
    web = Web("found")
    plan = await pursue(platform, GOAL, TOPIC, researcher(research()), web, analyst(), session_id="s-1")
    result = await plan.result(timeout=PATIENCE)
    assert result == {"searching": {"pages": [1, 2]}, "analyzing": {"summary": "short"}}
    assert web.asked == [{"query": "owls"}]
    (stored,) = await platform.plans()
    assert (stored.current_state, stored.lineage.session_id) == ("done", "s-1")
    assert (await platform.plan(plan.plan_id)).usage.actions == 2


async def test_a_search_failing_twice_fails_the_plan_with_its_reason_for_the_caller(platform: Platform) -> None:
    web = Web("failed", "failed")
    plan = await pursue(platform, GOAL, TOPIC, researcher(research()), web, analyst())
    with pytest.raises(PlanFailed, match="failed: the network is down"):
        await plan.result(timeout=PATIENCE)
    assert web.asked == [{"query": "owls"}, {"query": "owls", "broad": True}]
    (reply,) = [e for e in await published_events(platform, topic="action-results") if e.source == "researcher"]
    assert reply.data["success"] is False


@pytest.mark.parametrize("way", ["answer", "event"])
async def test_a_search_without_results_asks_the_user_and_searches_again(platform: Platform, way: str) -> None:
    web = Web("no_results", "found")
    plan = await pursue(platform, GOAL, TOPIC, researcher(research()), web, analyst())
    question = await the_wait(platform)
    assert (question.message, question.deadline is not None) == (
        "No results found. Can you provide more details?",
        True,
    )
    said = {"details": "snowy owls"}
    if way == "answer":
        assert await platform.answer(question.wait_id, said) == "accepted"
    else:
        (goal,) = [e for e in await published_events(platform) if e.type == GOAL]
        await platform.publish("notification-events", CLARIFIED, said, correlation_id=goal.correlation_id or goal.id)
    result = await plan.result(timeout=PATIENCE)
    assert result["ask_user"] == said
    assert len(web.asked) == 2


PAYING = {
    "start": {
        "action": {
            "event_type": "payment.charge.requested",
            "response_event": "payment.done",
            "data": {"amount": "{goal_data.amount}"},
        },
        "transitions": [
            {"on_event": "payment.done", "to_state": "done"},
            {"on_event": "rejected", "to_state": "unpaid"},
        ],
    },
    "done": {"is_terminal": True, "result": {"paid": "{results.start.charged}"}},
    "unpaid": {"is_terminal": True, "result": {"paid": 0}},
}


@pytest.mark.parametrize(("approved", "result"), [(True, {"paid": 9}), (False, {"paid": 0})])
async def test_a_gate_holds_a_states_request_if_its_data_fits_the_receiver(
    platform: Platform, approved: bool, result: Any
) -> None:
    charged: list[Any] = []
    await platform.start(researcher(PAYING), payments("always", charged))
    with pytest.raises(PlanFailed, match=r"\$.amount"):
        await (await platform.submit(GOAL, {"amount": "much"})).result(timeout=PATIENCE)
    plan = await platform.submit(GOAL, {"amount": 9})
    question = await the_wait(platform)
    assert question.proposed_data == {"amount": 9}
    assert charged == []
    assert await platform.answer(question.wait_id, {"approved": approved}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == result
    assert charged == ([9] if approved else [])


async def test_a_kill_between_two_states_repeats_nothing(path: Path, clock: VirtualClock) -> None:
    reached = asyncio.Event()
    web = Web("found")

    async def stuck(event: Any, context: PlatformContext) -> None:
        reached.set()
        await asyncio.Event().wait()

    stopped = Agent("analyst")
    stopped.on_event(ANALYZE, topic="action-requests")(stuck)
    platform = open_platform(path, clock)
    await platform.__aenter__()
    plan = await pursue(platform, GOAL, TOPIC, researcher(research()), web, stopped)
    await asyncio.wait_for(reached.wait(), PATIENCE)
    await kill_platform(platform)
    async with open_platform(path, clock) as second:
        await second.start(researcher(research()), Web(), analyst())
        result = await (await second.follow(plan.plan_id)).result(timeout=PATIENCE)
        assert result["analyzing"] == {"summary": "short"}
        assert len(requests_for(await published_events(second), SEARCH)) == 1
        assert len(requests_for(await published_events(second), ANALYZE)) == 1


async def test_a_reply_received_twice_moves_the_plan_once(platform: Platform) -> None:
    twice = Agent("web")

    @twice.on_event(SEARCH, topic="action-requests")
    async def search(event: Any, context: PlatformContext) -> None:
        for _ in range(2):
            await context.bus.respond(FOUND, {"success": True, "result": 1}, correlation_id=event.correlation_id)
        await context.bus.respond("web.search.failed", {}, correlation_id=event.correlation_id)

    seen: list[Any] = []
    plan = await pursue(platform, GOAL, TOPIC, researcher(research()), twice, analyst(seen))
    await plan.result(timeout=PATIENCE)
    rows = [row.event for row in await platform.services.store.events.events(limit=100)]
    await platform.services.store.queue.arrive(rows, platform.services.clock.now())
    assert len(seen) == 1
    assert await platform.services.store.queue.backlog(10) == 0
    assert [step.kind for step in (await platform.plan(plan.plan_id)).steps].count("completed") == 1


async def test_a_goal_of_another_planner_is_a_plan_below_this_one(platform: Platform) -> None:
    outer = {
        "start": state(
            "start",
            action=StateAction(event_type=GOAL, response_event="research.told", data={"topic": "{goal_data.topic}"}),
            transitions=[
                StateTransition(on_event="research.told", to_state="done"),
                StateTransition(on_event="research.told.failed", to_state="failed"),
            ],
        ),
        "done": state("done", is_terminal=True, result="{results.start.analyzing.summary}"),
        "failed": state("failed", is_terminal=True),
    }
    await platform.start(
        researcher(outer, name="editor", goals=["article.goal"]),
        researcher(research()),
        Web("found", "failed", "failed"),
        analyst(),
    )
    plan = await platform.submit("article.goal", TOPIC, session_id="s-9")
    assert await plan.result(timeout=PATIENCE) == "short"
    (child,) = [one for one in await platform.plans() if one.parent_plan_id]
    assert (child.root_plan_id, child.depth, child.lineage.session_id) == (plan.plan_id, 2, "s-9")
    assert (await platform.plan(plan.plan_id)).usage.actions == 3
    failing = await platform.submit("article.goal", TOPIC)
    with pytest.raises(PlanFailed, match="the network is down"):
        await failing.result(timeout=PATIENCE)


async def test_a_circle_of_states_ends_at_the_limit_of_repeats(platform: Platform) -> None:
    machine = research(
        retry_search=state("retry_search", default_next="searching"), ask_user=state("ask_user", default_next="failed")
    )
    web = Web(*["failed"] * 9)
    plan = await pursue(platform, GOAL, TOPIC, researcher(machine, limits=Limits(max_repeats=3)), web, analyst())
    with pytest.raises(PlanFailed, match="limit_exceeded: max_repeats"):
        await plan.result(timeout=PATIENCE)
    assert len(web.asked) == 4, "the first, after the goal, and three after the same failure"


async def test_an_invalid_machine_fails_its_plan_with_every_fault(platform: Platform) -> None:
    machine = research(done=state("done", default_next="nowhere"))
    await platform.start(researcher(machine), Web(), analyst())
    with pytest.raises(PlanFailed, match="'done' leads to 'nowhere', which is no state"):
        await (await platform.submit(GOAL, TOPIC)).result(timeout=PATIENCE)


async def test_a_planner_without_a_beginning_for_its_goal_does_not_start(platform: Platform) -> None:
    with pytest.raises(ConfigError, match="does not know how to begin research"):
        await platform.start(Planner("idle", goals=[GOAL]))


@pytest.mark.parametrize("unpacked", [True, False])
async def test_a_handler_of_transitions_owns_every_step(platform: Platform, unpacked: bool) -> None:
    planner, seen = researcher(research()), list[Any]()

    @planner.on_transition()
    async def handle(transition: TransitionContext, context: PlatformContext) -> None:
        event = transition.event if unpacked else transition
        plan = await PlanContext.restore(event.correlation_id)
        assert plan is not None and plan.plan_id == transition.plan.plan_id
        seen.append((plan.current_state, event.event_type))
        plan.update_state(event)
        if plan.is_complete():
            await plan.finalize({"ways": len(seen)})
        elif plan.has_next():
            await plan.execute_next()

    await platform.start(planner, Web("failed", "found"), analyst())
    assert await (await platform.submit(GOAL, TOPIC)).result(timeout=PATIENCE) == {"ways": 3}
    assert seen == [
        ("searching", "web.search.failed"),
        ("retry_search", FOUND),
        ("analyzing", "content.analyze.completed"),
    ]


async def test_no_step_is_made_past_a_state_with_an_open_request(platform: Platform) -> None:
    planner, seen, steps = Planner("researcher"), list[Any](), list[str]()
    machine = {
        "start": {"action": {"event_type": SEARCH, "response_event": FOUND}, "default_next": "second"},
        "second": {
            "action": {"event_type": ANALYZE, "data": {"pages": "{results.start.pages}"}},
            "default_next": "done",
        },
        "done": {"is_terminal": True},
    }

    async def go_on(plan: PlanContext) -> None:
        for _ in range(3):
            await plan.execute_next()
            steps.append(plan.current_state)
        assert not plan.has_next()

    @planner.on_goal(GOAL)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await go_on(await PlanContext.create_from_goal(goal, context, state_machine=machine))

    @planner.on_transition()
    async def handle(transition: TransitionContext, context: PlatformContext) -> None:
        assert transition.plan.has_next()
        await go_on(transition.plan)
        if transition.plan.is_complete():
            await transition.plan.finalize({"ok": True})

    await platform.start(planner, Web("found"), analyst(seen))
    assert await (await platform.submit(GOAL, TOPIC)).result(timeout=PATIENCE) == {"ok": True}
    assert seen == [{"pages": [1, 2]}]
    assert list(dict.fromkeys(steps)) == ["start", "second", "done"]


async def test_a_dispatched_request_is_the_plans_first(platform: Platform) -> None:
    planner = Planner("single")

    @planner.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await goal.dispatch("payment.charge.requested", {"amount": goal.data["amount"]}, "payment.made")

    @planner.on_transition()
    async def told(transition: TransitionContext, context: PlatformContext) -> None:
        await transition.plan.finalize({transition.event_type: transition.data})

    plan = await order(platform, planner, payments(), amount=4)
    assert await plan.result(timeout=PATIENCE) == {"payment.made": {"charged": 4}}
    with pytest.raises(PlanFailed, match=r"\$.amount"):
        await (await platform.submit("order.received", {"amount": "x"})).result(timeout=PATIENCE)


@pytest.mark.parametrize("about", ["another.event", FOUND])
async def test_only_the_awaited_event_ends_a_question(platform: Platform, about: str) -> None:
    plan = await pursue(platform, GOAL, TOPIC, researcher(research()), Web("no_results", "found"), analyst())
    question = await the_wait(platform)
    for key in (question.wait_id, plan.plan_id):
        await platform.publish("action-results", about, {"success": True}, correlation_id=key, plan_id=plan.plan_id)
    await until(platform, lambda: _has_come(platform, about, 2))
    assert (await the_wait(platform)).wait_id == question.wait_id
    assert (await platform.plan(plan.plan_id)).current_state == "ask_user"


async def _has_come(platform: Platform, event_type: str, count: int) -> bool:
    rows = await platform.services.store.events.events(limit=100)
    came = sum(1 for row in rows if row.event.type == event_type and row.event.source == "client")
    return came == count and not await platform.services.store.queue.unsent(1)


async def test_the_limit_of_actions_holds_over_a_restart(path: Path, clock: VirtualClock) -> None:
    async with open_platform(path, clock) as first:
        await first.start(researcher(research(), max_actions=1), Web("no_results"), analyst())
        plan = await first.submit(GOAL, TOPIC)
        question = await the_wait(first)
    async with open_platform(path, clock) as second:
        await second.start(researcher(research(), max_actions=99), Web("found"), analyst())
        await second.answer(question.wait_id, {"details": "x"})
        with pytest.raises(PlanFailed, match="limit_exceeded: max_actions"):
            await (await second.follow(plan.plan_id)).result(timeout=PATIENCE)
