"""No statement of the store reads a growing table from end to end, and none sorts what an index keeps sorted."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from store_kit import (
    LEASE,
    NOW,
    agent,
    answer,
    awaiting_payment,
    claimed,
    do,
    end,
    entry,
    event,
    expectation,
    fact,
    gate,
    later,
    plan,
    planner,
    reply,
    running,
    step,
    wait,
)

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.domain.effects import (
    AppendStep,
    Close,
    DeadLetter,
    Declare,
    Expect,
    Publish,
    RetryAfter,
    SavePlan,
    Schedule,
    Spend,
)
from soorma_ai.domain.events import EventTopic, Lineage
from soorma_ai.domain.expectations import ExpectationStatus
from soorma_ai.domain.limits import Charge, Limits
from soorma_ai.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryKey,
    OpenSession,
    SessionSummary,
    StoreMemory,
)
from soorma_ai.domain.plans import PlanStatus
from soorma_ai.domain.registry import EventDefinition, EventRole

# Read whole on purpose: a registry is small, an outbox and a list of arguments are as short as what is asked for.
SMALL = ("agent", "outbox", "json_each", "(subquery")
# These end at their LIMIT.
FROM_THE_END = ("SCAN plan", "SCAN inbox USING INDEX inbox_dead")


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    made = SqliteStore(None)  # reads go over the traced connection too
    await made.open(NOW)
    yield made
    await made.close()


async def journey(store: SqliteStore) -> None:
    """Every statement there is, at least once."""
    await store.registry.register([awaiting_payment(), planner("chief"), agent("worker", "work.asked")], NOW)
    await running(store, expectation("q-1"), wait("w-1"), gate("g-1"))
    await store.queue.arrive([event("e-1"), reply("r-1", "q-1"), fact("f-1", {"order_id": "o-1"})], NOW)
    await store.queue.arrive([fact("f-2", {"order_id": "o-1"}), event("g", "goal.given"), reply("r-2", "q-1")], NOW)
    await store.queue.arrive([reply("r-1", "q-1"), fact("f-1", {"order_id": "o-1"})], NOW)
    (delivery,) = await claimed(store)
    await store.queue.renew([delivery], later(9))
    await end(store, delivery, RetryAfter(LEASE, "busy"))
    await store.queue.next_due(["worker", "planner"], NOW)
    await do(
        store,
        Expect(wait("w-2")),
        SavePlan(plan(version=1), 0),
        AppendStep(step(0, fingerprint="x")),
        Spend("plan-1", 1, 5),
        Schedule("t-1", later(1), event("tick"), guards="g-1"),
        Publish(event("out", plan_id="plan-1", root_plan_id="plan-1")),
        Close("w-2", ExpectationStatus.CLOSED, NOW),
    )
    await store.plans.answer("g-1", answer("act"), event("wake"), NOW)
    await do(store, Schedule("t-2", later(1), event("tock")))
    await store.queue.fire(later(5), 9)
    await store.queue.sent([one.seq for one in await store.queue.unsent(2)], NOW)
    await store.queue.send([event("q-2")], expectation("q-2"), NOW)
    await store.plans.reserve(Charge("plan-1", 1, 1, 1), Limits())
    await store.plans.settle(Charge("plan-1", 1, 1, 1), Charge("plan-1", 1, 1, 1), entry())
    await store.registry.heartbeat(["worker"], later(1))
    await letters(store)
    await memories(store)
    await reads(store)
    await store.plans.cancel("plan-1", "why", NOW)
    await store.registry.leave(["worker"])


async def memories(store: SqliteStore) -> None:
    at = MemoryKey("default", "plan-1", "k")
    await do(store, StoreMemory(at, [1]), AppendMemory(at, (2,)), StoreMemory(at, 1), IncrementMemory(at, 1))
    await do(store, AppendMemory(replace(at, key="list"), (2,)), DropMemory(at))
    await store.memory.recall(replace(at, key="list"))
    await store.memory.memory_keys("default", "plan-1")
    talk = plan("talk", lineage=Lineage(session_id="s"))
    session = SessionSummary("s", 0, NOW, NOW, "ann", None, {})
    await do(store, OpenSession("default", session), SavePlan(talk, None))
    await do(store, SavePlan(replace(talk, version=1), 0))
    await store.memory.session("default", "s")
    await store.memory.sessions("default", 5)
    for status in (None, PlanStatus.RUNNING):
        await store.plans.plans(tenant_id="default", status=status, root_plan_id=None, limit=5, session_id="s")
    await store.plans.plan_answering("default", "x")
    await store.plans.agents_of_task("x")
    await store.plans.group("g")
    await store.plans.named_expectations(["x"])
    await store.events.handed(["e-1"])
    made = (EventRole.MAKES, EventDefinition(event_name="made"))
    await store.registry.register([agent("gone", events=(made,)), agent("heir", events=(made,))], NOW)
    await do(store, Declare("gone", EventDefinition(event_name="more", topic=EventTopic.BUSINESS_FACTS)))
    await store.registry.definitions("default", "made")
    await store.registry.leave(["gone"])
    await store.registry.deregister("gone", NOW)


async def letters(store: SqliteStore) -> None:
    await store.queue.arrive([event("e-2"), event("e-3")], NOW)
    for delivery in await claimed(store, now=later(60)):
        await end(store, delivery, DeadLetter("no"))
    await store.letters.set_aside(event("e-4"), "no", NOW)
    to_nobody, last, *_ = await store.letters.dead_letters(None, 9)
    await store.letters.redrive(to_nobody)
    await store.letters.redrive(last)
    (again,) = await claimed(store, now=later(60))
    await end(store, again, DeadLetter("no"))
    await store.letters.discard(last.seq, "enough", NOW)
    await store.letters.dead_letter(last.seq)


async def reads(store: SqliteStore) -> None:
    for tenant in (None, "default"):
        for root in (None, "plan-1"):
            await store.events.events(tenant_id=tenant, root_plan_id=root)
            await store.events.events(tenant_id=tenant, root_plan_id=root, newest=True)
            for status in (None, PlanStatus.RUNNING):
                await store.plans.plans(tenant_id=tenant, status=status, root_plan_id=root, limit=5)
        await store.letters.dead_letters(tenant, 5)
    await store.plans.plan("plan-1")
    await store.plans.steps("plan-1", 3)
    await store.plans.repeats("plan-1", "x")
    await store.plans.met_by("plan-1", "r-1")
    await store.plans.expectations(plan_id="plan-1")
    await store.plans.expectations(plan_id="plan-1", only_open=False)
    await store.plans.expectations(tenant_id="default")
    await store.plans.journal("planner", "event-1")
    await store.plans.decisions("plan-1")
    await store.registry.live_events("default", NOW)
    await store.registry.agents(NOW)
    await store.events.event("e-1")


async def traced(store: SqliteStore) -> list[str]:
    seen: set[str] = set()
    store.database.writer.connection.set_trace_callback(seen.add)
    await journey(store)
    store.database.writer.connection.set_trace_callback(None)
    verbs = ("SELECT", "UPDATE", "DELETE", "INSERT")
    return [sql for sql in seen if sql.lstrip().startswith(verbs)]


async def explained(store: SqliteStore, sql: str) -> list[str]:
    rows = await store.database.write(lambda db: db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall())
    return [row[3] for row in rows]


async def test_no_statement_scans_a_table_that_grows(store: SqliteStore) -> None:
    statements = await traced(store)
    assert len(statements) > 100
    scans = {
        f"{line}  <-  {' '.join(sql.split())}"
        for sql in statements
        for line in await explained(store, sql)
        if line.startswith("SCAN")
        and not line.removeprefix("SCAN ").startswith(SMALL)
        and not line.startswith(FROM_THE_END)
    }
    assert scans == set()


async def test_the_hot_statements_need_no_sorting(store: SqliteStore) -> None:
    hot = (
        "FROM session WHERE tenant",
        "AND answer_key =",
        "inbox.ready_at <=",
        "JOIN event ON event.seq = outbox",
        "FROM timer WHERE due",
        "FROM step WHERE plan_id",
    )
    statements = [sql for sql in await traced(store) if any(part in sql for part in hot)]
    assert len(statements) >= len(hot)
    sorted_by_hand = [sql for sql in statements if "USE TEMP B-TREE FOR ORDER BY" in await explained(store, sql)]
    assert sorted_by_hand == []


async def test_this_check_would_see_a_scan(store: SqliteStore) -> None:
    assert await explained(store, "SELECT * FROM inbox WHERE owner = 'x' AND state = 'done'") == ["SCAN inbox"]


class Effort:
    """Counts the steps of the database's machine: the same on every computer, however busy."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.hundreds = 0
        connection.set_progress_handler(self._more, 100)

    def _more(self) -> int:
        self.hundreds += 1
        return 0


