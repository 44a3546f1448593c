"""No statement of the store reads a growing table from end to end, and none sorts the rows of a sorted index."""

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import test_store_answers
import test_store_beginnings
import test_store_budget
import test_store_definitions
import test_store_effects
import test_store_figures
import test_store_forgetting
import test_store_hands
import test_store_identity
import test_store_inbox
import test_store_letters
import test_store_listing
import test_store_log
import test_store_memory
import test_store_people
import test_store_registry
import test_store_replies
import test_store_runs
import test_store_tasks
import test_store_timers
import test_store_untaken
import test_store_values
import test_store_waits
from msgspec.structs import replace
from sqlite_kit import Effort, explain_plan, scans, trace_statements
from store_kit import (
    NOW,
    agent,
    awaiting_payment,
    claim_all,
    do,
    end,
    entry,
    event,
    expectation,
    fact,
    find,
    later,
    open_store,
    plan,
    reply,
    save_running_plan,
    settle,
    wait,
)

from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY
from soorma_ai.features.tracking import tenant_stats
from soorma_ai.features.tracking.listing import MOST_LOOKED_AT
from soorma_ai.features.tracking.ports import PLAN_LISTS, PlanFilter, WantedPart
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.memory import AppendMemory, MemoryKey
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Brought, Settlement, Store
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.signals import Signals
from soorma_ai.kernel.runtime.loops.intake import take_in
from soorma_ai.testing.clock import VirtualClock

FREE = Charge("plan-1", 0, 0, 0.0)

# These end at their LIMIT.
FROM_THE_END = ("SCAN plan", "SCAN page", "SCAN own", "SCAN named", "SCAN inbox USING INDEX inbox_dead")
# As long as the list of open rows, or of rows held up behind them.
OPEN = (
    "SCAN expectation USING INDEX expectation_open_tenant",
    "SCAN expectation USING INDEX expectation_offer",
    "SCAN inbox USING INDEX inbox_head",
    "SCAN inbox USING INDEX inbox_blocked",
    "SCAN behind USING INDEX inbox_blocked",
)
REGISTERED = ("SCAN taking",)
BY_NUMBER = ("SCAN memo_text VIRTUAL TABLE INDEX 0:=",)
# These read all events, and all questions of a tenant: the sweep's look into the outbox, the count of waiting requests
# by target, and a closed question named by the beginning of its id.
WHOLE = re.compile(r"event\.plan_id = plan\.plan_id|target IS NOT NULL|FROM expectation WHERE tenant = '\w+' AND true")
SUITES = (
    *(test_store_answers, test_store_beginnings, test_store_budget, test_store_definitions, test_store_effects),
    *(test_store_hands, test_store_inbox, test_store_letters, test_store_log, test_store_memory, test_store_registry),
    test_store_people,
    test_store_identity,
    test_store_figures,
    test_store_listing,
    *(test_store_replies, test_store_runs, test_store_tasks, test_store_timers, test_store_untaken, test_store_values),
    *(test_store_forgetting, test_store_waits),
)


@pytest.fixture(scope="module")
def statements() -> list[str]:
    """Collect the statements of all contract tests with a store as their only fixture."""
    tests = [test for suite in SUITES for name, test in vars(suite).items() if name.startswith("test_")]
    seen: set[str] = set()

    async def run(test: Callable[[Store], Awaitable[None]]) -> None:
        async with open_store(SqliteStore(None, ALL_FEATURES)) as store:
            with trace_statements(store) as told:
                await test(store)
            seen.update(told)

    for test in tests:
        if list(inspect.signature(test).parameters) == ["store"]:
            asyncio.run(run(test))
    return [sql for sql in seen if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))]


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    async with open_store(SqliteStore(None, ALL_FEATURES)) as made:  # reads go over the traced connection too
        yield made


async def test_no_statement_scans_a_growing_table(store: SqliteStore, statements: list[str]) -> None:
    assert len(statements) > 1000
    others = [sql for sql in statements if not WHOLE.search(sql)]
    assert await scans(store, others, FROM_THE_END + OPEN + REGISTERED + BY_NUMBER) == set()


