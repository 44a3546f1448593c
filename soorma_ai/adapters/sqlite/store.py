"""The embedded store: one SQLite file, one writing thread, readers that see what is committed."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from soorma_ai.adapters.sqlite import (
    arrivals,
    budget,
    effects,
    expectations,
    files,
    inbox,
    log,
    plans,
    registry,
    timers,
)
from soorma_ai.adapters.sqlite.codec import moment
from soorma_ai.adapters.sqlite.faults import in_our_words
from soorma_ai.adapters.sqlite.writer import Writer
from soorma_ai.core.answer import judge_answer
from soorma_ai.core.wake import ANSWERED, wake_for
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.limits import Charge, Limits, Spent
from soorma_ai.domain.plans import JournalEntry, PlanRecord, PlanStatus, Step
from soorma_ai.domain.registry import RegisteredEvent, Registration
from soorma_ai.domain.waits import (
    ACCEPTED,
    FOR_PEOPLE,
    Answer,
    AnswerOutcome,
    Expectation,
    ExpectationStatus,
    Person,
)
from soorma_ai.errors import LocalProtocolError, NotFound, SoormaError, StoreUnavailable
from soorma_ai.ports import AgentRow, Arrival, DeadLetterRow, Delivery, StoredEvent, Work

T = TypeVar("T")


class SqliteStore:
    """`path` None keeps everything in memory, for as long as the store is open. `read_only` is for looking at a file
    that another process may own. `on_commit` is called on the loop's thread after a commit that wrote something."""

    def __init__(
        self, path: Path | None, *, read_only: bool = False, on_commit: Callable[[], None] | None = None
    ) -> None:
        if path is None and read_only:
            raise LocalProtocolError("a store in memory cannot be opened read-only: give the path of a file")
        self._path = path
        self._read_only = read_only
        self._on_commit = on_commit
        self._routes = registry.Routes()
        self._writer: Writer | None = None
        self._reader: sqlite3.Connection | None = None

    def notify(self, on_commit: Callable[[], None]) -> None:
        self._on_commit = on_commit

    @property
    def writer(self) -> Writer:
        if self._read_only:
            raise LocalProtocolError(f"{self._path} is open read-only; ask its owner, or open it for writing")
        if self._writer is None:
            raise StoreUnavailable("the store is not open")
        return self._writer

    async def open(self, now: datetime) -> None:
        if self._writer is not None or self._reader is not None:
            return
        if not self._read_only:
            self._routes.forget()
            connection = files.open_writer(self._path)
            self._writer = Writer(connection, on_commit=self._on_commit, forget=self._routes.forget)
        try:
            if self._writer is not None:
                await self._writer.do(lambda db: _recover(db, now))
            if self._path is not None:
                self._reader = files.open_reader(self._path)
        except SoormaError:
            await self.close()
            raise

    async def close(self) -> None:
        reader, writer = self._reader, self._writer
        self._reader = self._writer = None
        if reader is not None:
            reader.close()
        if writer is not None:
            await writer.close()

    # Queue

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        return await self._write(lambda db: arrivals.arrive(db, self._routes, events, now))

    async def claim(self, agent: str, now: datetime, lease: timedelta, limit: int) -> list[Delivery]:
        return await self._write(lambda db: inbox.claim(db, agent, now, lease, limit))

    async def renew(self, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
        return await self._write(lambda db: inbox.renew(db, deliveries, until))

    async def commit(self, work: Work, now: datetime) -> None:
        await self._write(lambda db: effects.commit(db, work, now))

    async def send(self, events: Sequence[EventEnvelope], expect: Expectation | None, now: datetime) -> None:
        await self._write(lambda db: _send(db, events, expect))

    async def unsent(self, limit: int) -> list[StoredEvent]:
        return await self._read(lambda db: log.unsent(db, limit))

    async def sent(self, seqs: Sequence[int]) -> None:
        await self._write(lambda db: log.sent(db, seqs))

    async def fire(self, now: datetime, limit: int) -> int:
        return await self._write(lambda db: timers.fire(db, now, limit))

    async def pending(self, agent: str, owner: str) -> int:
        return await self._read(lambda db: inbox.pending(db, agent, owner))

    async def next_due(self, agents: Sequence[str]) -> datetime | None:
        return await self._read(lambda db: _next_due(db, agents))

    # Plans

    async def plan(self, plan_id: str) -> PlanRecord | None:
        return await self._read(lambda db: plans.plan(db, plan_id))

    async def plans(
        self, *, tenant_id: str | None, status: PlanStatus | None, root_plan_id: str | None, limit: int
    ) -> list[PlanRecord]:
        query = plans.PlanQuery(tenant_id, status, root_plan_id, limit)
        return await self._read(lambda db: plans.plans(db, query))

    async def steps(self, plan_id: str, limit: int | None = None) -> list[Step]:
        return await self._read(lambda db: plans.steps(db, plan_id, limit))

    async def repeats(self, plan_id: str, fingerprint: str) -> int:
        return await self._read(lambda db: plans.repeats(db, plan_id, fingerprint))

    async def expectation(self, expectation_id: str) -> Expectation | None:
        return await self._read(lambda db: expectations.find(db, expectation_id))

    async def met_by(self, plan_id: str, event_id: str) -> Expectation | None:
        return await self._read(lambda db: expectations.met_by(db, plan_id, event_id))

    async def expectations(
        self, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
    ) -> list[Expectation]:
        return await self._read(lambda db: expectations.listed(db, plan_id, tenant_id, only_open=only_open))

    async def answer(self, wait_id: str, answer: Answer, person: Person, now: datetime) -> AnswerOutcome:
        while True:
            asked = await self.expectation(wait_id)
            if asked is None or asked.kind not in FOR_PEOPLE or asked.tenant_id != person.tenant_id:
                raise NotFound(f"no question {wait_id} is asked of tenant {person.tenant_id!r}; list the open ones")
            outcome = judge_answer(asked, answer, person, now)
            if outcome != ACCEPTED or asked.answer is not None:
                return outcome
            if await self._write(lambda db, asked=asked: self._record_answer(db, asked, answer, now)):
                return outcome
            # Somebody was first since the question was read: judged again, on what stands now.

    def _record_answer(self, db: sqlite3.Connection, asked: Expectation, answer: Answer, now: datetime) -> bool:
        """False when the question is closed by now: of all who read it open, one answers it."""
        wake = wake_for(ANSWERED, asked, now)
        if not expectations.close(db, asked.id, ExpectationStatus.MET, now, met_by=wake.id, answer=answer):
            return False
        log.publish_once(db, wake)
        return True

    async def cancel(self, plan_id: str, reason: str, now: datetime) -> bool:
        return await self._write(lambda db: plans.cancel(db, plan_id, reason, now))

    async def cancellation(self, plan_id: str) -> str | None:
        return await self._read(lambda db: plans.cancellation(db, plan_id))

    async def goal_of(self, plan_id: str) -> tuple[str, EventEnvelope] | None:
        return await self._read(lambda db: inbox.goal_of(db, plan_id))

    async def journal(self, agent: str, cause_id: str) -> list[JournalEntry]:
        return await self._read(lambda db: budget.journal(db, agent, cause_id))

    async def decisions(self, plan_id: str) -> list[JournalEntry]:
        return await self._read(lambda db: budget.decisions(db, plan_id))

    async def spent(self, root_plan_id: str) -> Spent:
        return await self._read(lambda db: budget.spent(db, root_plan_id))

    async def reserve(self, charge: Charge, limits: Limits) -> None:
        await self._write(lambda db: budget.reserve(db, charge, limits))

    async def settle(self, reserved: Charge, actual: Charge, entry: JournalEntry | None) -> None:
        await self._write(lambda db: budget.settle(db, reserved, actual, entry))

    # Registry

    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        await self._write(lambda db: registry.register(db, self._routes, registrations, now))

    async def heartbeat(self, agents: Sequence[str], now: datetime) -> None:
        await self._write(lambda db: registry.heartbeat(db, agents, now))

    async def leave(self, agents: Sequence[str]) -> None:
        await self._write(lambda db: registry.leave(db, agents))

    async def live_events(self, tenant_id: str, now: datetime) -> list[RegisteredEvent]:
        return await self._read(lambda db: registry.known_events(db, tenant_id, live_at=now))

    async def known_events(self, tenant_id: str) -> list[RegisteredEvent]:
        return await self._read(lambda db: registry.known_events(db, tenant_id))

    async def agents(self, now: datetime) -> list[AgentRow]:
        return await self._read(lambda db: registry.agents(db, now))

    # EventLog

    async def events(
        self,
        *,
        after: int = 0,
        tenant_id: str | None = None,
        root_plan_id: str | None = None,
        limit: int = 500,
        newest: bool = False,
    ) -> list[StoredEvent]:
        query = log.EventQuery(after, tenant_id, root_plan_id, limit, newest)
        return await self._read(lambda db: log.events(db, query))

    async def event(self, event_id: str) -> EventEnvelope | None:
        return await self._read(lambda db: log.event_by_id(db, event_id))

    async def dead_letters(self, tenant_id: str | None, limit: int) -> list[DeadLetterRow]:
        return await self._read(lambda db: inbox.dead_letters(db, tenant_id, limit))

    async def _write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        return await self.writer.do(operation)

    async def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """On the spot: a committed read of a local file is shorter than a change of threads. What is in memory only
        the writing thread can see."""
        if self._reader is None:
            if self._read_only:
                raise StoreUnavailable("the store is not open")
            return await self.writer.do(query)
        with in_our_words():
            return query(self._reader)


def _recover(db: sqlite3.Connection, now: datetime) -> None:
    inbox.release_all(db)
    expectations.drop_expired_early(db, now)


def _send(db: sqlite3.Connection, events: Sequence[EventEnvelope], expect: Expectation | None) -> None:
    for event in events:
        log.publish(db, event)
    if expect is not None and expectations.status_of(db, expect.id) is None:
        expectations.insert(db, expect)


def _next_due(db: sqlite3.Connection, agents: Sequence[str]) -> datetime | None:
    due = [at for at in (timers.next_due(db), inbox.next_due(db, agents)) if at is not None]
    return moment(min(due)) if due else None