DONE_AND_QUEUED = """
    INSERT INTO inbox (agent, event_seq, owner, priority, state)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 110000)
    SELECT 'worker', -n, iif(:one_owner, 'same', n), 0,
        iif(n <= 100000, 'done', iif(:one_owner AND n > 100001, 'blocked', 'queued')) FROM n
"""


@pytest.mark.parametrize("one_owner", [False, True], ids=["many owners", "one owner"])
async def test_a_claim_costs_the_same_however_much_is_stored(store: SqliteStore, one_owner: bool) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event(f"e-{n}") for n in range(20)], NOW)
    few = Effort(store.database.writer.connection)
    for delivery in await claimed(store, limit=10):
        await end(store, delivery)
    await store.database.write(lambda db: db.execute(DONE_AND_QUEUED, {"one_owner": one_owner}))
    many = Effort(store.database.writer.connection)
    for delivery in await claimed(store, limit=10):
        await end(store, delivery)
    await store.queue.next_due(["worker"], NOW)
    assert many.hundreds <= 2 * few.hundreds + 10


async def test_what_is_over_leaves_nothing_to_search_through(store: SqliteStore) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await store.queue.arrive([fact("f-1", {"order_id": "o-1"})], NOW)
    await running(store, wait("w-1"), wait("w-2"), expectation("q-1"))
    await do(store, Schedule("t-1", later(9), event("x"), guards="w-2"), Schedule("t-2", later(9), event("y")))
    await store.queue.arrive([fact("f-2", {"order_id": "o-1"}), reply("r-1", "q-1")], NOW)
    await store.queue.fire(later(9), 9)
    sent = await store.queue.unsent(99)
    await store.queue.sent([one.seq for one in sent], NOW)
    await store.queue.arrive([one.event for one in sent], NOW)
    for table in ("wait_key", "early", "timer", "outbox"):
        assert await store.database.write(lambda db, table=table: db.execute(f"SELECT * FROM {table}").fetchall()) == []


