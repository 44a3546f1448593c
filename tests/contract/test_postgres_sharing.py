"""Commits of several processes at the same time: those of other trees pass, and nothing is stuck, missed or doubled."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from os import getpid
from typing import Any

import psycopg
import pytest
from postgres_server import Server
from store_kit import (
    LEASE,
    NOW,
    FreeHands,
    agent,
    awaiting_payment,
    claim_all,
    do,
    event,
    expectation,
    fact,
    hold_delivery,
    open_store,
    plan,
    planner,
    reply,
)

from soorma_ai.adapters.postgres import PostgresStore, listener, writer
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.holders import find_holders
from soorma_ai.adapters.postgres.locks import LOCK, share_lock
from soorma_ai.adapters.postgres.readers import READERS
from soorma_ai.adapters.postgres.schema import SCHEMA
from soorma_ai.adapters.postgres.sessions import connection_to
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.features.upkeep.postgres import look_at
from soorma_ai.kernel.domain.effects import Ack, Expect, Publish, SavePlan
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.ports import Delivery, Work
from soorma_ai.kernel.sql import effects
from soorma_ai.kernel.sql.commit_keys import keys_of_work
from soorma_ai.kernel.sql.connection import Connection as AnyConnection
from soorma_ai.kernel.sql.tables import events as log

Pair = tuple[PostgresStore, PostgresStore]


@pytest.fixture
async def url(postgres: Server) -> str:
    return postgres.empty()


@pytest.fixture
async def both(url: str) -> AsyncIterator[Pair]:
    async with (
        open_store(PostgresStore(url, ALL_FEATURES)) as one,
        open_store(PostgresStore(url, ALL_FEATURES)) as other,
    ):
        for store in (one, other):
            store.deliver(FreeHands(), LEASE)
        yield one, other


@asynccontextmanager
async def kept_open(
    store: PostgresStore, operation: Callable[[AnyConnection], object], *keys: str
) -> AsyncGenerator[None]:
    """A transaction with these keys that has done its work, and is not committed before this ends."""
    done, end, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def work(db: AnyConnection) -> None:
        operation(db)
        loop.call_soon_threadsafe(done.set)
        end.wait(30)

    committing = asyncio.ensure_future(store.database.publish(work, NOW, keys=frozenset(keys)))
    await asyncio.wait([committing, asyncio.ensure_future(done.wait())], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield
    finally:
        end.set()
        await committing


def until_a_transaction_waits(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as looking:
        while looking.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is None:
            pass


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        pass


def nothing(db: AnyConnection) -> None:
    pass


async def test_commits_of_other_trees_pass_and_one_of_the_same_tree_waits(both: Pair, url: str) -> None:
    one, other = both
    beginning, following = await hold_delivery(other), await hold_delivery(other)
    async with kept_open(one, nothing, "plan-1"):
        await other.queue.commit(Work(beginning, Ack(), (SavePlan(plan("plan-2"), None),)), NOW)
        waiting = asyncio.ensure_future(
            other.queue.commit(Work(following, Ack(), (SavePlan(plan("plan-1"), None),)), NOW)
        )
        await asyncio.to_thread(until_a_transaction_waits, url)
        assert not waiting.done()
    await waiting
    assert await one.plans.plan("plan-1") and await one.plans.plan("plan-2")


async def deliver_behind_an_ending_head(
    one: PostgresStore, other: PostgresStore, url: str, root: str = "plan-1"
) -> list[str]:
    """Let a reply arrive in a plan's line while its head ends in another process; return what can be claimed then."""
    await one.registry.register([planner()], NOW)
    asked = [expectation(id, root_plan_id=root) for id in ("q-1", "q-2")]
    await do(one, SavePlan(plan(root_plan_id=root), None), *map(Expect, asked))
    await one.queue.send([reply("r-1", "q-1")], None, NOW)
    (head,) = await claim_all(one, "planner")
    giver = await hold_delivery(other)
    ending = Work(head, Ack(), ())
    keys = keys_of_work(ending)
    assert keys is not None
    async with kept_open(one, lambda db: effects.commit(db, ending, NOW), *keys):
        published = reply("r-2", "q-2").model_copy(update={"root_plan_id": root, "plan_id": "plan-1"})
        arriving = asyncio.ensure_future(other.queue.commit(Work(giver, Ack(), (Publish(published),)), NOW))
        waits = asyncio.ensure_future(asyncio.to_thread(until_a_transaction_waits_or, url, arriving))
        await asyncio.wait([arriving, waits], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(arriving, waits)
    return [found.event.id for found in await claim_all(one, "planner")]


def until_a_transaction_waits_or(url: str, done: "asyncio.Future[Any]") -> None:
    with psycopg.connect(url, autocommit=True) as looking:
        while not done.done() and looking.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is None:
            pass


@pytest.mark.parametrize("root", ["plan-1", "root"])
async def test_an_arrival_while_the_head_of_its_line_ends_is_handed_over(both: Pair, url: str, root: str) -> None:
    assert await deliver_behind_an_ending_head(*both, url, root) == ["r-2"]


async def test_without_the_locks_of_keys_it_would_be_stuck(
    both: Pair, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def share_alone(keys: Iterable[str]) -> str:
        return share_lock(())

    monkeypatch.setattr(writer, "share_lock", share_alone)
    assert await deliver_behind_an_ending_head(*both, url) == []


async def follow_two_commits(one: PostgresStore, other: PostgresStore) -> list[str]:
    """Follow the log while an event with an earlier place is committed after one with a later place."""
    seen: list[str] = []
    place = 0

    async def look() -> None:
        nonlocal place
        for found in await other.events.events(after=place, limit=100):
            seen.append(found.event.id)
            place = found.seq

    await other.queue.send([event("before")], None, NOW)
    await one.queue.send([event("of this process")], None, NOW)
    await look()
    async with kept_open(one, lambda db: log.publish(db, fact("first")), "first"):
        await other.queue.send([fact("second")], None, NOW)
        await look()
    await look()
    return seen[2:]


async def test_a_follower_misses_no_event_that_is_committed_late(both: Pair) -> None:
    assert await follow_two_commits(*both) == ["first", "second"]


async def test_without_marks_it_would_miss_one(both: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "mark", "SELECT 1")
    assert await follow_two_commits(*both) == ["second"]


async def test_a_page_of_a_tenant_and_of_a_user_end_before_an_open_commit(both: Pair) -> None:
    one, other = both
    await one.queue.send([event("before")], None, NOW)
    async with kept_open(one, lambda db: log.publish(db, fact("first")), "first"):
        await other.queue.send([fact("second")], None, NOW)
        for user_id in (None, "local"):
            page = await other.events.page("default", 0, 10, user_id=user_id)
            assert [found.event.id for found in page.events] == ["before"]
            assert page.after == page.events[-1].seq
        assert [found.event.id for found in await other.events.events(limit=1, newest=True)] == ["before"]
    for user_id in (None, "local"):
        page = await other.events.page("default", 0, 10, user_id=user_id)
        assert [found.event.id for found in page.events] == ["before", "first", "second"]


@pytest.mark.parametrize("alone", ["registration", "fact", "session"])
async def test_a_commit_beyond_its_tree_waits_for_all_others(both: Pair, url: str, alone: str) -> None:
    one, other = both
    await other.registry.register([awaiting_payment()], NOW)
    giver: Delivery = await hold_delivery(other)

    async def act() -> object:
        match alone:
            case "registration":
                return await other.registry.register([agent("new", "new.asked")], NOW)
            case "fact":
                return await other.queue.send([fact("f-1", {"order_id": "o-1"})], None, NOW)
            case _:
                begun = plan("plan-9", lineage=Lineage(plan_id="plan-9", root_plan_id="plan-9", session_id="s-1"))
                return await other.queue.commit(Work(giver, Ack(), (SavePlan(begun, None),)), NOW)

    async with kept_open(one, nothing, "elsewhere"):
        acting = asyncio.ensure_future(act())
        await asyncio.to_thread(until_a_transaction_waits, url)
        assert not acting.done()
    await acting


async def test_a_process_shares_and_tells_only_with_others(url: str) -> None:
    async with open_store(PostgresStore(url, ALL_FEATURES, absence=timedelta(milliseconds=50))) as one:
        await asyncio.to_thread(until, lambda: not one.database.shares)
        async with open_store(PostgresStore(url, ALL_FEATURES)) as other:
            await asyncio.to_thread(until, lambda: one.database.shares)
            assert other.database.shares


async def test_work_goes_on_after_the_server_has_forgotten_prepared_statements(both: Pair) -> None:
    store, _ = both

    def forget(db: Any) -> None:
        db.execute("DEALLOCATE ALL")

    async def work(plan_id: str) -> None:
        held = await hold_delivery(store)
        await store.queue.commit(Work(held, Ack(), (SavePlan(plan(plan_id), None),)), NOW)
        for _ in range(2 * READERS):
            assert await store.plans.cancellation(plan_id) is None

    await work("plan-1")
    await store.database.publish(forget, NOW, keys=frozenset())
    await asyncio.gather(*(store.database.read(forget) for _ in range(4 * READERS)))
    await work("plan-2")


async def test_a_transaction_left_open_is_reported_with_its_process(
    both: Pair, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "HELD_SECONDS", 0.0)
    one, _ = both
    async with kept_open(one, nothing, "plan-1"):
        with connection_to(url) as looking:
            [found] = find_holders(looking, 0.0)
        assert (found.process.split(" on ")[0], found.state) == (f"soorma {getpid()}", "idle in transaction")
        await asyncio.to_thread(until, lambda: any(str(found.pid) in str(vars(line)) for line in caplog.records))
        assert "transaction_left_open" in caplog.text
    with connection_to(url) as looking:
        assert find_holders(looking, 0.0) == []


async def test_a_program_with_the_common_lock_is_found_by_its_name(both: Pair, url: str) -> None:
    with psycopg.connect(url, application_name="a report") as other, connection_to(url) as looking:
        other.execute(f"SET search_path = {SCHEMA}")
        other.execute(LOCK)
        [found] = find_holders(looking, 0.0)
        assert (found.process, "a transaction of a report" in str(found)) == ("a report", True)
        assert look_at(url).holding == ()  # not long enough
