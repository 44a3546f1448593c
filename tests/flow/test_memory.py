"""Working memory of plans: its values are not lost, and others do not see them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kit import PATIENCE, as_time_passes, order, planner, published_events, pursue, stock, until, wait_for_end

from soorma_ai import (
    ChoreographyPlanner,
    GoalContext,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    TransitionContext,
    Worker,
)
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.decisions import CompleteAction, PlannerDecision, PublishAction
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

Work = Callable[[InvocationContext, PlatformContext], Awaitable[Any]]


def tool_of(work: Work, event_type: str = "work.requested", name: str = "hands") -> Tool:
    tool = Tool(name)

    @tool.on_invoke(event_type)
    async def handle(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"got": await work(request, context)}

    return tool


def fan_out_planner(count: int) -> ChoreographyPlanner:
    """A planner: asks for all at once, and completes at the last answer."""
    minds = planner([], goals=[])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        for n in range(count):
            action = PublishAction(event_type="work.requested", data={"n": n})
            await minds.execute_decision(PlannerDecision(next_action=action), context)

    @minds.on_transition()
    async def join(transition: TransitionContext, context: PlatformContext) -> None:
        await context.memory.increment("replies")
        if await context.memory.retrieve("replies") == count:
            done = PlannerDecision(next_action=CompleteAction(result={"all": True}))
            await minds.execute_decision(done, context)

    return minds


async def run(platform: Platform, work: Work, count: int = 1) -> tuple[str, Any]:
    plan = await order(platform, fan_out_planner(count), tool_of(work))
    found = await wait_for_end(platform, plan.plan_id)
    assert found.status == "completed"
    replied = [step for step in found.steps if step.kind == "replied"]
    return plan.plan_id, [step.data["got"] for step in replied]


async def test_ten_increments_at_once_make_ten_without_a_conflict(platform: Platform) -> None:
    attempts: list[int] = []
    together = asyncio.Event()

    async def work(request: InvocationContext, context: PlatformContext) -> None:
        attempts.append(request.attempt)
        await context.memory.increment("count")
        await context.memory.append("seen", request.data["n"])
        if len(attempts) == 10:
            together.set()
        await together.wait()

    plan_id, _ = await run(platform, work, 10)
    assert attempts == [1] * 10
    assert await platform.memory.retrieve("count", plan_id) == 10
    assert sorted(await platform.memory.retrieve("seen", plan_id)) == list(range(10))
    assert await platform.memory.keys(plan_id) == ["count", "replies", "seen"]


async def test_a_handler_runs_again_when_another_stores_the_value_it_read(
    platform: Platform, clock: VirtualClock
) -> None:
    attempts: list[int] = []
    together = asyncio.Event()

    async def work(request: InvocationContext, context: PlatformContext) -> None:
        before = await context.memory.retrieve("count") or 0
        attempts.append(before)
        if len(attempts) == 10:
            together.set()
        await together.wait()
        await context.memory.store("count", before + 1)

    running = asyncio.ensure_future(run(platform, work, 10))

    async def is_over() -> bool:
        return running.done()

    await as_time_passes(clock, is_over)
    plan_id, _ = await running
    assert await platform.memory.retrieve("count", plan_id) == 10
    assert attempts[:10] == [0] * 10, "they all read nothing, and one of them was right"
    assert len(attempts) > 15, "far more often than a delivery that fails is handed over"


async def test_a_handler_sees_its_changes_at_once_and_others_see_them_after_its_commit(platform: Platform) -> None:
    seen: list[Any] = []

    async def work(request: InvocationContext, context: PlatformContext) -> None:
        memory = context.memory
        plan_id = context.handling.event.plan_id or ""
        await memory.store("a", {"n": [1]})
        (await memory.retrieve("a"))["n"].append("not stored")
        await memory.append("list", 1)
        await memory.increment("number", 2)
        seen.append([await memory.retrieve(key) for key in ("a", "list", "number", "nothing")])
        seen.append((await memory.keys(), await context.handling.services.store.memory.memory_keys("default", plan_id)))
        seen.append((await memory.delete("a"), await memory.delete("a"), await memory.retrieve("a")))
        await memory.append("list", 2)
        seen.append((await memory.retrieve("list"), await memory.keys()))

    plan_id, _ = await run(platform, work)
    assert seen == [
        [{"n": [1]}, [1], 2, None],
        (["a", "list", "number"], []),
        (True, False, None),
        ([1, 2], ["list", "number"]),
    ]
    assert await platform.memory.retrieve("list", plan_id) == [1, 2]


async def test_no_call_finds_a_plan_of_another_tenant(platform: Platform) -> None:
    told: list[str] = []

    async def work(request: InvocationContext, context: PlatformContext) -> None:
        plan_id = str(request.data["plan_id"])
        for call in (
            context.memory.retrieve("k", plan_id),
            context.memory.store("k", 1, plan_id),
            context.memory.increment("k", plan_id=plan_id),
            context.memory.append("k", 1, plan_id),
            context.memory.delete("k", plan_id),
            context.memory.keys(plan_id),
        ):
            with pytest.raises(NotFound) as refused:
                await call
            told.append(str(refused.value))
        assert await context.memory.get_plan_context(plan_id) is None
        assert await context.memory.get_plan_by_correlation(plan_id) is None
        with pytest.raises(LocalProtocolError, match="belongs to no plan"):
            await context.memory.store("k", 1)

    plan_id, _ = await run(platform, lambda request, context: context.memory.store("k", "ours"))
    other = platform.as_user(tenant_id="other", user_id="eve")
    await platform.start(tool_of(work, "spying.requested", "spy"))
    reply = await other.request("spying.requested", {"plan_id": plan_id}, timeout=PATIENCE)
    assert reply["success"] is True, reply
    assert len(told) == 6
    for call in (other.memory.retrieve("k", plan_id), other.memory.keys(plan_id), other.memory.store("k", 1, plan_id)):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(NotFound):
        await other.memory.cleanup(plan_id)
    assert await platform.memory.retrieve("k", plan_id) == "ours"


async def test_inside_and_outside_a_handler_memory_is_called_alike(platform: Platform) -> None:
    async def count(memory: Any, plan_id: str | None) -> None:
        await memory.store("number", 1, plan_id)
        await memory.increment("number", 2, plan_id)
        await memory.append("list", "x", plan_id)

    plan_id, _ = await run(platform, lambda request, context: count(context.memory, context.lineage.plan_id))
    memory = platform.memory
    assert await memory.everything(plan_id) == {"number": 3, "list": ["x"], "replies": 1}
    assert (await memory.cleanup(plan_id), await memory.cleanup(plan_id)) == (3, 0)
    await count(memory, plan_id)
    assert await memory.everything(plan_id) == {"number": 3, "list": ["x"]}
    assert (await memory.delete("number", plan_id), await memory.delete("number", plan_id)) == (True, False)
    with pytest.raises(LocalProtocolError):
        await memory.increment("number", True, plan_id)


# Tasks and plans


def clerk(look: Callable[[TaskContext, PlatformContext], Awaitable[None]]) -> Worker:
    worker = Worker("clerk")

    @worker.on_task("task.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("work.requested", {"n": 1}, "work.done")
        await look(task, context)

    @worker.on_result("work.done")
    async def finish(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        await look(task, context)
        await task.complete({"state": task.state})
        assert await context.memory.get_task_context(task.task_id) is None

    return worker


async def test_a_task_is_found_by_its_id_and_by_its_sub_tasks(platform: Platform) -> None:
    seen: list[Any] = []

    async def look(task: TaskContext, context: PlatformContext) -> None:
        (sub_task_id,) = task.sub_tasks
        await context.memory.store_task_context(task.task_id, task.plan_id, {"looked": len(seen)})
        seen.append(await context.memory.get_task_context(task.task_id))
        assert await context.memory.get_task_by_subtask(sub_task_id) == seen[-1]

    async def work(request: InvocationContext, context: PlatformContext) -> None:
        task = await context.memory.get_task_by_subtask(request.request_id)
        assert task is not None
        assert task == await context.memory.get_task_context(str(task["task_id"]))
        seen.append(task)
        for call in (
            context.memory.store_task_context(str(task["task_id"]), None, {"mine": True}),
            context.memory.delete_task_context(str(task["task_id"])),
        ):
            with pytest.raises(LocalProtocolError):
                await call
        assert await context.memory.get_task_context("nobody") is None
        assert await context.memory.get_task_by_subtask("nobody") is None
        assert await context.memory.delete_task_context("nobody") is False
        plan = await context.memory.get_plan_by_correlation(request.request_id)
        assert plan is not None and plan["plan_id"] == context.handling.event.plan_id

    await platform.start(planner([publish("task.requested", x=1), complete({})]), clerk(look), tool_of(work))
    plan = await platform.submit("order.received", {}, session_id="s-1")
    found = await wait_for_end(platform, plan.plan_id)
    (replied,) = [step for step in found.steps if step.kind == "replied"]
    assert replied.data == {"state": {"looked": 2}}
    begun, stored, resumed = seen
    assert (begun["event_type"], begun["data"], begun["state"]) == ("task.requested", {"x": 1}, {"looked": 0})
    assert (stored["plan_id"], stored["session_id"], stored["agent_id"]) == (plan.plan_id, "s-1", "clerk")
    assert [part["status"] for part in stored["sub_tasks"].values()] == ["pending"]
    assert [part["status"] for part in resumed["sub_tasks"].values()] == ["completed"]


async def test_a_task_of_another_tenant_is_not_found(platform: Platform) -> None:
    async def look(task: TaskContext, context: PlatformContext) -> None: ...

    await platform.start(clerk(look))
    task_id = await platform.publish("action-requests", "task.requested", {})
    store = platform.services.store
    await until(platform, lambda: store.plans.task("clerk", task_id))
    (sub_task,) = await store.plans.sub_tasks("clerk", task_id)
    found: list[Any] = []

    async def work(request: InvocationContext, context: PlatformContext) -> None:
        found.append(await context.memory.get_task_context(task_id))
        found.append(await context.memory.get_task_by_subtask(sub_task.sub_task_id))

    await platform.start(tool_of(work, "look.requested"))
    for client in (platform, platform.as_user(tenant_id="other", user_id="eve")):
        await client.request("look.requested", {}, timeout=PATIENCE)
    assert [one is None for one in found] == [False, False, True, True]


async def test_a_plan_is_found_by_its_requests_and_by_its_goal(platform: Platform) -> None:
    seen: list[Any] = []
    minds = planner([], goals=[])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        memory = context.memory
        made = await memory.create_plan(goal.event_type, goal.data, session_id=goal.session_id)
        assert await memory.store_plan_context(made.plan_id, "s-1", {"step": 1, "list": []})
        seen.append(await memory.get_plan_context(made.plan_id))
        for call in (
            memory.store_plan_context("another", None, {}),
            memory.store_plan_context(made.plan_id, "s-2", {}),
            memory.create_plan("other.goal", {}),
        ):
            with pytest.raises(LocalProtocolError):
                await call
        action = PublishAction(event_type="work.requested", data={})
        await minds.execute_decision(PlannerDecision(next_action=action), context)

    async def work(request: InvocationContext, context: PlatformContext) -> str:
        by_step = await context.memory.get_plan_by_correlation(request.correlation_id)
        assert by_step is not None
        by_goal = await context.memory.get_plan_by_correlation(str(by_step["correlation_id"]))
        assert by_step == by_goal == await context.memory.get_plan_context(str(by_step["plan_id"]))
        assert await context.memory.get_plan_by_correlation("nobody") is None
        with pytest.raises(LocalProtocolError, match=r"bus\.request"):
            await context.memory.create_plan("order.received", {})
        seen.append(by_step)
        seen.append([one.plan_id for one in await context.memory.list_plans("active", "s-1")])
        return "ok"

    plan = await pursue(platform, "order.received", {"a": 1}, minds, tool_of(work), session_id="s-1")
    await until(platform, lambda: published_events(platform, topic="action-results"))
    begun, running, listed = seen
    assert begun["plan_id"] == running["plan_id"] == plan.plan_id and listed == [plan.plan_id]
    assert (running["status"], running["goal_data"]) == ("running", {"a": 1})
    assert begun["state"] == running["state"] == {"step": 1, "list": []}


# Sessions


async def test_a_session_is_made_by_hand_or_by_its_first_plan(platform: Platform) -> None:
    await platform.start(planner([complete({})] * 3), stock())
    made = await platform.create_session("Trip", {"to": "Rome"})
    for session_id in (made.session_id, made.session_id, "chat"):
        plan = await platform.submit("order.received", {}, session_id=session_id)
        await plan.result(timeout=PATIENCE)
    sessions = {one.session_id: one for one in await platform.sessions()}
    assert {name: one.plan_count for name, one in sessions.items()} == {made.session_id: 2, "chat": 1}
    assert sessions[made.session_id].name == "Trip"
    found = await platform.plans(session_id=made.session_id, status="completed")
    assert [one.lineage.session_id for one in found] == [made.session_id] * 2
    assert await platform.plans(session_id=made.session_id, status="active") == []
    assert (await platform.create_session(session_id="chat", name="Chat")).plan_count == 1
    other = platform.as_user(tenant_id="other", user_id="eve")
    assert await other.sessions() == [] == await other.plans(session_id="chat")


async def test_a_session_made_in_a_handler_is_there_when_it_is_done(platform: Platform) -> None:
    async def work(request: InvocationContext, context: PlatformContext) -> str:
        made = await context.memory.create_session("Trip")
        assert made in await context.memory.list_sessions()
        assert await platform.sessions() == []
        return made.session_id

    _, (session_id,) = await run(platform, work)
    (found,) = await platform.sessions()
    assert (found.session_id, found.name, found.plan_count, found.user_id) == (session_id, "Trip", 0, "local")