async def test_appending_costs_the_same_however_long_the_list_is(store: SqliteStore) -> None:
    at = MemoryKey("default", "plan-1", "k")

    async def append(count: int) -> int:
        effort = Effort(store.database.writer.connection)
        for n in range(count):
            await store.memory.memorize([AppendMemory(at, (n,))], NOW)
        return effort.hundreds

    few = await append(50)
    await store.memory.memorize([AppendMemory(at, tuple(range(20_000)))], NOW)
    assert await append(50) <= 2 * few + 5


async def test_the_next_event_of_an_owner_with_many_is_found_at_once(store: SqliteStore) -> None:
    await store.database.write(lambda db: db.execute(DONE_AND_QUEUED, {"one_owner": True}))
    await store.database.write(lambda db: db.execute("UPDATE inbox SET event_seq = -event_seq"))
    await store.database.write(
        lambda db: db.execute(
            "INSERT INTO event (seq, id, tenant, type, topic, digest, body) "
            "SELECT event_seq, event_seq, 'default', 'x', 'x', x'', ? FROM inbox",
            (event("any").to_json(),),
        )
    )
    effort = Effort(store.database.writer.connection)
    for expected in (100001, 100002, 100003):
        (delivery,) = await claimed(store)
        assert delivery.seq == expected
        await end(store, delivery)
    assert effort.hundreds < 50
