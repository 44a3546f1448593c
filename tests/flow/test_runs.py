"""Runs: several results in line for one plan or task are handled one after the other and committed together, with the
same outcome as one by one."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fanin import PART, WIDE, answers, arrive, register_parts, reply_to
from kit import PATIENCE, as_time_passes, kill_platform, open_platform, planner, until, wait_for_end, wait_for_requests
from places import raw
from test_commits import count_commits, failing_once
from worst import HAS_BROKER

from soorma_ai import (
    DelegationSpec,
    GoalContext,
    PlanHandle,
    Planner,
    Platform,
    PlatformContext,
    ResultContext,
    Retry,
    TaskContext,
    TransitionContext,
    Worker,
)
from soorma_ai.errors import LocalProtocolError, StoreUnavailable, VersionConflict
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import LONGEST_RUN
from soorma_ai.kernel.runtime import flow
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, publish_all

Story = Callable[[Platform, VirtualClock], Awaitable[None]]
WIDTH = 40

# A plan's row, a task's and a memory's count how often they were written.
PASSING = {"version", "latency_ms"}
TABLES = {
    "plans": "SELECT plan.body FROM plan",
    "steps": "SELECT step.body FROM step",
    "values": "SELECT kind, key, body FROM plan_value",
    "events": "SELECT event.body FROM event",
    "expectations": "SELECT id, kind, status, met_by FROM expectation",
    "tasks": "SELECT body FROM task",
    "sub-tasks": "SELECT body FROM sub_task",
    "journal": "SELECT journal.body FROM journal",
    "spent": "SELECT root_plan_id, actions, llm_calls, tokens FROM budget WHERE root_plan_id NOT LIKE 'events:%'",
    "memory": "SELECT key, body FROM memory",
    "remembered items": "SELECT key, ordinal, body FROM memory_item",
    "strays": "SELECT event_id, reason, expectation_id FROM stray",
    "timers": "SELECT id, guards FROM timer",
    "inbox": "SELECT inbox.agent, event.id, inbox.owner, inbox.state, inbox.attempt, inbox.reason FROM inbox "
    "JOIN event ON event.seq = inbox.event_seq WHERE inbox.agent <> 'parts'",
}


def lasting(value: Any) -> Any:
    match value:
        case dict():
            return {name: lasting(part) for name, part in value.items() if name not in PASSING}
        case list():
            return [lasting(part) for part in value]
        case _:
            return value


def stored_rows(path: Path) -> dict[str, list[str]]:
    """Return the rows of a file, in the order of writing where that order counts."""

    def read(text: Any) -> Any:
        return lasting(json.loads(text)) if isinstance(text, str) and text[:1] in "{[" else text

    with raw(path) as owner:
        rows = {name: owner.execute(query).fetchall() for name, query in TABLES.items()}
    told = {name: [json.dumps([read(column) for column in row], sort_keys=True) for row in rows[name]] for name in rows}
    return {name: found if name == "events" else sorted(found) for name, found in told.items()}


async def begin_plan(platform: Platform, minds: Any, count: int = WIDTH) -> tuple[PlanHandle, list[EventEnvelope]]:
    """Begin a plan; return it with its published requests, in their order."""
    await register_parts(platform)
    await platform.start(minds)
    plan = await platform.submit("order.received", {})
    return plan, sorted(await wait_for_requests(platform, PART, count), key=lambda request: request.data["n"])


async def begin_task(platform: Platform, worker: Worker, count: int = WIDTH) -> tuple[str, list[EventEnvelope]]:
    await register_parts(platform)
    await platform.start(worker)
    task_id = await platform.publish("action-requests", "order.requested", {}, idempotency_key="order")
    return task_id, sorted(await wait_for_requests(platform, PART, count), key=lambda request: request.data["n"])


def replies_to(requests: Sequence[EventEnvelope]) -> list[EventEnvelope]:
    """Out of order, the third a failure, some twice."""
    failed = {"success": False, "error": {"code": "out_of_stock", "message": "none left"}}
    several = [reply_to(one, **(failed if place == 2 else {})) for place, one in enumerate(requests)]
    return [*several[1::2], *several[:7], *several[::2]]


async def at_once(platform: Platform, replies: Sequence[EventEnvelope]) -> None:
    """Let replies arrive in one transaction, so that they stand in one line, and wait until all are handled."""
    await arrive(platform, replies, len(replies))
    await all_handled(platform, replies[0])


async def all_handled(platform: Platform, reply: EventEnvelope) -> None:
    """Return when no delivery stands in line for the receiver of this reply."""
    store = platform.services.store
    met = await store.plans.expectation(reply.correlation_id or "")
    assert met is not None
    owner = met.plan_id or met.task_id or ""

    async def are_done() -> bool:
        return await store.queue.count_pending(met.agent, owner) == 0

    await until(platform, are_done)


def parts(count: int = WIDTH) -> list[Any]:
    return [publish(PART, n=n) for n in range(count)]


def joining(need: int | None) -> Story:
    async def story(platform: Platform, clock: VirtualClock) -> None:
        minds = planner([publish_all(*parts(), need=need), complete({"done": True})], limits=WIDE)
        plan, requests = await begin_plan(platform, minds)
        await at_once(platform, replies_to(requests))
        assert await plan.result(timeout=9) == {"done": True}
        assert len(minds.reasoner.questions) == 2  # type: ignore[union-attr]

    return story


async def two_joins(platform: Platform, clock: VirtualClock) -> None:
    """Late results of the first join stand in one line with those of the second."""
    both = [publish_all(*parts(20), need=5), publish_all(*(publish(PART, n=n) for n in range(20, 40))), complete()]
    plan, first = await begin_plan(platform, planner(both, limits=WIDE), 20)
    await at_once(platform, [reply_to(one) for one in first[:5]])
    second = [one for one in await wait_for_requests(platform, PART, 40) if one.data["n"] >= 20]
    mixed = [one for pair in zip(first[5:], second[:15], strict=True) for one in pair]
    await at_once(platform, [reply_to(one) for one in [*mixed, *second[15:]]])
    await plan.result(timeout=9)


async def join_whose_time_is_over(platform: Platform, clock: VirtualClock) -> None:
    script = [publish_all(*parts(), timeout_seconds=60), complete({"some": True})]
    plan, requests = await begin_plan(platform, planner(script, limits=WIDE))
    replies = [reply_to(one) for one in requests]
    await at_once(platform, replies[:11])
    await clock.advance(61)
    await at_once(platform, replies[11:30])
    assert await plan.result(timeout=9) == {"some": True}


async def cancel_midway(platform: Platform, clock: VirtualClock) -> None:
    plan, requests = await begin_plan(platform, planner([publish_all(*parts())], limits=WIDE))
    replies = [reply_to(one) for one in requests]
    await at_once(platform, replies[:20])
    await platform.services.store.queue.arrive(replies[20:], clock.now())
    await platform.cancel(plan.plan_id, "enough")
    platform.services.signals.wake_agents()
    assert (await wait_for_end(platform, plan.plan_id)).status == "cancelled"
    await all_handled(platform, replies[0])


def adding_planner(width: int = WIDTH) -> tuple[Planner, list[int]]:
    """A planner without a model: its handler sums up results in its state and in its memory."""
    minds, seen = Planner("adder", limits=WIDE), list[int]()

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        for n in range(width):
            await goal.dispatch(PART, {"n": n}, "part.done")

    @minds.on_transition()
    async def add(transition: TransitionContext, context: PlatformContext) -> None:
        state, n = transition.plan.state, transition.data.get("n", 0)
        seen.append(n)
        state["came"] = [*state.get("came", []), n]
        state[f"last of {n % 3}"] = n
        if n % 7 == 3:
            state.pop("last of 0", None)
        await context.memory.increment("sum", n)
        await context.memory.append("list", n)
        if n % 10 == 0:
            await context.memory.store("tenth", await context.memory.retrieve("sum"))
        if len(state["came"]) == width:
            await transition.plan.finalize({"sum": await context.memory.retrieve("sum")})

    return minds, seen


async def add_up(platform: Platform, clock: VirtualClock) -> None:
    minds, seen = adding_planner()
    plan, requests = await begin_plan(platform, minds)
    await at_once(platform, replies_to(requests))
    result = await plan.result(timeout=9)
    assert (result, len(seen)) == ({"sum": sum(range(WIDTH)) - 2}, WIDTH)


def counting_worker(width: int = WIDTH, *, chatty: bool = False) -> Worker:
    """A worker of two groups: keeps its results in its state; a chatty one announces every fifth."""
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        specs = [DelegationSpec(PART, {"n": n}, "part.done") for n in range(width)]
        half = width // 2
        task.state["groups"] = [await task.delegate_parallel(some) for some in (specs[:half], specs[half:])]
        task.state["came"] = []

    @worker.on_result("part.done")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        task.state["came"].append(result.result["n"] if result.success else None)
        if len(task.state["came"]) % 5 == 0:
            task.state["seen"] = sum(info.has_ended for info in task.sub_tasks.values())
            if chatty:
                await context.bus.publish("business-facts", "parts.came", {"count": len(task.state["came"])})
        for number, group in enumerate(task.state["groups"]):
            if await task.aggregate_parallel_results(group) is not None:
                task.state[f"all of {number}"] = len(task.state["came"])
        if task.is_complete():
            await task.complete(dict(task.state))

    return worker


def counting_story(*, chatty: bool) -> Story:
    async def story(platform: Platform, clock: VirtualClock) -> None:
        task_id, requests = await begin_task(platform, counting_worker(chatty=chatty))
        await at_once(platform, replies_to(requests))
        (answer,) = await answers(platform, task_id)
        assert len(answer.data["result"]["came"]) == WIDTH

    return story


async def one_after_the_other(platform: Platform, clock: VirtualClock) -> None:
    """Ten requests at first, and one more for each of the first ten results."""
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        for n in range(10):
            await task.delegate(PART, {"n": n}, "part.done")

    @worker.on_result("part.done")
    async def goes_on(result: ResultContext, context: PlatformContext) -> None:
        task, n = await result.restore_task(), result.result["n"]
        task.state["last"] = n
        if n % 2 == 0 and n < 10:
            await task.delegate(PART, {"n": n + 10}, "part.done")
        if task.is_complete():
            await task.complete({"last": n})

    task_id, requests = await begin_task(platform, worker, 10)
    await at_once(platform, [reply_to(one) for one in requests])
    more = sorted(await wait_for_requests(platform, PART, 15), key=lambda request: request.data["n"])[10:]
    await at_once(platform, [reply_to(one) for one in more])
    (answer,) = await answers(platform, task_id)
    assert answer.data["result"] == {"last": 18}


async def left_without_a_next_step(platform: Platform, clock: VirtualClock) -> None:
    """Each handling but the last leaves its plan with other results in line."""
    minds, _ = adding_planner()

    @minds.on_transition()
    async def waits(transition: TransitionContext, context: PlatformContext) -> None:
        transition.plan.state["last"] = transition.data.get("n")

    plan, requests = await begin_plan(platform, minds)
    await at_once(platform, [reply_to(one) for one in requests])
    assert "no_next_step" in (await wait_for_end(platform, plan.plan_id)).reason


async def broken_by_one(platform: Platform, clock: VirtualClock) -> None:
    """A handler raises an error for one result, and the task fails; later results have no receiver."""
    worker = counting_worker()
    real = worker._result_handlers["part.done"].function  # pyright: ignore[reportPrivateUsage]
    del worker._result_handlers["part.done"]  # pyright: ignore[reportPrivateUsage]

    @worker.on_result("part.done")
    async def breaks(result: ResultContext, context: PlatformContext) -> None:
        (await result.restore_task()).state["came"].append("in vain")
        if result.success and result.result["n"] == 9:
            raise ValueError("nine")
        (await result.restore_task()).state["came"].pop()
        await real(result, context)  # type: ignore[misc]

    task_id, requests = await begin_task(platform, worker)
    await at_once(platform, replies_to(requests))
    (answer,) = await answers(platform, task_id)
    assert "nine" in answer.data["error"]["message"]


STORIES = {
    "a join of all": joining(None),
    "a join of any": joining(1),
    "a join of some": joining(7),
    "two joins": two_joins,
    "a join whose time is over": join_whose_time_is_over,
    "a cancelled plan": cancel_midway,
    "an author's state and memory": add_up,
    "a worker's groups": counting_story(chatty=False),
    "a worker that tells of some": counting_story(chatty=True),
    "a worker that asks for more": one_after_the_other,
    "a handler that breaks": broken_by_one,
    "a plan without a next step": left_without_a_next_step,
}


def watch_runs(platform: Platform) -> list[int]:
    """Return a list that grows by the length of every committed run."""
    queue, lengths = platform.services.store.queue, list[int]()
    real = queue.commit

    async def commit(work: Any, now: Any) -> Any:
        lengths.append(length := 1 + len(work.following))
        try:
            return await real(work, now)
        except Exception:
            lengths.remove(length)
            raise

    queue.commit = commit  # type: ignore[method-assign]
    return lengths


async def run_story(path: Path, story: Story) -> tuple[dict[str, list[str]], int]:
    """Return the rows stored after a story, and the length of its longest run."""
    clock = VirtualClock()
    async with open_platform(path, clock) as platform:
        lengths = watch_runs(platform)
        await story(platform, clock)
    return stored_rows(path), max(lengths)


@pytest.mark.parametrize("name", STORIES)
async def test_the_rows_after_runs_equal_the_rows_of_results_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    together, longest = await run_story(tmp_path / "together.db", STORIES[name])
    assert 1 < longest <= LONGEST_RUN
    monkeypatch.setattr(flow, "LONGEST_RUN", 1)
    one_by_one, longest = await run_story(tmp_path / "apart.db", STORIES[name])
    assert longest == 1
    for table, rows in one_by_one.items():
        assert together[table] == rows, table


@pytest.mark.skipif(HAS_BROKER, reason="by a broker there are more commits")
@pytest.mark.parametrize(("by", "most"), [("plan", 7), ("task", 5)])
async def test_a_hundred_results_in_line_are_a_few_commits(path: Path, by: str, most: int) -> None:
    async with open_platform(path, VirtualClock()) as platform:
        if by == "plan":
            minds = planner([publish_all(*parts(100)), complete({})], limits=WIDE)
            _, requests = await begin_plan(platform, minds, 100)
        else:
            _, requests = await begin_task(platform, counting_worker(100), 100)
        commits = count_commits(platform)
        await at_once(platform, [reply_to(one) for one in requests])
        assert len(commits) <= most


def summing_worker(
    came: list[int], join: Callable[[ResultContext, PlatformContext], Awaitable[None]], **options: Any
) -> Worker:
    """A worker of one group: notes each result and hands it on, before it looks whether all have come."""
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        specs = [DelegationSpec(PART, {"n": n}, "part.done") for n in range(10)]
        task.state["group"] = await task.delegate_parallel(specs)

    @worker.on_result("part.done", **options)
    async def goes_on(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        came.append(result.result["n"])
        await join(result, context)
        everything = await task.aggregate_parallel_results(task.state["group"])
        if everything is not None:
            await task.complete(sum(part["result"]["n"] for part in everything.values()))

    return worker


async def run_lengths(platform: Platform, clock: VirtualClock, worker: Worker) -> list[int]:
    """Return the lengths of the worker's runs, once ten results at once have been summed up."""
    lengths = watch_runs(platform)
    task_id, requests = await begin_task(platform, worker, 10)
    del lengths[:]
    await arrive(platform, [reply_to(one) for one in requests], 10)

    async def answer() -> Any:
        return await answers(platform, task_id)

    (answered,) = await as_time_passes(clock, answer)
    assert answered.data["result"] == sum(range(10))
    return lengths


