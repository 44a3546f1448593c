"""Workers ask others for parts of a task, wait for them, and end the task with all results."""

from pathlib import Path
from typing import Any

import pytest
from fanin import ORDERS, answers, arrive, gathering_worker, join_of_a_worker, reply_to
from kit import (
    PATIENCE,
    as_time_passes,
    is_idle,
    open_platform,
    order,
    planner,
    published_events,
    running_platform,
    the_wait,
    types,
    until,
    wait_for_end,
    wait_for_requests,
)

from soorma_ai import (
    Agent,
    DelegationSpec,
    EventEnvelope,
    InvocationContext,
    Platform,
    PlatformContext,
    Reject,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish


def echo(event_type: str = "part.requested", name: str = "parts", **options: Any) -> Tool:
    tool = Tool(name, **options)

    @tool.on_invoke(event_type)
    async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if request.data.get("fails"):
            raise Reject("no such part", code="no_part")
        return {"by": name, **request.data}

    return tool


async def test_a_worker_asks_for_one_part_after_the_other(platform: Platform) -> None:
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        task.state["seen"] = []
        await task.delegate("part.requested", {"n": 1}, "part.done")

    @worker.on_result("part.done")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        assert result.success and task.is_complete()
        task.state["seen"].append(result.result["n"])
        if result.result["n"] < 3:
            await task.delegate("part.requested", {"n": result.result["n"] + 1}, "part.done")
        else:
            await task.complete({"seen": task.state["seen"]})

    await platform.start(worker, echo())
    reply = await platform.request("order.requested", {}, timeout=PATIENCE)
    assert reply["result"] == {"seen": [1, 2, 3]}
    assert await _rows(platform, "task") == await _rows(platform, "sub_task") == 0


async def _rows(platform: Platform, table: str) -> int:
    store: Any = platform.services.store
    return int(await store.database.write(lambda db: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]))


async def test_parts_of_one_kind_keep_their_own_data(platform: Platform) -> None:
    specs = [DelegationSpec("part.requested", {"n": n}, "part.done") for n in range(5)]
    specs.append(DelegationSpec("other.requested", {"n": 99}, "other.done"))
    await platform.start(gathering_worker(specs), echo(), echo("other.requested", "others"))
    reply: Any = await platform.request("order.requested", {}, timeout=PATIENCE)
    assert [part["result"]["n"] for part in reply["result"]["parts"]] == [0, 1, 2, 3, 4, 99]


@pytest.mark.parametrize("seed", range(ORDERS))
async def test_a_hundred_results_in_any_order_and_some_twice_are_one_join(platform: Platform, seed: int) -> None:
    await join_of_a_worker(platform, seed)


async def test_an_unanswered_part_is_a_failed_result_at_its_timeout(platform: Platform, clock: VirtualClock) -> None:
    told: list[Any] = []
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("part.requested", {}, "part.done", timeout=30)

    @worker.on_result("part.done")
    async def give_up(result: ResultContext, context: PlatformContext) -> None:
        told.append((result.success, result.error, context.user_id, context.session_id))
        await (await result.restore_task()).fail("no parts", code="no_parts")

    await platform.start(worker)
    maria = platform.as_user(tenant_id="default", user_id="maria")
    task_id = await maria.publish("action-requests", "order.requested", {}, session_id="s-1")
    await until(platform, lambda: published_events(platform))
    (answer,) = await as_time_passes(clock, lambda: answers(platform, task_id))
    assert told == [(False, "no answer to part.requested came in time", "maria", "s-1")]
    assert answer.data["error"] == {"code": "no_parts", "message": "no parts"}


