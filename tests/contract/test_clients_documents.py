"""The printed methods of memory, for each way to reach a platform."""

from typing import Any

import pytest
from kit import sleeps, until

from soorma_ai import (
    ChoreographyPlanner,
    InvocationContext,
    LocalProtocolError,
    NotFound,
    PlanCancelled,
    Platform,
    PlatformClient,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import IllegalTransition
from soorma_ai.testing.scripted import ScriptedReasoner, complete, wait

ANSWERED = "shop.answered"
PATIENCE = 60.0


def orders(*script: Any) -> ChoreographyPlanner:
    waits = [wait("user.replied")] * 10
    return ChoreographyPlanner(
        "orders",
        goals=["order.received"],
        reasoner=ScriptedReasoner(list(script) or waits),
        external_events=["user.replied"],
    )


def clerk() -> Worker:
    worker = Worker("clerk")

    @worker.on_task("order.pack.requested")
    async def pack(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("box.find.requested", {}, "box.found")

    @worker.on_result("box.found")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        await task.complete({"state": task.state})

    return worker


def boxes() -> Tool:
    tool = Tool("boxes")

    @tool.on_invoke("box.find.requested")
    async def find(request: InvocationContext, context: PlatformContext) -> dict[str, int]:
        return {"size": 3}

    return tool


async def test_create_plan_submits_a_goal_with_its_answer_and_its_session(
    platform: Platform, client: PlatformClient
) -> None:
    await platform.start(orders(complete({"done": True})))
    made = await client.memory.create_plan("order.received", {"n": 1}, ANSWERED, "talk", idempotency_key="click")
    assert (made.goal_event, made.session_id) == ("order.received", "talk")
    plan = await client.follow(made.plan_id) if made.status != "pending" else await platform.follow(made.plan_id)
    assert await plan.result(timeout=PATIENCE) == {"done": True}
    found = [event async for event in plan.events() if event.type == ANSWERED]
    assert [event.data["result"] for event in found] == [{"done": True}]
    again = await client.memory.create_plan("order.received", {"n": 1}, ANSWERED, "talk", idempotency_key="click")
    assert (again.plan_id, again.status) == (made.plan_id, "completed")
    with pytest.raises(NotFound):
        await client.memory.create_plan("unknown.goal", {})


async def test_create_plan_refuses_an_answer_with_a_name_of_the_platform(
    platform: Platform, client: PlatformClient
) -> None:
    await platform.start(orders())
    with pytest.raises(LocalProtocolError):
        await client.memory.create_plan("order.received", {}, "notification.human_input")


async def test_a_child_plan_is_cancelled_with_its_parent(platform: Platform, client: PlatformClient) -> None:
    await platform.start(orders())
    parent = await client.submit("order.received", {"n": 1}, session_id="talk")
    await parent.next_wait(timeout=PATIENCE)
    made = await client.memory.create_plan("order.received", {"n": 2}, parent_plan_id=parent.plan_id)
    assert made.session_id == "talk"
    child = await platform.follow(made.plan_id)
    await sleeps(platform, child.plan_id)
    shown = await client.plan(child.plan_id)
    assert (shown.parent_plan_id, shown.root_plan_id) == (parent.plan_id, parent.plan_id)
    with pytest.raises(LocalProtocolError):
        await client.memory.create_plan("order.received", {}, None, "another", parent.plan_id)
    await parent.cancel("changed")
    with pytest.raises(PlanCancelled):
        await child.result(timeout=PATIENCE)
    with pytest.raises(IllegalTransition):
        await client.submit("order.received", {}, parent_plan_id=parent.plan_id)
    with pytest.raises(NotFound):
        await client.submit("order.received", {}, parent_plan_id="nobody")


async def test_plans_and_sessions_are_made_and_listed_under_the_printed_names(
    platform: Platform, client: PlatformClient
) -> None:
    memory = client.memory
    await platform.start(orders())
    talk = await memory.create_session("talk", {"topic": "boxes"})
    made = [await memory.create_plan("order.received", {"n": n}, session_id=talk.session_id) for n in range(3)]
    for one in made:
        await (await platform.follow(one.plan_id)).next_wait(timeout=PATIENCE)
    found = await memory.list_plans(session_id=talk.session_id)
    assert [one.plan_id for one in found] == [one.plan_id for one in reversed(made)]
    assert len(await memory.list_plans("active", limit=2)) == 2
    assert await memory.list_plans("completed") == []
    [session] = await memory.list_sessions()
    assert (session.session_id, session.name, session.plan_count) == (talk.session_id, "talk", 3)


async def test_store_returns_true(platform: Platform, client: PlatformClient) -> None:
    await platform.start(orders())
    plan = await client.submit("order.received", {})
    await plan.next_wait(timeout=PATIENCE)
    assert await client.memory.store("size", 3, plan.plan_id) is True
    assert await client.memory.store_plan_context(plan.plan_id, None, {"colour": "red"}) is True
    assert await client.memory.everything(plan.plan_id) == {"size": 3, "colour": "red"}


async def test_the_state_of_a_task_is_written_from_outside_and_seen_by_its_worker(
    platform: Platform, client: PlatformClient
) -> None:
    memory = client.memory
    await platform.start(clerk())
    task_id = await client.ask("order.pack.requested", {})
    await until(platform, lambda: platform.services.store.plans.agents_of_task(task_id))
    assert await memory.store_task_context(task_id, None, {"size": 3}) is True
    assert await memory.store_task_context(task_id, None, {"colour": "red"}) is True
    assert (await memory.get_task_context(task_id))["state"] == {"size": 3, "colour": "red"}
    with pytest.raises(LocalProtocolError):
        await memory.store_task_context(task_id, "another", {})
    with pytest.raises(IllegalTransition):
        await memory.delete_task_context(task_id)
    await platform.start(boxes())
    reply = await client.reply(task_id, timeout=PATIENCE)
    assert reply["result"] == {"state": {"size": 3, "colour": "red"}}
    assert await memory.delete_task_context(task_id) is False
    with pytest.raises(NotFound):
        await memory.store_task_context(task_id, None, {})


async def test_the_state_of_another_users_task_is_not_found(platform: Platform) -> None:
    await platform.start(clerk())
    task_id = await platform.ask("order.pack.requested", {})
    eve = platform.as_user(tenant_id="default", user_id="eve").memory
    await until(platform, lambda: platform.services.store.plans.agents_of_task(task_id))
    with pytest.raises(NotFound):
        await eve.store_task_context(task_id, None, {"mine": True})
    with pytest.raises(NotFound):
        await eve.delete_task_context(task_id)