async def nothing(result: ResultContext, context: PlatformContext) -> None: ...


async def test_a_failing_result_ends_its_run_and_is_handled_again_alone(
    platform: Platform, clock: VirtualClock
) -> None:
    came, attempts = list[int](), list[int]()

    async def join(result: ResultContext, context: PlatformContext) -> None:
        if result.result["n"] == 4:
            attempts.append(context.task.attempt)  # type: ignore[union-attr]
            if len(attempts) == 1:
                raise Retry("not now")

    lengths = await run_lengths(platform, clock, summing_worker(came, join))
    assert (came, attempts) == ([0, 1, 2, 3, 4, *range(4, 10)], [1, 1])
    assert lengths == [4, 1, 5], "results before it count, and the second time it leads no run"


async def test_the_pauses_and_attempts_of_a_failing_result_begin_when_it_is_alone(
    platform: Platform, clock: VirtualClock
) -> None:
    tried: list[float] = []

    async def join(result: ResultContext, context: PlatformContext) -> None:
        if result.result["n"] == 4:
            tried.append(clock.monotonic())
            if len(tried) < 3:
                raise Retry("not now", after=timedelta(seconds=60))

    await run_lengths(platform, clock, summing_worker([], join, attempts=2))
    assert tried[1] - tried[0] < 60 <= tried[2] - tried[1], "alone it is tried at once, and then after its pause"


