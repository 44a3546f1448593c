"""A prune: its cost, the rows it leaves in the file, and the turns of others meanwhile."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from prune_kit import (
    ALL,
    BEFORE,
    LONG_AGO,
    begin_plan,
    carry_all,
    close,
    handle_next,
    in_tree,
    make_ended_plan,
    of_plan,
    prune,
    register_agents,
    with_time,
)
from sqlite_kit import Effort, explain_plan, scans, trace_statements
from store_kit import HAND, NOW, claim_all, do, end, event, expectation, fact, later, open_store, plan, reply, wait

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.effects import Close, EndTask, Expect, Publish, SavePlan, SaveSubTask, SaveTask
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.ports import Pruned
from soorma_ai.kernel.rules.task import task_of as begun_task

LASTING = {"agent", "definition", "taking", "sqlite_sequence"}


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    async with open_store(SqliteStore(None, ALL_FEATURES)) as made:
        await register_agents(made)
        yield made


async def everything(store: SqliteStore) -> None:
    """Make an old row in every table of plans or events."""
    made = await make_ended_plan(store, "a")
    await store.plans.cancel((await claimed_goal(store)), "no", NOW)
    await do(store, Expect(of_plan(wait("w", keys=("a", "b")), made)), now=LONG_AGO)
    await close(store, "w")
    early = with_time(fact("early", {"order_id": "o-1"}))
    await store.queue.arrive([early, in_tree(fact("early-2", {"order_id": "o-2"}), made)], LONG_AGO)
    await store.queue.arrive([in_tree(reply("late", "ask-a"), made)], LONG_AGO)
    asked = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None, deadline=LONG_AGO)
    await store.queue.send(
        [with_time(event("q-1", correlation_id="q-1"))], replace(asked, opened_at=LONG_AGO), LONG_AGO
    )
    await carry_all(store)
    await handle_next(store, "worker", Publish(with_time(reply("r-1", "q-1"))))
    await carry_all(store)
    vain = replace(asked, id="q-2", opened_at=LONG_AGO)
    await store.queue.send([with_time(event("q-2", "untaken", correlation_id="q-2"))], vain, LONG_AGO)
    await carry_all(store)
    await store.queue.sweep(NOW)


async def claimed_goal(store: SqliteStore) -> str:
    """Make a plan cancelled before its begin, then begun and ended; return its id."""
    await store.queue.arrive([with_time(event("goal-c", "goal.given"))], LONG_AGO)
    (delivery,) = await claim_all(store, "planner", now=LONG_AGO)
    await store.plans.cancel(delivery.owner, "no", LONG_AGO)
    over = plan(delivery.owner, status=PlanStatus.CANCELLED, cancel_requested="no", updated_at=LONG_AGO)
    await do(store, SavePlan(replace(over, goal_id="goal-c"), None), now=LONG_AGO)
    await end(store, delivery, now=LONG_AGO)
    await carry_all(store)
    await handle_next(store, "planner")
    return delivery.owner


async def rows(store: SqliteStore) -> dict[str, int]:
    """Count the rows by table, without the deliveries of the tests themselves."""

    def count(db: sqlite3.Connection) -> dict[str, int]:
        hands = f"SELECT seq FROM event WHERE type = '{HAND}'"
        db.execute(f"DELETE FROM inbox WHERE event_seq IN ({hands})")
        db.execute(f"DELETE FROM event WHERE type = '{HAND}'")
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        names = [name for name in names if not name.startswith("memo_text_")]  # the index's own, never empty
        return {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}

    return await store.database.write(count)


async def test_pruned_plans_leave_no_row_in_any_table(store: SqliteStore) -> None:
    await everything(store)
    before = {table for table, count in (await rows(store)).items() if count}
    assert before >= {"event", "inbox", "plan", "step", "journal", "budget", "cancellation", "stray", "early"}
    assert (await prune(store)).plans == 2
    left = {table: count for table, count in (await rows(store)).items() if count}
    assert set(left) == LASTING


async def test_a_delivery_in_doubt_keeps_its_tree(store: SqliteStore) -> None:
    made = await make_ended_plan(store, "a")
    await store.queue.arrive([in_tree(event("x"), made)], LONG_AGO)
    await store.database.write(lambda db: db.execute("UPDATE inbox SET state = 'in_doubt' WHERE state = 'queued'"))
    assert await prune(store) == Pruned(kept=1)


async def test_no_statement_of_a_prune_scans_a_table_or_sorts_it(store: SqliteStore) -> None:
    await everything(store)
    big = await begin_plan(store, "big")
    for n in range(9):
        await store.queue.arrive([in_tree(event(f"fact-{n}", "told", EventTopic.BUSINESS_FACTS), big)], LONG_AGO)
    await do(store, SavePlan(replace(big, status=PlanStatus.FAILED, version=1), 0), now=LONG_AGO)
    with trace_statements(store) as seen:
        await prune(store, dry_run=True)
        assert (await prune(store, limit=5)).plans == 3
    statements = [sql for sql in seen if sql.lstrip().startswith(("SELECT", "DELETE"))]
    assert len(statements) > 30
    assert await scans(store, statements) == set()
    walks = [sql for sql in statements if "LIMIT 5" in sql and "ORDER BY" in sql]
    assert len(walks) >= 3
    assert [sql for sql in walks if any("ORDER BY" in line for line in await explain_plan(store, sql))] == []


MANY = 20_000
_NUMBERS = f"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {MANY})"
# Plans that live or are young, each with a goal of its own and two events; other tenants' old ones; young facts.
CROWD = (
    f"""INSERT INTO plan (plan_id, tenant, agent, status, root_plan_id, goal_id, version, rest) {_NUMBERS}
        SELECT 'p' || n, iif(n % 3 = 2, 'acme', 'default'), 'planner', iif(n % 3 = 0, 'running', 'completed'),
            'p' || n, 'g' || n, 0, iif(n % 3 = 1, :young, :old) FROM n""",
    f"""INSERT INTO event (id, tenant, type, topic, plan_id, root_plan_id, digest, rest, time) {_NUMBERS}
        SELECT 'e' || n, iif(n % 3 = 2, 'acme', 'default'), 'x', 'x', 'p' || n, 'p' || n, x'', '{{}}', 0 FROM n""",
    f"""INSERT INTO event (id, tenant, type, topic, digest, rest, time) {_NUMBERS}
        SELECT 'f' || n, 'default', 'x', 'x', x'', '{{}}', 2e10 FROM n""",
)


async def test_a_prune_costs_its_removals_beside_any_number_of_staying_rows(store: SqliteStore) -> None:
    for n in range(10):
        await make_ended_plan(store, f"first-{n}")
    few = Effort(store)
    assert (await prune(store, limit=50)).plans == 10
    store.database.writer.connection.set_progress_handler(None, 0)
    await store.database.write(crowd)
    for n in range(10):
        await make_ended_plan(store, f"second-{n}")
    many = Effort(store)
    assert (await prune(store, limit=50)).plans == 10
    assert many.hundreds <= 2 * few.hundreds + 20


def crowd(db: sqlite3.Connection) -> None:
    for statement in CROWD:
        db.execute(statement, {"young": changed(NOW), "old": changed(LONG_AGO)})


def changed(at: datetime) -> str:
    return json.dumps({"updated_at": at.isoformat()})


@pytest.fixture
async def in_a_file(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as made:
        await register_agents(made)
        yield made


async def test_others_write_between_the_batches(in_a_file: SqliteStore) -> None:
    for n in range(20):
        await make_ended_plan(in_a_file, f"{n}")
    order: list[str] = []

    async def pruning() -> None:
        after = None
        while True:
            batch = await in_a_file.part(UPKEEP).prune(AgeConditions("default", BEFORE, ALL, NOW), 10, after=after)
            order.append("batch")
            if (after := batch.after) is None:
                return

    async def writing() -> None:
        for n in range(20):
            await in_a_file.queue.send([event(f"new-{n}")], None, NOW)
            order.append("write")

    await asyncio.gather(pruning(), writing())
    assert order.count("batch") >= 20
    first, last = order.index("batch"), len(order) - 1 - order[::-1].index("batch")
    assert order[first:last].count("write") >= 15


async def test_freed_room_is_used_again(in_a_file: SqliteStore) -> None:
    sizes: list[int] = []
    for time in range(4):
        for n in range(20):
            await make_ended_plan(in_a_file, f"{time}-{n}")
        assert (await prune(in_a_file)).plans == 20
        sizes.append(await in_a_file.database.write(lambda db: db.execute("PRAGMA page_count").fetchone()[0]))
    assert sizes[-1] <= sizes[0] * 1.5, "three times as much would be needed without"


@pytest.mark.parametrize("microseconds", [0, 1000, 999000, 120])
async def test_the_index_orders_moments_and_not_their_spelling(store: SqliteStore, microseconds: int) -> None:
    at = BEFORE.replace(microsecond=microseconds)
    made = await begin_plan(store, "a", at=at, status=PlanStatus.COMPLETED)
    assert (await prune(store, before=at)).plans == 0
    assert (await prune(store, before=at.replace(microsecond=0) + (later(1) - NOW))).plans == 1
    assert await store.plans.plan(made.plan_id) is None


async def take_task(store: SqliteStore, request: EventEnvelope) -> TaskRecord:
    """Make a task of this request, with an open part."""
    await store.queue.arrive([request], LONG_AGO)
    task = replace(begun_task(request, "worker", "work.done", LONG_AGO), sub_tasks=1)
    part = replace(expectation("part"), plan_id=None, agent="worker", task_id=task.task_id, opened_at=LONG_AGO)
    asked = SubTaskInfo("part", "part.requested", "work.done")
    effects = (SaveTask(task, None), SaveSubTask("worker", task.task_id, 0, asked), Expect(part))
    await handle_next(store, "worker", *effects)
    return task


@pytest.mark.parametrize("in_a_plan", [False, True])
async def test_an_open_task_stays_and_goes_after_its_end(store: SqliteStore, in_a_plan: bool) -> None:
    request = with_time(event("asked"))
    if in_a_plan:
        request = in_tree(request, await make_ended_plan(store, "a"))
    task = await take_task(store, request)
    await prune(store)
    assert await store.events.event("asked") is not None
    assert await store.plans.task("worker", task.task_id) == task
    await store.queue.arrive([with_time(event("again"))], LONG_AGO)
    await handle_next(
        store, "worker", Close("part", ExpectationStatus.CLOSED, LONG_AGO), EndTask("worker", task.task_id)
    )
    await prune(store)
    assert await store.events.event("asked") is None
    left = {table: count for table, count in (await rows(store)).items() if count}
    assert set(left) == LASTING
