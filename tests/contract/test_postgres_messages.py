"""Writes of a transaction go to the server together, and each operation gets its own fault."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import psycopg
import pytest
from postgres_server import Server
from store_kit import LEASE, NOW, FreeHands, agent, event, hold_delivery, open_store, plan

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.postgres.prepared import USES
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import LocalProtocolError, SoormaError, VersionConflict
from soorma_ai.kernel.domain.effects import Ack, AppendStep, Effect, Publish, SavePlan, SaveValue
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.ports import Work
from soorma_ai.kernel.sql.connection import Connection, Rows

RENAME = "UPDATE plan SET status = ? WHERE plan_id = ?"


def _nothing(db: Connection) -> None:
    pass


@pytest.fixture
async def store(postgres: Server) -> AsyncIterator[PostgresStore]:
    async with open_store(PostgresStore(postgres.empty(), ALL_FEATURES)) as store:
        store.deliver(FreeHands(), LEASE)
        yield store


def step(plan_id: str, ordinal: int) -> Step:
    return Step(plan_id, ordinal, StepKind.PUBLISHED, at=NOW, data={"number": ordinal})


async def begin(store: PostgresStore, *plan_ids: str) -> None:
    """Begin plans, with enough transactions for their statements to be prepared."""
    await store.registry.register([agent("work", "work.requested")], NOW)
    for plan_id in plan_ids:
        await commit(store, SavePlan(plan(plan_id), None))
    for number in range(USES + 1):
        await commit(store, *going_on(plan_ids[0], number + 1))


async def commit(store: PostgresStore, *effects: Effect) -> None:
    await store.queue.commit(Work(await hold_delivery(store), Ack(), effects), NOW)


def going_on(plan_id: str, number: int) -> tuple[Effect, ...]:
    """Return the effects of a step of a plan, which had one less before."""
    return (
        SavePlan(plan(plan_id, version=number), number - 1),
        AppendStep(step(plan_id, number)),
        SaveValue(plan_id, ValueKind.STATE, "number", number),
        Publish(event(f"{plan_id}-{number}", "work.requested")),
    )


async def commit_together(store: PostgresStore, *works: Sequence[Effect]) -> list[BaseException | None]:
    """Commit these in one transaction, and return the fault of each."""
    held = [await hold_delivery(store) for _ in works]
    commits = (
        store.queue.commit(Work(one, Ack(), tuple(effects)), NOW) for one, effects in zip(held, works, strict=True)
    )
    # The first operation is a group of its own, during which the others gather.
    _, *faults = await asyncio.gather(store.database.write(_nothing), *commits, return_exceptions=True)
    return [fault if isinstance(fault, BaseException) else None for fault in faults]


async def test_a_commit_of_a_step_is_four_messages(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await begin(store, "plan-1")
    held, sent = await hold_delivery(store), list[str]()
    execute: Any = psycopg.Connection.execute
    writing = store.database.writer.connection.raw

    def counted(self: Any, query: Any, *given: Any, **named: Any) -> Any:
        if self is writing:
            sent.append(query if isinstance(query, str) else query.decode())
        return execute(self, query, *given, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    await store.queue.commit(Work(held, Ack(), going_on("plan-1", USES + 2)), NOW)
    assert len(sent) <= 4, [one[:150] for one in sent]
    assert sent[0].startswith("BEGIN") and sent[-1].endswith("COMMIT")


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_refused_write_fails_its_own_operation_alone(store: PostgresStore, place: int) -> None:
    await begin(store, "plan-1", "plan-2", "plan-3")
    works = [going_on(plan_id, 1) for plan_id in ("plan-2", "plan-3")]
    works.insert(place, going_on("plan-1", 1))  # it is far beyond this version
    faults = await commit_together(store, *works)
    assert [type(fault) for number, fault in enumerate(faults) if number != place] == [type(None)] * 2
    assert isinstance(faults[place], VersionConflict)
    for plan_id in ("plan-2", "plan-3"):
        assert [one.ordinal for one in await store.plans.steps(plan_id)] == [1]


async def test_a_value_that_no_row_holds_fails_its_own_operation_alone(store: PostgresStore) -> None:
    await begin(store, "plan-1", "plan-2")
    impossible = AppendStep(Step("plan-1", 2**70, StepKind.PUBLISHED, at=NOW))
    faults = await commit_together(store, (impossible,), going_on("plan-2", 1))
    assert isinstance(faults[0], LocalProtocolError) and faults[1] is None


async def test_rows_refused_during_a_later_operation_fail_the_one_that_wrote(store: PostgresStore) -> None:
    def refuse(rows: Rows) -> None:
        raise VersionConflict(f"{rows.rowcount} rows")

    def write(db: Connection) -> None:
        for _ in range(USES):
            db.write(RENAME, ("later", "plan-1"))
        db.write(RENAME, ("refused", "plan-1"), refuse)

    def read(db: Connection) -> str:
        (status,) = db.execute("SELECT status FROM plan WHERE plan_id = ?", ("plan-1",)).fetchone()
        return status

    await begin(store, "plan-1")
    busy, refused, found = (asyncio.ensure_future(store.database.write(one)) for one in (_nothing, write, read))
    await busy
    with pytest.raises(VersionConflict, match="1 rows"):
        await refused
    assert await found == "running"


async def test_a_fault_in_the_last_message_is_that_of_its_own_operation(store: PostgresStore) -> None:
    def write_nonsense(db: Connection) -> None:
        for _ in range(USES + 1):
            db.write("INSERT INTO plan_value (plan_id, kind, key, body) VALUES (?, ?, ?, ?)", ("p", "k", "k", "1"))

    await begin(store, "plan-1", "plan-2")
    nonsense = asyncio.ensure_future(store.database.write(write_nonsense))
    faults = await commit_together(store, going_on("plan-2", 1))
    with pytest.raises(SoormaError, match="wrote this row first"):
        await nonsense
    assert faults == [None]


async def test_a_later_statement_reads_earlier_writes(store: PostgresStore) -> None:
    def write_and_read(db: Connection) -> list[tuple[str]]:
        found: list[tuple[str]] = []
        for number in range(USES + 3):
            db.write(RENAME, (f"status {number}", "plan-1"))
            found += db.execute("SELECT status FROM plan WHERE plan_id = ?", ("plan-1",)).fetchall()
        return found

    await begin(store, "plan-1")
    found = await store.database.write(write_and_read)
    assert [status for (status,) in found] == [f"status {number}" for number in range(USES + 3)]
