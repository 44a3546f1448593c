"""Waiting operations share a commit, and nothing else: a failing one harms no other."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from store_kit import NOW, agent, claim_all, do, event, hold_delivery, in_line, open_store, plan, step, unsent_ids
from test_store_answers import answered_at_once

from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.file.faults import translate
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, LocalProtocolError, SoormaError, StoreUnavailable, VersionConflict
from soorma_ai.kernel.domain.effects import Ack, AppendStep, Publish, SavePlan
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.ports import Work
from soorma_ai.kernel.sql import registration
from soorma_ai.kernel.sql.codec import ANSWER
from soorma_ai.kernel.sql.parts import SqlPlans

Call = Coroutine[Any, Any, object]


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(
        SqliteStore(None if request.param == "memory" else tmp_path / "store.db", ALL_FEATURES)
    ) as made:
        yield made


@asynccontextmanager
async def hold_up(store: SqliteStore) -> AsyncGenerator[None]:
    """Let the operations of the block wait together, and run as one group afterwards."""
    entered, go_on = threading.Event(), threading.Event()

    def occupy(_: sqlite3.Connection) -> None:
        entered.set()
        go_on.wait(60)

    occupied = asyncio.create_task(store.database.write(occupy, is_long=True))
    await asyncio.to_thread(entered.wait, 60)
    try:
        yield
    finally:
        go_on.set()
        await occupied


async def as_one_group(store: SqliteStore, *calls: Call) -> list[object]:
    async with hold_up(store):
        tasks = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True)


def count_statements(store: SqliteStore, statement: str) -> list[str]:
    seen: list[str] = []
    store.database.writer.connection.set_trace_callback(lambda sql: seen.append(sql) if sql == statement else None)
    return seen


def run_sql(sql: str) -> Callable[[sqlite3.Connection], object]:
    return lambda db: db.execute(sql)


async def test_operations_waiting_together_share_one_commit(store: SqliteStore) -> None:
    commits = count_statements(store, "COMMIT")
    await as_one_group(store, *(store.queue.send([event(f"e-{n}")], None, NOW) for n in range(100)))
    assert len(commits) == 2, "one of the operation before them, one of theirs"
    assert await unsent_ids(store) == [f"e-{n}" for n in range(100)]


async def test_a_lone_operation_begins_at_its_call_and_others_share_the_next_commit(tmp_path: Path) -> None:
    async def send_together(*ids: str) -> int:
        before = len(commits)
        await asyncio.gather(*(store.queue.send([event(one)], None, NOW) for one in ids))
        return len(commits) - before

    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        commits = count_statements(store, "COMMIT")
        assert await send_together("alone") == 1
        assert await send_together("a", "b", "c") == 2, "the first began without the others"
        assert await send_together("d", "e", "f") == 1, "where several came before, several are waited for"


async def test_more_than_a_group_at_once_is_done_in_several(store: SqliteStore) -> None:
    await as_one_group(store, *(store.queue.send([event(f"e-{n}")], None, NOW) for n in range(300)))
    assert await unsent_ids(store) == [f"e-{n}" for n in range(300)]


async def test_a_failing_operation_harms_no_other_of_its_group(store: SqliteStore) -> None:
    await do(store, AppendStep(step(0)))
    deliveries = [await hold_delivery(store) for _ in range(6)]
    works = [
        Work(delivery, Ack(), (Publish(event(f"out-{n}")), AppendStep(step(0 if n % 2 else n + 1))))
        for n, delivery in enumerate(deliveries)
    ]
    commits = count_statements(store, "COMMIT")
    results = await as_one_group(store, *(store.queue.commit(work, NOW) for work in works))
    assert len(commits) == 2
    assert [type(result) for result in results] == [Arrival, VersionConflict] * 3
    assert await unsent_ids(store) == ["out-0", "out-2", "out-4"]
    assert [one.ordinal for one in await store.plans.steps("plan-1")] == [0, 1, 3, 5]
    await store.queue.commit(Work(deliveries[1], Ack(), ()), NOW)


async def test_a_failing_operation_alone_leaves_nothing(store: SqliteStore) -> None:
    def half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO outbox (event_seq) VALUES (1)")
        raise LocalProtocolError("half way")

    with pytest.raises(LocalProtocolError, match="half way"):
        await store.database.write(half)
    assert await store.database.write(lambda db: db.execute("SELECT count(*) FROM outbox").fetchone()) == (0,)


async def test_a_bug_in_an_operation_reaches_its_caller_and_the_thread_lives_on(store: SqliteStore) -> None:
    def faulty(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError("a bug")

    results = await as_one_group(store, store.database.write(faulty), store.queue.send([event("e-1")], None, NOW))
    assert isinstance(results[0], ZeroDivisionError) and isinstance(results[1], Arrival)
    assert await unsent_ids(store) == ["e-1"]


async def test_a_failed_commit_fails_all_its_operations_and_the_thread_lives_on(store: SqliteStore) -> None:
    await store.database.write(run_sql("CREATE TABLE parent (id INTEGER PRIMARY KEY)"))
    await store.database.write(
        run_sql("CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
    )
    store.database.writer.connection.execute("PRAGMA foreign_keys = ON")
    results = await as_one_group(
        store,
        store.queue.send([event("e-1")], None, NOW),
        store.database.write(run_sql("INSERT INTO child VALUES (99)")),  # found out by the COMMIT only
        store.queue.send([event("e-2")], None, NOW),
    )
    assert [type(result) for result in results] == [StoreUnavailable] * 3
    assert isinstance(results[0], SoormaError) and isinstance(results[0].__cause__, sqlite3.Error)
    assert await unsent_ids(store) == []
    await store.queue.send([event("e-2")], None, NOW)
    assert await unsent_ids(store) == ["e-2"]


async def test_a_transaction_lost_midway_is_lost_to_its_cause_alone(store: SqliteStore) -> None:
    await store.database.write(run_sql("CREATE TABLE trap (x)"))
    await store.database.write(
        run_sql("CREATE TRIGGER snap BEFORE INSERT ON trap BEGIN SELECT RAISE(ROLLBACK, 'snap'); END")
    )
    results = await as_one_group(
        store,
        store.registry.register([agent("worker", "work.asked")], NOW),
        store.queue.arrive([event("e-0")], NOW),
        store.database.write(run_sql("INSERT INTO trap VALUES (1)")),
        store.queue.send([event("e-1")], None, NOW),
    )
    assert [isinstance(result, SoormaError) for result in results] == [False, False, True, False]
    assert [stored.event.id for stored in await store.events.events()] == ["e-0", "e-1"]
    arrival = await store.queue.arrive([event("e-2")], NOW)
    assert arrival.agents == {"worker"}


async def test_a_full_disk_may_have_room_later(store: SqliteStore) -> None:
    connection = store.database.writer.connection
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    big = {"text": "x" * 100_000}
    results = await as_one_group(store, *(store.queue.send([event(f"e-{n}", data=big)], None, NOW) for n in range(3)))
    assert [type(result) for result in results] == [StoreUnavailable] * 3
    assert await store.events.events() == []
    connection.execute("PRAGMA max_page_count = 1000000")
    await store.queue.send([event("e-1", data=big)], None, NOW)
    assert await unsent_ids(store) == ["e-1"]


async def test_an_operation_given_up_before_its_turn_is_not_done(store: SqliteStore) -> None:
    await in_line(store, "e-1")
    async with hold_up(store):
        given_up = asyncio.create_task(claim_all(store))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
    assert given_up.cancelled()
    assert len(await claim_all(store)) == 1


async def test_closing_first_does_all_waiting_operations(tmp_path: Path) -> None:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        asked = [asyncio.create_task(store.queue.send([event(f"e-{n}")], None, NOW)) for n in range(300)]
        await asyncio.sleep(0)
    await asyncio.gather(*asked)
    async with open_store(store):
        assert len(await store.queue.unsent(1000)) == 300


async def test_reading_inside_a_file_needs_no_turn_of_the_writer(tmp_path: Path) -> None:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        await do(store, SavePlan(plan(), None))
        async with hold_up(store):
            pending = asyncio.create_task(store.plans.cancel("plan-1", "why", NOW))
            await asyncio.sleep(0)
            assert await store.plans.plan("plan-1") == plan(), "what is not committed is not seen"
        assert await pending is True


async def test_a_slow_disk_stops_neither_the_loop_nor_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        connection = store.database.writer.connection
        execute, committing, go_on = connection.execute, threading.Event(), threading.Event()

        def slow(sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "COMMIT":
                committing.set()
                go_on.wait(60)
            return execute(sql, *values)

        monkeypatch.setattr(connection, "execute", slow)
        sending = asyncio.create_task(store.queue.send([event("e-1")], None, NOW))
        await asyncio.to_thread(committing.wait, 60)
        assert await store.events.events() == []
        later_one = asyncio.create_task(store.queue.send([event("e-2")], None, NOW))
        await asyncio.sleep(0)
        assert not sending.done() and not later_one.done()
        go_on.set()
        await asyncio.gather(sending, later_one)
        assert await unsent_ids(store) == ["e-1", "e-2"]


async def test_a_file_locked_by_another_stops_neither_the_loop_nor_the_store(tmp_path: Path) -> None:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        sending = asyncio.create_task(store.queue.send([event("e-1")], None, NOW))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not sending.done()
        other.execute("ROLLBACK")
        other.close()
        await sending
        assert await unsent_ids(store) == ["e-1"]


async def test_a_broken_listener_takes_nothing_from_the_others(store: SqliteStore) -> None:
    told: list[str] = []
    broken: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: broken.append(context))

    def breaks(value: object, is_stored: bool) -> None:
        raise ZeroDivisionError("a bug")

    writer = store.database.writer
    await asyncio.gather(
        writer.do(lambda db: "first", breaks),
        writer.do(lambda db: "second", lambda value, is_stored: told.append(f"{value}, {is_stored}")),
    )
    assert (told, len(broken)) == (["second, True"], 1)
    await store.queue.send([event("e-1")], None, NOW)


async def test_an_undone_registration_leaves_no_route(store: SqliteStore) -> None:
    def half(db: Connection) -> None:
        registration.register(db, store.database.routes, [agent("ghost", "ghost.asked")], NOW)
        assert store.database.routes.index(db).requests() == ["ghost.asked"]
        raise LocalProtocolError("half way")

    with pytest.raises(LocalProtocolError, match="half way"):
        await store.database.write(half)
    assert (await store.queue.arrive([event("e-1", "ghost.asked")], NOW)).agents == frozenset()


async def test_a_write_before_the_opening_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="not open"):
        _ = SqliteStore(tmp_path / "store.db", ALL_FEATURES).database.writer


async def test_listeners_can_be_named_before_a_store_is_opened(tmp_path: Path) -> None:
    told: list[str] = []
    store = SqliteStore(tmp_path / "store.db", ALL_FEATURES)
    store.notify(
        lambda is_leaving: told.append(f"commit, leaving: {is_leaving}"), lambda arrival: told.append("arrival")
    )
    async with open_store(store):
        await store.queue.send([event("e-1")], None, NOW)
    assert told == ["commit, leaving: True"], "nothing has arrived: the store does not deliver"


class Careless(SqlPlans):
    """Takes an answer without a look for an earlier one, once two are given."""

    both: asyncio.Barrier

    async def answer(self, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
        await self.both.wait()
        update = "UPDATE expectation SET status = 'met', met_by = ?, answer = ? WHERE id = ?"
        values = (wake.id, ANSWER.text(answer), wait_id)
        await self.database.write(lambda db: db.execute(update, values))
        return True


async def test_two_people_at_once_reveal_an_answer_without_compare_and_set(store: SqliteStore) -> None:
    store.plans = careless = Careless(store.database)
    careless.both = asyncio.Barrier(2)
    with pytest.raises(AssertionError, match="accepted"):
        await answered_at_once(store, 2)


def fault_of(code: int, kind: type[sqlite3.Error] = sqlite3.OperationalError) -> sqlite3.Error:
    error = kind("as the library puts it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (fault_of(sqlite3.SQLITE_BUSY), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_BUSY_SNAPSHOT), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_LOCKED), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_IOERR_FSYNC), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_FULL), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_READONLY), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_CANTOPEN), StoreUnavailable),
        (fault_of(sqlite3.SQLITE_CORRUPT, sqlite3.DatabaseError), ConfigError),
        (fault_of(sqlite3.SQLITE_NOTADB, sqlite3.DatabaseError), ConfigError),
        (fault_of(sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.IntegrityError), VersionConflict),
        (fault_of(sqlite3.SQLITE_TOOBIG, sqlite3.DataError), LocalProtocolError),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), StoreUnavailable),
        (sqlite3.ProgrammingError("Error binding parameter"), LocalProtocolError),
        (sqlite3.OperationalError("no such table: x"), ConfigError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), ConfigError),
        (OverflowError("too large"), LocalProtocolError),
        (VersionConflict("ours"), VersionConflict),
        (ZeroDivisionError("a bug"), ZeroDivisionError),
    ],
)
def test_every_fault_of_the_library_is_an_error_of_the_platform(raised: Exception, told: type[Exception]) -> None:
    assert type(translate(raised)) is told
