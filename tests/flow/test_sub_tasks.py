"""Sub-tasks of a task: counted at their arrival, read on access, joined when all have come."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fanin import PART, answers, arrive, register_parts, reply_to
from kit import is_idle, kill_platform, open_platform, until, wait_for_requests

from soorma_ai import (
    Approval,
    DelegationSpec,
    InvocationContext,
    Platform,
    PlatformContext,
    Reject,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import LocalProtocolError
from soorma_ai.testing.clock import VirtualClock

COUNTS = "'$.pending', '$.groups'"


def parts(count: int, **data: Any) -> list[DelegationSpec]:
    return [DelegationSpec(PART, {"n": n, **data}, "part.done") for n in range(count)]


def clerk(begin: Callable[[TaskContext], Any], join: Callable[[TaskContext, ResultContext], Any]) -> Worker:
    """A worker: begins a task with `begin`, and goes on with `join` for every part."""
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def asks(task: TaskContext, context: PlatformContext) -> None:
        await begin(task)

    @worker.on_result("part.done")
    async def goes_on(result: ResultContext, context: PlatformContext) -> None:
        await join(await result.restore_task(), result)

    return worker


def in_one_group(count: int) -> Callable[[TaskContext], Any]:
    async def begin(task: TaskContext) -> None:
        task.state["group"] = await task.delegate_parallel(parts(count))

    return begin


async def completed_with_all(task: TaskContext, result: ResultContext) -> None:
    everything = await task.aggregate_parallel_results(task.state["group"])
    if everything is not None:
        await task.complete([part["result"]["n"] for part in everything.values()])


async def begin_task(platform: Platform, worker: Worker, count: int) -> tuple[str, list[Any]]:
    """Begin a task; return its id, and the replies to all its requests, still to arrive."""
    await register_parts(platform)
    await platform.start(worker)
    task_id = await platform.publish("action-requests", "order.requested", {})
    return task_id, [reply_to(request) for request in await wait_for_requests(platform, PART, count)]


async def result_of(platform: Platform, task_id: str) -> Any:
    (answer,) = await until(platform, lambda: answers(platform, task_id))
    return answer.data["result"]


async def handle(platform: Platform, task_id: str, *replies: Any) -> None:
    """Let replies arrive at the task, and return when they are handled."""

    async def are_done() -> bool:
        return await platform.services.store.queue.count_pending("clerk", task_id) == 0

    await arrive(platform, replies)
    await until(platform, are_done)


async def test_a_result_is_one_row_and_a_group_is_read_once(path: Path) -> None:
    async with open_platform(path) as platform:
        task_id, replies = await begin_task(platform, clerk(in_one_group(20), completed_with_all), 20)
        seen: list[str] = []
        database: Any = platform.services.store.database  # type: ignore[attr-defined]
        for connection in (database.reader, database.writer.connection):
            connection.set_trace_callback(seen.append)
        await arrive(platform, replies)
        assert await result_of(platform, task_id) == [*range(20)]
        read = [
            sql.partition("ordinal BETWEEN ")[2].partition(" ORDER")[0] for sql in seen if "body FROM sub_task" in sql
        ]
        assert sorted(read) == sorted(["0 AND 19", *(f"{n} AND {n}" for n in range(20))])
        assert len([sql for sql in seen if "FROM expectation WHERE status = 'open' AND task_id" in sql]) == 1


async def test_the_sub_tasks_of_a_task_can_be_read_with_every_result(path: Path) -> None:
    seen: list[Any] = []

    async def join(task: TaskContext, result: ResultContext) -> None:
        of = {info.event_type: info.status for info in task.sub_tasks.values()}
        came = [info.result["result"]["n"] for info in task.sub_tasks.values() if info.result]  # type: ignore[index,call-overload]
        assert (result.sub_task_id in task.sub_tasks, len(task.sub_tasks)) == (True, 4)
        seen.append((came, task.is_complete(), sorted(set(of))))
        await completed_with_all(task, result)

    async with open_platform(path) as platform:
        task_id, replies = await begin_task(platform, clerk(in_one_group(4), join), 4)
        for n in (2, 0, 3, 1):
            await handle(platform, task_id, replies[n])
        assert await result_of(platform, task_id) == [0, 1, 2, 3]
    came = [([2], False), ([0, 2], False), ([0, 2, 3], False), ([0, 1, 2, 3], True)]
    assert seen == [(*one, [PART]) for one in came]


async def test_a_plain_handler_can_read_sub_tasks_too(path: Path) -> None:
    worker, seen = Worker("clerk"), list[Any]()

    @worker.on_task("order.requested")
    async def asks(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate_parallel(parts(2))

    @worker.on_result("part.done")
    def looks(result: ResultContext, context: Any) -> None:
        seen.append([info.status for info in context.task.sub_tasks.values()])

    async with open_platform(path) as platform:
        _, replies = await begin_task(platform, worker, 2)
        await arrive(platform, replies[:1])
        await until(platform, lambda: seen)
    assert seen == [["completed", "pending"]]


async def test_groups_and_single_requests_are_kept_apart(platform: Platform) -> None:
    joined: list[Any] = []

    async def begin(task: TaskContext) -> None:
        await task.delegate(PART, {"n": 9}, "part.done")
        task.state["a"], task.state["b"] = await asyncio.gather(*(task.delegate_parallel(parts(3)) for _ in "ab"))
        await task.delegate(PART, {"n": 8}, "part.done")

    async def join(task: TaskContext, result: ResultContext) -> None:
        groups = {name: await task.aggregate_parallel_results(task.state[name]) for name in "ab"}
        groups["alone"] = await task.aggregate_parallel_results(None)
        assert await task.aggregate_parallel_results("another") is None
        joined.append({name: [r["result"]["n"] for r in got.values()] for name, got in groups.items() if got})
        if task.is_complete():
            await task.complete()

    task_id, replies = await begin_task(platform, clerk(begin, join), 8)
    rows = {row.sub_task_id: row for row in await platform.services.store.plans.sub_tasks("clerk", task_id)}
    by_group: dict[Any, list[Any]] = {}
    for answer in replies:
        by_group.setdefault(rows[answer.correlation_id].parallel_group_id, []).append(answer)
    alone = by_group.pop(None)
    first, second = by_group.values()
    for answer in (*second, alone[0], *first, alone[1]):
        await handle(platform, task_id, answer)
    await until(platform, lambda: answers(platform, task_id))
    a, b = [0, 1, 2], [0, 1, 2]
    steps = [{}, {}, {"b": b}, {"b": b}, {"b": b}, {"b": b}, {"a": a, "b": b}, {"a": a, "b": b, "alone": [9, 8]}]
    swapped = {"a": "b", "b": "a"}
    assert joined in (steps, [{swapped.get(name, name): got for name, got in step.items()} for step in steps])


async def test_a_failed_rejected_or_missing_part_counts_as_come(platform: Platform, clock: VirtualClock) -> None:
    tool = Tool("parts")

    @tool.on_invoke(PART)
    async def part(request: InvocationContext, context: PlatformContext) -> Any:
        if request.data["n"] == 1:
            raise Reject("no such part", code="no_part")
        return request.data

    @tool.on_invoke("dear.requested", approval=Approval(when="always"))
    async def dear(request: InvocationContext, context: PlatformContext) -> Any:
        raise AssertionError("it was not approved")

    async def begin(task: TaskContext) -> None:
        asked = [*parts(2), *(DelegationSpec(name, {}, "part.done") for name in ("dear.requested", "lost.requested"))]
        task.state["group"] = await task.delegate_parallel(asked, timeout=60)

    async def join(task: TaskContext, result: ResultContext) -> None:
        everything = await task.aggregate_parallel_results(task.state["group"])
        if everything is not None:
            await task.complete([part["success"] or part["error"]["code"] for part in everything.values()])

    await platform.start(tool, clerk(begin, join))
    task_id = await platform.publish("action-requests", "order.requested", {})
    (wait,) = await until(platform, platform.waits)
    await platform.answer(wait.wait_id, {"approved": False})
    await until(platform, lambda: is_idle(platform))
    await clock.advance(60)
    assert await result_of(platform, task_id) == [True, "no_part", "rejected", "deadline_exceeded"]


async def test_an_authors_result_of_a_part_counts_and_its_own_reply_does_not_count_again(platform: Platform) -> None:
    async def join(task: TaskContext, result: ResultContext) -> None:
        if result.result["n"] == 0:
            task.update_sub_task_result([*task.sub_tasks][2], {"success": True, "result": {"n": "said"}})
        await completed_with_all(task, result)

    task_id, replies = await begin_task(platform, clerk(in_one_group(4), join), 4)
    for n in (0, 2, 1):
        await handle(platform, task_id, replies[n])
        assert await answers(platform, task_id) == []
    await handle(platform, task_id, replies[3])
    assert await result_of(platform, task_id) == [0, 1, 2, 3]


async def test_a_part_requested_again_by_its_author_is_waited_for_again(platform: Platform) -> None:
    async def join(task: TaskContext, result: ResultContext) -> None:
        if result.result["n"] == 1 and not task.state.get("again"):
            task.state["again"] = next(iter(task.sub_tasks))
            task.sub_tasks[task.state["again"]].status = "pending"
            await task.delegate(PART, {"n": 7}, "part.done")
        elif result.result["n"] == 7:
            task.update_sub_task_result(task.state["again"], result.data)
        await completed_with_all(task, result)

    task_id, replies = await begin_task(platform, clerk(in_one_group(2), join), 2)
    await handle(platform, task_id, *replies)
    assert await answers(platform, task_id) == []
    await handle(platform, task_id, reply_to((await wait_for_requests(platform, PART, 3))[-1]))
    assert await result_of(platform, task_id) == [7, 1]


@pytest.mark.parametrize("forgets", ["", COUNTS], ids=["counted", "from before they were counted"])
async def test_half_of_a_group_comes_before_the_process_ends_and_half_after(
    path: Path, clock: VirtualClock, forgets: str
) -> None:
    platform = open_platform(path, clock)
    await platform.__aenter__()
    task_id, replies = await begin_task(platform, clerk(in_one_group(6), completed_with_all), 6)
    await handle(platform, task_id, *replies[:3])
    if forgets:
        for sql in (f"UPDATE task SET body = json_remove(body, {forgets})", _PLACELESS):
            await platform.services.store.database.write(lambda db, sql=sql: db.execute(sql))  # type: ignore[attr-defined]
    await kill_platform(platform)
    async with open_platform(path, clock) as platform:
        await platform.start(clerk(in_one_group(6), completed_with_all))
        await arrive(platform, [*replies[3:], *replies])
        assert await result_of(platform, task_id) == [0, 1, 2, 3, 4, 5]


_PLACELESS = "UPDATE expectation SET rest = json_set(rest, '$.place', 0) WHERE task_id IS NOT NULL"


async def test_a_task_is_restored_by_its_id_and_its_sub_tasks_only(platform: Platform) -> None:
    told: list[str] = []

    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def asks(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate_parallel(parts(2))

    @worker.on_result("part.done")
    async def restores(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        for known in (task.task_id, *task.sub_tasks):
            assert await TaskContext.restore(known, context) is task
        with pytest.raises(LocalProtocolError, match="neither the task of this delivery nor one of its sub-tasks"):
            await TaskContext.restore("another", context)
        with pytest.raises(LocalProtocolError, match="has no sub-task 'another'"):
            task.update_sub_task_result("another", {})
        told.append(result.sub_task_id)
        await task.complete()

    task_id, replies = await begin_task(platform, worker, 2)
    await arrive(platform, replies)
    await until(platform, lambda: answers(platform, task_id))
    assert told == [replies[0].correlation_id]


async def test_a_reply_to_an_ended_task_is_ignored(platform: Platform) -> None:
    async def join(task: TaskContext, result: ResultContext) -> None:
        await task.complete(result.result["n"])

    task_id, replies = await begin_task(platform, clerk(in_one_group(3), join), 3)
    await handle(platform, task_id, *replies)
    assert await result_of(platform, task_id) == 0
    assert await platform.dead_letters() == []