async def test_a_handler_with_one_attempt_is_called_once(platform: Platform, clock: VirtualClock) -> None:
    came: list[int] = []
    assert await run_lengths(platform, clock, summing_worker(came, nothing, attempts=1)) == [1] * 10
    assert came == [*range(10)]


async def test_a_slow_handling_is_committed_before_the_next(platform: Platform, clock: VirtualClock) -> None:
    async def join(result: ResultContext, context: PlatformContext) -> None:
        await clock.advance(0.06)

    assert await run_lengths(platform, clock, summing_worker([], join)) == [2] * 5


@pytest.mark.parametrize(
    "error", [VersionConflict("somebody was first", counts=False), LocalProtocolError("a value of another kind")]
)
async def test_a_refused_commit_of_a_run_is_made_again_one_by_one(
    platform: Platform, clock: VirtualClock, error: Exception
) -> None:
    came: list[int] = []
    failed = failing_once(platform, lambda: error, lambda work: len(work.following) > 0)
    lengths = await run_lengths(platform, clock, summing_worker(came, nothing))
    assert came == [*range(10), *range(10)]
    assert (len(failed[0].following), lengths) == (9, [1] * 11), "the first is put back, then each is handled alone"


async def test_a_commit_of_a_run_is_made_once_the_store_is_back(platform: Platform, clock: VirtualClock) -> None:
    came: list[int] = []
    failing_once(platform, lambda: StoreUnavailable("the disk is full"), lambda work: len(work.following) > 0)
    assert await run_lengths(platform, clock, summing_worker(came, nothing)) == [10]
    assert came == [*range(10)]


