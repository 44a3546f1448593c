"""The embedded store: one SQLite file, one writing thread, readers that see what is committed."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from soorma_ai.adapters.sqlite import arrivals, consequences, effects, firing, registering, retention, sweep
from soorma_ai.adapters.sqlite.codec import moment
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.faults import in_our_words
from soorma_ai.adapters.sqlite.file.writer import Writer
from soorma_ai.adapters.sqlite.tables import budget, expectations, inbox, memory, plans, registry, tasks, timers
from soorma_ai.adapters.sqlite.tables import dead_letters as letters
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.domain.arrivals import Arrival
from soorma_ai.domain.effects import Declare
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.domain.history import JournalEntry, Step
from soorma_ai.domain.limits import Charge, Limits, Spent
from soorma_ai.domain.memory import MemoryChange, MemoryKey, OpenSession, Remembered, SessionSummary
from soorma_ai.domain.people import Answer
from soorma_ai.domain.plans import PlanRecord, PlanStatus, PlanValue
from soorma_ai.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.domain.tracking import Handed
from soorma_ai.errors import LocalProtocolError, SoormaError, StoreUnavailable
from soorma_ai.ports import AgentRow, DeadLetterRow, Delivery, Pruned, StoredEvent, Swept, Work

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

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        return await self._write(lambda db: inbox.claim(db, agent, inbox.Claim(now, lease, held), limit))

    async def claim_suspect(
        self, agents: Sequence[str], now: datetime, lease: timedelta, held: Sequence[int] = ()
    ) -> Delivery | None:
        return await self._write(lambda db: inbox.claim_suspect(db, agents, inbox.Claim(now, lease, held)))

    async def begin(self, delivery: Delivery) -> None:
        await self._write(lambda db: inbox.begin(db, delivery))

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        await self._write(lambda db: inbox.release(db, deliveries))

    async def renew(self, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
        return await self._write(lambda db: inbox.renew(db, deliveries, until))

    async def commit(self, work: Work, now: datetime) -> None:
        await self._write(lambda db: self._commit(db, work, now))

    async def send(self, events: Sequence[EventEnvelope], expect: Expectation | None, now: datetime) -> None:
        await self._write(lambda db: _send(db, events, expect))

    def _commit(self, db: sqlite3.Connection, work: Work, now: datetime) -> None:
        effects.commit(db, work, now)
        if any(isinstance(effect, Declare) for effect in work.effects):
            self._routes.forget()

    async def unsent(self, limit: int) -> list[StoredEvent]:
        while True:
            found, unreadable = await self._read(lambda db: log.unsent(db, limit))
            if not unreadable:
                return found
            await self._write(lambda db, rows=unreadable: letters.set_unreadable_aside(db, rows))

    async def sent(self, seqs: Sequence[int], now: datetime) -> None:
        await self._write(lambda db: log.sent(db, seqs, now))

    async def fire(self, now: datetime, limit: int) -> int:
        return await self._write(lambda db: firing.fire(db, now, limit))

    async def pending(self, agent: str, owner: str) -> int:
        return await self._read(lambda db: inbox.pending(db, agent, owner))

    async def backlog(self, at_most: int) -> int:
        return await self._read(lambda db: inbox.backlog(db, at_most))

    async def sweep(self, now: datetime) -> Swept:
        return await self._write(lambda db: sweep.sweep(db, now))

    async def next_due(self, agents: Sequence[str], after: datetime) -> datetime | None:
        return await self._read(lambda db: _next_due(db, agents, after))

    # Plans

    async def plan(self, plan_id: str) -> PlanRecord | None:
        return await self._read(lambda db: plans.plan(db, plan_id))

    async def plans(
        self,
        *,
        tenant_id: str | None,
        status: PlanStatus | None,
        root_plan_id: str | None,
        limit: int,
        session_id: str | None = None,
    ) -> list[PlanRecord]:
        query = plans.PlanQuery(tenant_id, status, root_plan_id, limit, session_id)
        return await self._read(lambda db: plans.plans(db, query))

    async def steps(self, plan_id: str, limit: int | None = None) -> list[Step]:
        return await self._read(lambda db: plans.steps(db, plan_id, limit))

    async def plan_values(self, plan_id: str) -> list[PlanValue]:
        return await self._read(lambda db: plans.values(db, plan_id))

    async def repeats(self, plan_id: str, fingerprint: str) -> int:
        return await self._read(lambda db: plans.repeats(db, plan_id, fingerprint))

    async def marked(self, plan_id: str, fingerprint: str) -> list[Step]:
        return await self._read(lambda db: plans.marked(db, plan_id, fingerprint))

    async def expectation(self, expectation_id: str) -> Expectation | None:
        return await self._read(lambda db: expectations.find(db, expectation_id))

    async def met_by(self, owner: str, event_id: str) -> Expectation | None:
        return await self._read(lambda db: expectations.met_by(db, owner, event_id))

    async def task(self, agent: str, task_id: str) -> TaskRecord | None:
        return await self._read(lambda db: tasks.task(db, agent, task_id))

    async def sub_tasks(self, agent: str, task_id: str) -> list[SubTaskInfo]:
        return await self._read(lambda db: tasks.sub_tasks(db, agent, task_id))

    async def task_expectations(self, agent: str, task_id: str) -> list[Expectation]:
        return await self._read(lambda db: expectations.opened_of_task(db, agent, task_id))

    async def expectations(
        self, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
    ) -> list[Expectation]:
        return await self._read(lambda db: expectations.listed(db, plan_id, tenant_id, only_open=only_open))

    async def answer(self, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
        return await self._write(lambda db: _answer(db, wait_id, answer, wake, now))

    async def cancel(self, plan_id: str, reason: str, now: datetime) -> bool:
        return await self._write(lambda db: consequences.stop(db, plan_id, reason, now))

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

    async def plan_answering(self, tenant_id: str, answer_key: str) -> PlanRecord | None:
        return await self._read(lambda db: plans.answering(db, tenant_id, answer_key))

    async def agents_of_task(self, task_id: str) -> list[str]:
        return await self._read(lambda db: tasks.agents_of(db, task_id))

    async def group(self, group_id: str) -> list[Expectation]:
        return await self._read(lambda db: expectations.of_group(db, group_id))

    async def named_expectations(self, ids: Sequence[str]) -> list[Expectation]:
        return await self._read(lambda db: expectations.named(db, ids))

    async def handed(self, event_ids: Sequence[str]) -> list[Handed]:
        return await self._read(lambda db: inbox.handed(db, event_ids))

    # Memory

    async def recall(self, at: MemoryKey) -> Remembered:
        return await self._read(lambda db: memory.recall(db, at))

    async def memory_keys(self, tenant_id: str, plan_id: str) -> list[str]:
        return await self._read(lambda db: memory.keys(db, tenant_id, plan_id))

    async def memorize(self, changes: Sequence[MemoryChange | OpenSession], now: datetime) -> None:
        await self._write(lambda db: effects.apply(db, changes, now))

    async def session(self, tenant_id: str, session_id: str) -> SessionSummary | None:
        return await self._read(lambda db: memory.session(db, tenant_id, session_id))

    async def sessions(self, tenant_id: str, limit: int) -> list[SessionSummary]:
        return await self._read(lambda db: memory.sessions(db, tenant_id, limit))

    # Registry

    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        await self._write(lambda db: registering.register(db, self._routes, registrations, now))

    async def heartbeat(self, agents: Sequence[str], now: datetime) -> None:
        await self._write(lambda db: registering.heartbeat(db, agents, now))

    async def leave(self, agents: Sequence[str]) -> None:
        await self._write(lambda db: registry.leave(db, agents))

    async def live_events(self, tenant_id: str, now: datetime) -> list[RegisteredEvent]:
        return await self._read(lambda db: registry.known_events(db, tenant_id, live_at=now))

    async def known_events(self, tenant_id: str) -> list[RegisteredEvent]:
        return await self._read(lambda db: registry.known_events(db, tenant_id))

    async def deregister(self, agent: str, now: datetime) -> list[EventDefinition]:
        return await self._write(lambda db: registering.deregister(db, self._routes, agent, now))

    async def definitions(self, tenant_id: str, event_name: str) -> list[EventDefinition]:
        return await self._read(lambda db: registry.definitions(db, tenant_id, event_name))

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
        return await self._read(lambda db: letters.listed(db, tenant_id, limit))

    # DeadLetters

    async def dead_letter(self, seq: int) -> DeadLetterRow | None:
        return await self._read(lambda db: letters.find(db, seq))

    async def redrive(self, letter: DeadLetterRow) -> bool:
        return await self._write(lambda db: letters.redrive(db, letter))

    async def discard(self, seq: int, note: str, now: datetime) -> bool:
        return await self._write(lambda db: letters.discard(db, seq, note, now))

    async def set_aside(self, event: EventEnvelope, reason: str, now: datetime) -> None:
        await self._write(lambda db: letters.set_aside(db, event, reason, now))

    # Upkeep

    async def prune(
        self,
        before: datetime,
        statuses: Sequence[PlanStatus],
        limit: int,
        *,
        tenant_id: str,
        now: datetime,
        after: str | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        old = retention.Old(tenant_id, before, statuses, now)
        act = self._read if dry_run else self._write
        return await act(lambda db: retention.prune(db, old, limit, after, dry_run=dry_run))

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


def _answer(db: sqlite3.Connection, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
    if not consequences.close(db, wait_id, ExpectationStatus.MET, now, met_by=wake.id, answer=answer):
        return False
    log.publish_once(db, wake)
    return True


def _send(db: sqlite3.Connection, events: Sequence[EventEnvelope], expect: Expectation | None) -> None:
    for event in events:
        log.publish(db, event)
    if expect is not None and expectations.status_of(db, expect.id) is None:
        expectations.insert(db, expect)


def _next_due(db: sqlite3.Connection, agents: Sequence[str], after: datetime) -> datetime | None:
    due = [at for at in (timers.next_due(db), inbox.next_due(db, agents, after)) if at is not None]
    return moment(min(due)) if due else None