async def test_the_hot_statements_need_no_sorting(store: SqliteStore, statements: list[str]) -> None:
    for part in (
        "FROM session WHERE tenant",
        "AND answer_key =",
        "inbox.ready_at <=",
        "AND inbox.state = 'blocked' ORDER BY",
        "JOIN event ON event.seq = outbox",
        "FROM timer WHERE due",
        "FROM step WHERE plan_id",
        "FROM sub_task WHERE agent",
    ):
        plans = [await explain_plan(store, sql) for sql in statements if part in sql]
        assert plans
        assert [plan for plan in plans if "USE TEMP B-TREE FOR ORDER BY" in plan] == []


async def test_this_check_would_see_a_scan(store: SqliteStore) -> None:
    assert await explain_plan(store, "SELECT * FROM inbox WHERE owner = 'x' AND state = 'done'") == ["SCAN inbox"]


async def test_the_registry_is_read_once_until_it_changes(store: SqliteStore) -> None:
    async def look() -> list[str]:
        with trace_statements(store) as told:
            await store.registry.live_events("default", NOW)
            await store.registry.all_events("default")
            await store.registry.definitions("default", "work.asked")
        return sorted(told)

    await store.registry.register([agent("worker", "work.asked")], NOW)
    assert await look() != []
    assert await look() == []
    await store.registry.heartbeat(["worker"], later(1))
    (again, *_) = await look()
    assert "heartbeat" in again


DONE_AND_QUEUED = """
    INSERT INTO inbox (agent, event_seq, owner, priority, state)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 110000)
    SELECT 'worker', -n, iif(:one_owner, 'same', n), 0,
        iif(n <= 100000, 'done', iif(:one_owner AND n > 100001, 'blocked', 'queued')) FROM n
"""


@pytest.mark.parametrize("one_owner", [False, True], ids=["many owners", "one owner"])
async def test_a_claim_costs_the_same_at_any_size_of_the_store(store: SqliteStore, one_owner: bool) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event(f"e-{n}") for n in range(20)], NOW)
    few = Effort(store)
    for delivery in await claim_all(store, limit=10):
        await end(store, delivery)
    await store.database.write(lambda db: db.execute(DONE_AND_QUEUED, {"one_owner": one_owner}))
    many = Effort(store)
    for delivery in await claim_all(store, limit=10):
        await end(store, delivery)
    await store.queue.next_due(["worker"], NOW)
    assert many.hundreds <= 2 * few.hundreds + 10


async def test_a_reply_costs_the_same_after_any_number_of_earlier_requests(store: SqliteStore) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)

    async def come(first: int) -> int:
        ids = [f"e-{n}" for n in range(first, first + 10)]
        await save_running_plan(store, *map(expectation, ids), plan_id=f"plan-{first}")
        await store.queue.arrive([event(id) for id in ids], NOW)
        replies = [reply(f"r-{id}", id, source="worker") for id in ids]
        effort = Effort(store)
        await store.queue.arrive(replies, NOW)
        assert {(await find(store, id)).status for id in ids} == {"met"}
        return effort.hundreds

    few = await come(0)
    await store.database.write(lambda db: db.execute(DONE_AND_QUEUED, {"one_owner": False}))
    assert await come(100) <= 2 * few + 5


async def test_one_sub_task_costs_the_same_beside_any_number_of_others(store: SqliteStore) -> None:
    async def look() -> int:
        effort = Effort(store)
        for _ in range(20):
            assert len(await store.plans.sub_tasks("worker", "t-1", 1, 1)) == 1
        return effort.hundreds

    await test_store_tasks.save_task(store)
    few = await look()
    await store.database.write(lambda db: db.execute(MANY_PARTS))
    assert await look() <= few + 1


MANY_PARTS = """
    INSERT INTO sub_task (agent, task_id, ordinal, body)
    WITH RECURSIVE n (n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
    SELECT agent, task_id, n, body FROM n, sub_task WHERE ordinal = 1
"""


async def test_ended_waits_timers_and_deliveries_leave_no_row_to_search_through(store: SqliteStore) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await store.queue.arrive([fact("f-1", {"order_id": "o-1"})], NOW)
    await save_running_plan(store, wait("w-1"), wait("w-2"), expectation("q-1"))
    told = [event(name, "told", EventTopic.BUSINESS_FACTS) for name in "xy"]
    await do(store, Schedule("t-1", later(9), told[0], guards="w-2"), Schedule("t-2", later(9), told[1]))
    await store.queue.arrive([fact("f-2", {"order_id": "o-1"}), reply("r-1", "q-1")], NOW)
    await store.queue.fire(later(9), 9)
    sent = await store.queue.unsent(99)
    await store.queue.mark_sent([one.seq for one in sent], NOW)
    await store.queue.arrive([one.event for one in sent], NOW)
    for table in ("wait_key", "early", "timer", "outbox"):
        assert await store.database.write(lambda db, table=table: db.execute(f"SELECT * FROM {table}").fetchall()) == []