async def test_a_plan_cancelled_in_the_middle_of_a_run_keeps_nothing_of_the_run(
    platform: Platform, clock: VirtualClock
) -> None:
    minds, seen = adding_planner()
    plan, requests = await begin_plan(platform, minds)

    @minds.on_transition()
    async def cancels(transition: TransitionContext, context: PlatformContext) -> None:
        seen.append(transition.data["n"])
        if len(seen) == 5:
            await platform.services.store.plans.cancel(plan.plan_id, "enough", clock.now())

    await at_once(platform, [reply_to(one) for one in requests])
    details = await wait_for_end(platform, plan.plan_id)
    assert details.status == "cancelled"
    assert [step.kind for step in details.steps if step.kind == "replied"] == []


async def test_a_task_left_behind_by_a_handler_records_nothing_for_the_next(
    platform: Platform, clock: VirtualClock
) -> None:
    refused, left = list[str](), list[asyncio.Task[None]]()

    async def record(context: PlatformContext) -> None:
        await asyncio.sleep(0)
        try:
            await context.bus.publish("business-facts", "left.behind", {})
        except LocalProtocolError as error:
            refused.append(str(error))

    async def join(result: ResultContext, context: PlatformContext) -> None:
        left.append(asyncio.create_task(record(context)))

    assert await run_lengths(platform, clock, summing_worker([], join)) == [10]
    await asyncio.gather(*left)
    assert len(refused) == 10 and "has ended" in refused[0]