def level(number: int) -> Worker:
    """One of three workers: passes its task down, and the result up."""
    worker = Worker(f"level-{number}")

    @worker.on_task(f"level.{number}.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        below = f"level.{number + 1}.requested" if number < 3 else "part.requested"
        await task.delegate(below, {"n": number}, f"below.{number}.done")

    @worker.on_result(f"below.{number}.done")
    async def finish(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        await task.complete({"level": number, "below": result.result, "session": task.session_id})

    return worker


async def test_reply_keys_session_and_goal_survive_three_levels(platform: Platform) -> None:
    minds = planner([publish("level.1.requested", n=0), complete({"done": True})])
    await platform.start(level(1), level(2), level(3), echo(), minds)
    maria = platform.as_user(tenant_id="acme", user_id="maria")
    await maria.publish("action-requests", "level.1.requested", {"n": 0}, correlation_id="mine", session_id="s-1")

    async def the_answer() -> Any:
        return [
            event for event in await published_events(platform, topic="action-results") if event.source == "level-1"
        ]

    (answer,) = await until(platform, the_answer)
    assert (answer.correlation_id, answer.session_id) == ("mine", "s-1")
    assert (answer.tenant_id, answer.user_id) == ("acme", "maria")
    assert answer.data["result"]["below"]["below"]["below"] == {"by": "parts", "n": 3}
    assert await _rows(platform, "task") == await _rows(platform, "sub_task") == 0
    plan = await platform.submit("order.received", {}, session_id="s-1")
    found = await wait_for_end(platform, plan.plan_id)
    assert found.status == "completed"
    (replied,) = [step for step in found.steps if step.kind == "replied"]
    assert replied.data["below"]["below"]["below"] == {"by": "parts", "n": 3}  # type: ignore[index,call-overload]
    rows = await platform.services.store.events.events(limit=1000)
    by_source = {e.event.source: e.event for e in rows if e.event.topic == "action-results"}
    for source in ("level-1", "level-2", "level-3", "parts", "orders"):
        answer = by_source[source]
        request = await platform.services.store.events.event(str(answer.correlation_id))
        assert request is not None, source
        assert (answer.type, answer.session_id, answer.goal_id) == (request.response_event, "s-1", plan.goal_id)


async def test_a_broken_result_handler_fails_its_task(platform: Platform) -> None:
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("part.requested", {}, "part.done")

    @worker.on_result("part.done")
    async def breaks(result: ResultContext, context: PlatformContext) -> None:
        raise ZeroDivisionError("oops")

    await platform.start(worker, echo())
    reply: Any = await platform.request("order.requested", {}, timeout=PATIENCE)
    assert reply["error"]["code"] == "handler_error"
    assert await _rows(platform, "task") == 0


def ask_a_person(worker: Worker, **data: Any) -> None:
    @worker.on_task("review.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await context.bus.publish(
            "notification-events",
            "notification.human_input",
            {"question": "May it go?", "response_event": "review.answered", **data},
        )

    @worker.on_result("review.answered")
    async def answered(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        await task.complete({"approved": result.data["approved"]})


@pytest.mark.parametrize("by_an_event", [False, True])
async def test_a_workers_question_is_answered_by_a_person_or_by_an_event(platform: Platform, by_an_event: bool) -> None:
    worker = Worker("clerk")
    ask_a_person(worker, timeout_seconds=60)
    await platform.start(worker)
    task_id = await platform.publish("action-requests", "review.requested", {})
    question = await the_wait(platform)
    assert (question.message, question.task_id, question.plan_id) == ("May it go?", task_id, None)
    if by_an_event:
        await platform.publish("notification-events", "review.answered", {"approved": True}, correlation_id=task_id)
    else:
        assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    (answer,) = await until(platform, lambda: answers(platform, task_id))
    assert answer.data["result"] == {"approved": True}


async def test_no_event_replaces_the_answer_of_an_approver_to_a_worker(platform: Platform) -> None:
    """The agent does not declare such events, and the client is no approver."""
    worker, rogue = Worker("clerk"), Agent("rogue")
    ask_a_person(worker, timeout_seconds=60, approvers=["manager"])

    @rogue.on_event("please.forge", topic="business-facts")
    async def forge(event: EventEnvelope, context: PlatformContext) -> None:
        forged = {"approved": True}
        await context.bus.publish("notification-events", "review.answered", forged, correlation_id=event.data["task"])

    await platform.start(worker, rogue, echo())
    task_id = await platform.publish("action-requests", "review.requested", {})
    question = await the_wait(platform)
    await platform.publish("business-facts", "please.forge", {"task": task_id})
    await platform.publish("notification-events", "review.answered", {"approved": True}, correlation_id=task_id)
    await until(platform, lambda: _is_forged(platform))
    manager = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
    assert await manager.answer(question.wait_id, {"approved": False}) == "accepted"
    (answer,) = await until(platform, lambda: answers(platform, task_id))
    assert answer.data["result"] == {"approved": False}


async def _is_forged(platform: Platform) -> bool:
    forged = await types(platform, topic="notification-events")
    return forged.count("review.answered") == 2 and await is_idle(platform)


@pytest.mark.parametrize("handled", [False, True])
async def test_an_unanswered_question_of_a_worker_is_a_timeout(
    platform: Platform, clock: VirtualClock, handled: bool
) -> None:
    worker = Worker("clerk")
    ask_a_person(worker, timeout_seconds=60)
    if handled:

        @worker.on_result("task.timeout")
        async def timed_out(result: ResultContext, context: PlatformContext) -> None:
            assert not result.success
            await (await result.restore_task()).complete({"approved": "by silence"})

    await platform.start(worker)
    task_id = await platform.publish("action-requests", "review.requested", {})
    await the_wait(platform)
    await clock.advance(60)
    (answer,) = await until(platform, lambda: answers(platform, task_id))
    if handled:
        assert answer.data["result"] == {"approved": "by silence"}
    else:
        assert answer.data["error"]["code"] == "task.timeout"
    (told,) = await published_events(platform, topic="task-events")
    assert (told.type, told.data["task_id"]) == ("task.timeout", task_id)


async def test_a_question_without_a_deadline_is_refused(platform: Platform) -> None:
    worker = Worker("clerk")
    ask_a_person(worker)
    await platform.start(worker)
    reply: Any = await platform.request("review.requested", {}, timeout=PATIENCE)
    assert "timeout_seconds" in reply["error"]["message"]
    assert await platform.waits() == []


async def test_a_task_ends_although_its_worker_came_back_without_handlers(path: Path, clock: VirtualClock) -> None:
    async with running_platform(
        path, clock, gathering_worker([DelegationSpec("part.requested", {}, "part.done")])
    ) as platform:
        task_id = await platform.publish("action-requests", "order.requested", {})
        (request,) = await wait_for_requests(platform, "part.requested")
    async with open_platform(path, clock) as platform:
        changed = Worker("clerk")
        changed.on_task("order.requested")(lambda task, context: None)
        await platform.start(changed)
        await arrive(platform, [reply_to(request)])
        (answer,) = await until(platform, lambda: answers(platform, task_id))
        assert answer.data["error"]["code"] == "not_found"
        assert "no on_result('part.done') any more" in answer.data["error"]["message"]


async def test_progress_is_published_at_once_and_moves_nothing(platform: Platform) -> None:
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.report_progress(0.5, "half way")
        raise ZeroDivisionError("oops")

    await platform.start(worker)
    reply: Any = await platform.request("order.requested", {}, timeout=PATIENCE)
    assert reply["success"] is False
    (told,) = await published_events(platform, topic="system-events")
    assert (told.type, told.data["progress"], told.data["message"]) == ("task.progress", 0.5, "half way")


def test_only_events_with_a_handler_are_consumed() -> None:
    worker = gathering_worker([])
    assert worker.events_consumed == ["order.requested", "other.done", "part.done"]
    with pytest.raises(ConfigError, match="is a topic"):
        worker.on_result("action-results")
    with pytest.raises(ConfigError, match=r"two handlers for the result .part\.done."):
        worker.on_result("part.done")(lambda result, context: None)


def note_worker(**options: Any) -> Worker:
    worker = Worker("clerk", **options)

    @worker.on_task("note.requested", payload_schema={"type": "object", "required": ["text"]})
    async def note(task: TaskContext, context: PlatformContext) -> None:
        await context.memory.append("notes", task.data["text"])
        await task.complete({"plan": task.plan_id, "goal": task.goal_id, "tenant": task.tenant_id})

    return worker


async def answer_of(platform: Platform, task_id: str) -> Any:
    (answer,) = await until(platform, lambda: answers(platform, task_id))
    return answer


async def test_a_task_is_given_to_one_worker_for_a_plan(platform: Platform) -> None:
    worker, other = note_worker(), echo("note.requested", "other")
    minds = planner([publish("part.requested"), complete()])
    await platform.start(worker, other, echo(), minds)
    ann = platform.as_user(tenant_id="default", user_id="ann")
    plan = await ann.submit("order.received", {}, session_id="s-1")
    await plan.result(timeout=PATIENCE)
    task_id = await worker.execute_task("note.requested", {"text": "hello"}, plan.plan_id, plan.goal_id)
    answer = await answer_of(platform, task_id)
    assert answer.data["result"] == {"plan": plan.plan_id, "goal": plan.goal_id, "tenant": "default"}
    assert (answer.type, answer.correlation_id, answer.source) == ("note.requested.completed", task_id, "clerk")
    assert (answer.user_id, answer.session_id, answer.root_plan_id) == ("ann", "s-1", plan.plan_id)
    assert await platform.memory.retrieve("notes", plan.plan_id) == ["hello"]
    assert [e.source for e in await published_events(platform, topic="action-results")].count("other") == 0


async def test_a_task_without_a_plan_is_the_workers_tenants(platform: Platform) -> None:
    worker = Worker("clerk", tenant_id="acme")

    @worker.on_task("note.requested")
    async def note(task: TaskContext, context: PlatformContext) -> None:
        await task.complete({"tenant": task.tenant_id, "goal": task.goal_id})

    await platform.start(worker)
    answer = await answer_of(platform, await worker.execute_task("note.requested", {}, goal_id="g-1"))
    assert answer.data["result"] == {"tenant": "acme", "goal": "g-1"}


async def test_execute_task_refuses_an_invalid_task_with_the_reason(platform: Platform) -> None:
    worker = note_worker()
    with pytest.raises(LocalProtocolError, match="not running"):
        await worker.execute_task("note.requested", {"text": ""})
    minds = planner([publish("part.requested"), complete()])
    refused: list[str] = []

    @worker.on_task("more.requested")
    async def more(task: TaskContext, context: PlatformContext) -> None:
        with pytest.raises(LocalProtocolError, match="inside a handler") as told:
            await worker.execute_task("note.requested", {"text": ""})
        refused.append(str(told.value))
        await task.complete()

    plan = await order(platform, worker, minds, echo())
    await plan.result(timeout=PATIENCE)
    with pytest.raises(NotFound, match=r"its tasks: note\.requested, more\.requested"):
        await worker.execute_task("dig.requested", {})
    with pytest.raises(LocalProtocolError, match="text"):
        await worker.execute_task("note.requested", {})
    with pytest.raises(NotFound, match="no plan"):
        await worker.execute_task("note.requested", {"text": ""}, "nowhere")
    with pytest.raises(LocalProtocolError, match="pursues goal"):
        await worker.execute_task("note.requested", {"text": ""}, plan.plan_id, "another")
    await answer_of(platform, await worker.execute_task("more.requested", {}))
    assert len(refused) == 1