async def test_appending_costs_the_same_at_any_length_of_the_list(store: SqliteStore) -> None:
    at = MemoryKey("default", "plan-1", "k")

    async def append(count: int) -> int:
        effort = Effort(store)
        for n in range(count):
            await store.part(PLAN_MEMORY).memorize([AppendMemory(at, (n,))], NOW)
        return effort.hundreds

    few = await append(50)
    await store.part(PLAN_MEMORY).memorize([AppendMemory(at, tuple(range(20_000)))], NOW)
    assert await append(50) <= 2 * few + 5


MANY_QUESTIONS = """
    INSERT INTO expectation
        (id, kind, agent, tenant, plan_id, root_plan_id, event_type, event_topic, opened_at, status, rest, same)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
    SELECT 'w-' || n, kind, agent, tenant, 'p-' || n, 'p-' || n, event_type, event_topic, n, 'open', rest, same
    FROM n, expectation WHERE id = 'mine'
"""


async def test_the_questions_of_a_tree_cost_the_same_beside_any_number_of_others(store: SqliteStore) -> None:
    async def look() -> int:
        effort = Effort(store)
        for _ in range(20):
            assert len(await store.plans.open_in_tree("plan-1")) == 1
            assert len(await store.plans.questions_beginning("default", "min", 9)) == 1
        return effort.hundreds

    await save_running_plan(store, wait("mine"))
    few = await look()
    await store.database.write(lambda db: db.execute(MANY_QUESTIONS))
    assert await look() <= 2 * few + 5


async def test_an_untaken_request_costs_the_same_beside_any_number_of_waiting_ones(store: SqliteStore) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    services = Services(store, VirtualClock(), PromptFiles(), Signals())

    def asked(first: int, count: int) -> list[EventEnvelope]:
        of = {"target": "nobody", "unchecked": True}
        return [event(f"e-{n}").model_copy(update=of) for n in range(first, first + count)]

    async def come(first: int) -> int:
        effort = Effort(store)
        for one in asked(first, 20):
            await take_in(services, [Brought(one, is_own=False)])
        return effort.hundreds

    few = await come(0)
    await store.queue.arrive(asked(1000, 2000), NOW)
    assert await come(100) <= 2 * few + 5


HELD = """
    INSERT INTO expectation (id, kind, agent, tenant, event_type, event_topic, opened_at, status, rest, same)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
    SELECT 'g-' || n, 'gate', agent, tenant, event_type, event_topic, n, 'open', rest, same
    FROM n, expectation WHERE id = 'mine'
"""


async def test_a_list_of_questions_costs_its_own_length_beside_any_number_of_others(store: SqliteStore) -> None:
    async def look() -> int:
        effort = Effort(store)
        for _ in range(20):
            assert len(await store.plans.questions("default", 1)) == 1
            assert await store.plans.count_held("default", "ann", 5) == 0
        return effort.hundreds

    await save_running_plan(store, wait("mine"))
    few = await look()
    await store.database.write(lambda db: db.execute(HELD))
    assert await look() <= 2 * few + 5


MANY_PLANS = """
    INSERT INTO plan (plan_id, tenant, agent, status, root_plan_id, goal_id, version, rest, user_id)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
    SELECT 'p-' || n, tenant, agent, status, 'p-' || n, 'g-' || n, version, rest, 'ben' FROM n, plan WHERE seq = 1
"""
MANY_NAMED = """
    INSERT INTO asked_role (tenant, role, due, opened_at, expectation_id)
    SELECT tenant, 'ceo', opened_at, opened_at, id FROM expectation WHERE id <> 'mine'
"""
MANY_SESSIONS = """
    INSERT INTO session (tenant, session_id, user_id, metadata, created_at, last_activity, plans)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
    SELECT 'default', 's-' || n, 'ben', '{}', n, n, 0 FROM n
"""