async def test_a_handler_that_cancels_its_own_task_ends_its_run_only(platform: Platform, clock: VirtualClock) -> None:
    came: list[int] = []

    async def join(result: ResultContext, context: PlatformContext) -> None:
        if came.count(3) == 1 and result.result["n"] == 3:
            task = asyncio.current_task()
            assert task is not None and task.cancel()
            await asyncio.sleep(0)

    assert (await run_lengths(platform, clock, summing_worker(came, join)))[0] == 3
    assert came == [0, 1, 2, 3, *range(3, 10)]


async def test_after_the_end_of_a_process_in_a_run_each_result_is_handled_alone(
    path: Path, clock: VirtualClock
) -> None:
    came, attempts, reached = list[int](), list[int](), asyncio.Event()

    async def join(result: ResultContext, context: PlatformContext) -> None:
        attempts.append(context.task.attempt)  # type: ignore[union-attr]
        if result.result["n"] == 6 and not reached.is_set():
            reached.set()
            await asyncio.Event().wait()

    platform = open_platform(path, clock)
    await platform.__aenter__()
    task_id, requests = await begin_task(platform, summing_worker(came, join), 10)
    await arrive(platform, [reply_to(one) for one in requests], 10)
    await asyncio.wait_for(reached.wait(), PATIENCE)
    await kill_platform(platform)
    del came[:], attempts[:]
    async with open_platform(path, clock) as second:
        lengths = watch_runs(second)
        await second.start(summing_worker(came, join))
        (answer,) = await until(second, lambda: answers(second, task_id))
        assert answer.data["result"] == sum(range(10))
    assert (came, attempts, set(lengths)) == ([*range(10)], [2, *[1] * 9], {1})
