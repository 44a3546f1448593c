"""Circles stop: agents that set each other off are bounded, in plans and outside of them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from circles import (
    MOST_IN_A_CIRCLE,
    answers_by_asking,
    count,
    echo,
    has_letter,
    ping_pong,
    planner_and_worker,
    repeats,
    request_result,
)
from kit import PATIENCE, as_time_passes, is_idle, planner, until, wait_for_end

from soorma_ai import (
    Agent,
    DelegationSpec,
    InvocationContext,
    Limits,
    PlanFailed,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish


async def wait_for_letter(platform: Platform, clock: VirtualClock, limit: str) -> None:
    """Wait for a dead letter with the limit, and for the end of all work. Handlers pause after a conflict over the last
    events."""
    await until(platform, lambda: has_letter(platform, limit))
    await as_time_passes(clock, lambda: is_idle(platform))


async def test_workers_in_a_delegation_circle_are_stopped_and_the_asker_gets_max_nesting(platform: Platform) -> None:
    await platform.start(*ping_pong())
    answer = await request_result(platform, "ping.requested")
    assert answer["success"] is False
    assert "limit_exceeded: max_nesting" in answer["error"]["message"]
    assert await count(platform) < MOST_IN_A_CIRCLE


async def test_an_asker_gets_the_code_of_a_tripped_limit(path: Path, clock: VirtualClock) -> None:
    """Without a level left, a worker may do a task, and send no request."""
    async with limited_platform(path, clock, Limits(max_nesting=0)) as platform:
        await platform.start(*ping_pong())
        answer = await request_result(platform, "ping.requested")
    assert answer["error"]["code"] == "limit_exceeded"


async def test_facts_in_a_circle_are_stopped_and_lie_with_the_dead_letters(
    platform: Platform, clock: VirtualClock
) -> None:
    await platform.start(repeats("tick", "tock.came", "tick.came"), repeats("tock", "tick.came", "tock.came"))
    await platform.publish("business-facts", "tick.came", {})
    await wait_for_letter(platform, clock, "max_hops")
    assert await count(platform) == 65


@pytest.mark.parametrize("publishes", [0, 1])
async def test_an_agent_with_a_request_for_every_answer_is_stopped(
    platform: Platform, clock: VirtualClock, publishes: int
) -> None:
    await platform.start(answers_by_asking("again", "echo.done", "echo.requested"), echo(publishes))
    await platform.publish("business-facts", "round.begun", {})
    await wait_for_letter(platform, clock, "max_hops")
    assert await count(platform) <= MOST_IN_A_CIRCLE * (1 + publishes)


async def test_facts_and_requests_in_one_circle_are_stopped(platform: Platform) -> None:
    loud = Agent("loud")

    @loud.on_event("echo.said", topic="business-facts")
    async def ask(event: EventEnvelope, context: PlatformContext) -> None:
        await context.bus.request("echo.requested", {}, "nobody.hears")

    await platform.start(loud, echo(1))
    await request_result(platform, "echo.requested")
    await until(platform, lambda: has_letter(platform, "max_nesting"))
    await until(platform, lambda: is_idle(platform))
    assert await count(platform) <= MOST_IN_A_CIRCLE


async def test_planners_and_workers_in_a_circle_are_stopped(platform: Platform) -> None:
    await platform.start(*planner_and_worker())
    plan = await platform.submit("order.received", {})
    with pytest.raises(PlanFailed):
        await plan.result(timeout=PATIENCE)
    await until(platform, lambda: is_idle(platform))
    assert await count(platform) <= MOST_IN_A_CIRCLE


async def test_a_circle_within_a_plan_is_a_failed_step_of_the_plan(platform: Platform) -> None:
    minds = planner(
        [publish("ping.requested"), complete({"ok": True})],
        limits=Limits(max_actions=5, max_depth=3, max_parallel=4, max_nesting=4),
    )
    await platform.start(minds, *ping_pong())
    plan = await platform.submit("order.received", {})
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    assert await count(platform) < 20
    steps = (await platform.plan(plan.plan_id)).steps
    assert any("limit_exceeded: max_nesting" in str(step) for step in steps)


async def test_a_doubling_circle_makes_no_more_than_max_events(path: Path, clock: VirtualClock) -> None:
    async with limited_platform(path, clock, Limits(max_events=500)) as platform:
        await platform.start(repeats("twice", "twice.came", "twice.came", times=2))
        await platform.publish("business-facts", "twice.came", {})
        await wait_for_letter(platform, clock, "max_events")
        assert 300 <= await count(platform) <= 501


async def test_listeners_of_a_repeated_fact_share_its_remaining_events(path: Path, clock: VirtualClock) -> None:
    async with limited_platform(path, clock, Limits(max_events=500)) as platform:
        await platform.start(*(repeats(f"ear-{n}", "heard.came", "heard.came") for n in range(3)))
        await platform.publish("business-facts", "heard.came", {})
        await wait_for_letter(platform, clock, "max_events")
        assert 300 <= await count(platform) <= 501


async def test_a_plans_own_limit_on_events_holds_for_its_workers(platform: Platform, clock: VirtualClock) -> None:
    minds = planner([publish("twice.requested"), complete({"ok": True})], limits=Limits(max_events=200))
    tool = Tool("starter")

    @tool.on_invoke("twice.requested")
    async def start(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await context.bus.announce("twice.came", {})
        return {}

    await platform.start(minds, tool, repeats("twice", "twice.came", "twice.came", times=2))
    plan = await platform.submit("order.received", {})
    await wait_for_end(platform, plan.plan_id)
    await wait_for_letter(platform, clock, "max_events")
    assert 100 <= await count(platform) <= 202


@asynccontextmanager
async def limited_platform(path: Path, clock: VirtualClock, limits: Limits) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{path}", clock=clock, limits=limits) as platform:
        yield platform


async def test_a_chain_of_60_facts_comes_to_its_end(platform: Platform) -> None:
    agent, last = Agent("chain"), list[int]()

    @agent.on_event("link.came", topic="business-facts")
    async def pass_on(event: EventEnvelope, context: PlatformContext) -> None:
        last.append(len(last))
        if len(last) <= 60:
            await context.bus.announce("link.came", {"n": len(last)})

    await platform.start(agent)
    await platform.publish("business-facts", "link.came", {})
    await until(platform, lambda: len(last) == 61)
    assert await platform.dead_letters() == []


async def test_a_task_of_500_requests_one_after_the_other_draws_on_no_limit(platform: Platform) -> None:
    worker = Worker("long")

    @worker.on_task("long.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        task.state["n"] = 0
        await task.delegate("echo.requested", {}, "echo.done")

    @worker.on_result("echo.done")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        task.state["n"] += 1
        if task.state["n"] == 500:
            await task.complete({"n": 500})
        else:
            await task.delegate("echo.requested", {}, "echo.done")

    await platform.start(worker, echo(1))
    answer = await request_result(platform, "long.requested")
    assert answer["result"] == {"n": 500}


@pytest.mark.timeout(300)  # Thousands of events, each through a server.
async def test_a_fan_out_of_1000_parts_with_a_few_events_each_comes_together(platform: Platform) -> None:
    wide, part = Worker("wide"), Worker("part")

    @wide.on_task("wide.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        specs = [DelegationSpec("part.requested", {"n": n}, "part.done") for n in range(1000)]
        task.state["group"] = await task.delegate_parallel(specs)

    @wide.on_result("part.done")
    async def collect(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if results := await task.aggregate_parallel_results(task.state["group"]):
            await task.complete({"parts": len(results)})

    @part.on_task("part.requested")
    async def work(task: TaskContext, context: PlatformContext) -> None:
        await context.bus.announce("part.begun", {"n": task.data["n"]})
        await task.delegate("echo.requested", {}, "echo.done")

    @part.on_result("echo.done")
    async def done(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({})

    await platform.start(wide, part, echo(1))
    answer = await request_result(platform, "wide.requested")
    assert answer["result"] == {"parts": 1000}


async def test_a_handler_publishes_at_most_5000_events_and_else_its_asker_gets_an_error(platform: Platform) -> None:
    tool = Tool("flood")

    @tool.on_invoke("flood.requested")
    async def flood(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        for number in range(20_000):
            await context.bus.announce("flood.came", {"n": number})
        return {}

    await platform.start(tool)
    answer = await request_result(platform, "flood.requested")
    assert answer["error"]["code"] == "limit_exceeded"
    assert "events_per_handling" in answer["error"]["message"]
    assert await count(platform) == 2


async def test_a_result_of_30_megabytes_is_refused_before_the_transaction(platform: Platform) -> None:
    tool = Tool("big")

    @tool.on_invoke("big.requested")
    async def big(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"x": "y" * 30_000_000}

    await platform.start(tool)
    answer = await request_result(platform, "big.requested")
    assert "limit_exceeded: max_event_bytes" in answer["error"]["message"]