async def test_the_lists_of_one_user_cost_the_same_beside_any_rows_of_others(store: SqliteStore) -> None:
    async def look() -> int:
        effort = Effort(store)
        for _ in range(20):
            found = await store.plans.plans(
                tenant_id="default", status=None, root_plan_id=None, limit=50, user_id="local"
            )
            assert len(found) == 1
            assert await store.memory.sessions("default", 50, user_id="local") == []
            assert await store.plans.questions("default", 50, user_id="local") == []
            assert len(await store.plans.questions("default", 50, user_id="local", roles=["cfo"])) == 1
        return effort.hundreds

    asked = wait("mine")
    assert asked.ask is not None
    await save_running_plan(store, replace(asked, user_id="ben", ask=replace(asked.ask, approvers=("cfo",))))
    few = await look()
    await store.database.write(lambda db: db.execute(MANY_PLANS))
    await store.database.write(lambda db: db.execute(MANY_SESSIONS))
    await store.database.write(lambda db: db.execute(MANY_QUESTIONS))
    await store.database.write(lambda db: db.execute(MANY_NAMED))
    assert await look() <= 2 * few + 5


async def test_a_page_of_plans_costs_the_same_beside_any_number_of_plans(store: SqliteStore) -> None:
    async def look() -> int:
        effort = Effort(store)
        for wanted in (PlanFilter(), PlanFilter((PlanStatus.RUNNING,)), PlanFilter(search="p")):
            page = await store.part(PLAN_LISTS).plan_page("default", None, wanted, 0, 1)
            assert len(page.rows) == 1
            assert len(await store.part(PLAN_LISTS).first_awaited([page.rows[0].plan.plan_id], 4)) <= 1
        return effort.hundreds

    await save_running_plan(store, wait("mine"))
    few = await look()
    many = MANY_PLANS.replace("user_id)", "user_id, limits)").replace("'ben' FROM", "'ben', limits FROM")
    await store.database.write(lambda db: db.execute(many))
    most = await look()
    await store.database.write(lambda db: db.execute(many.replace("'p-'", "'q-'")))
    assert await look() <= most + 5
    assert most <= few + 3 * MOST_LOOKED_AT / 5


async def test_the_next_event_of_an_owner_with_many_is_found_at_once(store: SqliteStore) -> None:
    await store.database.write(lambda db: db.execute(DONE_AND_QUEUED, {"one_owner": True}))
    await store.database.write(lambda db: db.execute("UPDATE inbox SET event_seq = -event_seq"))
    await store.database.write(
        lambda db: db.execute(
            "INSERT INTO event (seq, id, tenant, type, topic, digest, rest) "
            "SELECT event_seq, event_seq, 'default', 'x', 'x', x'', ? FROM inbox",
            (event("any").to_json(),),
        )
    )
    effort = Effort(store)
    for expected in (100001, 100002, 100003):
        (delivery,) = await claim_all(store)
        assert delivery.seq == expected
        await end(store, delivery)
    assert effort.hundreds < 50


async def test_open_questions_are_counted_by_a_covering_index(store: SqliteStore) -> None:
    with trace_statements(store) as seen:
        await store.database.read(lambda db: tenant_stats.tenant_stats(db, "default", NOW, 5_000))
    (counting,) = [sql for sql in seen if "AS asked GROUP BY" in sql]
    looks = [line for line in await explain_plan(store, counting) if "expectation" in line]
    assert looks == ["SEARCH expectation USING COVERING INDEX expectation_age (tenant=? AND kind=?)"] * 3


async def test_a_part_of_a_plan_costs_the_same_at_any_number_of_decisions(store: SqliteStore) -> None:
    record, cost = plan(), list[int]()
    wanted = WantedPart(("cause-90",), (), None, is_first=False, is_last=False, most=100)
    for upto in (100, 1_000):
        for number in range(upto // 2 if upto > 100 else 0, upto):
            await settle(store, Settlement(FREE, FREE, entry(cause=f"cause-{number}", plan_id=record.plan_id)))
        effort = Effort(store)
        rows = await store.part(PLAN_LISTS).rows_of_part(record, wanted)
        assert [one.key.cause_id for one in rows.decisions] == ["cause-90"]
        cost.append(effort.hundreds)
    assert rows.decisions_before == 90 and cost[1] <= cost[0] + 5, cost
