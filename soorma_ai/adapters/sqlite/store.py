"""The embedded store: what is asked of it, by port, and where that is done."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from soorma_ai.adapters.sqlite import arrivals, consequences, effects, firing, registering, retention, sweep
from soorma_ai.adapters.sqlite.database import Database, Part, reading, writing
from soorma_ai.adapters.sqlite.tables import budget, inbox, memory, registry, tasks
from soorma_ai.adapters.sqlite.tables import dead_letters as letters
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import expectations as expected
from soorma_ai.adapters.sqlite.tables import plans as pursued
from soorma_ai.domain.effects import Declare
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Arrival
from soorma_ai.domain.plans import PlanStatus
from soorma_ai.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.domain.tasks import SubTaskInfo
from soorma_ai.ports import DeadLetters, EventLog, Memory, Plans, Pruned, Queue, Registry, StoredEvent, Upkeep, Work


class SqliteQueue(Part):
    claim = writing(inbox.claim)
    claim_suspect = writing(inbox.claim_suspect)
    begin = writing(inbox.begin)
    release = writing(inbox.release)
    renew = writing(inbox.renew)
    send = writing(effects.send)
    send_once = writing(effects.send_once)
    sent = writing(log.sent)
    fire = writing(firing.fire)
    pending = reading(inbox.pending)
    resting = reading(inbox.resting)
    backlog = reading(inbox.backlog)
    sweep = writing(sweep.sweep)
    next_due = reading(firing.next_due)

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        return await self.database.write(lambda db: arrivals.arrive(db, self.database.routes, events, now))

    async def hand_over(self, after: int, limit: int, now: datetime) -> tuple[Arrival, int | None]:
        return await self.database.write(lambda db: arrivals.hand_over(db, self.database.routes, after, limit, now))

    async def commit(self, work: Work, now: datetime) -> None:
        await self.database.write(lambda db: self._commit(db, work, now))

    def _commit(self, db: sqlite3.Connection, work: Work, now: datetime) -> None:
        effects.commit(db, work, now)
        if any(isinstance(effect, Declare) for effect in work.effects):
            self.database.routes.forget()

    async def unsent(self, limit: int) -> list[StoredEvent]:
        while True:
            found, unreadable = await self.database.read(lambda db: log.unsent(db, limit))
            if not unreadable:
                return found
            await self.database.write(partial(letters.set_unreadable_aside, rows=unreadable))


class SqlitePlans(Part):
    plan = reading(pursued.plan)
    plans = reading(pursued.plans)
    plan_answering = reading(pursued.answering)
    steps = reading(pursued.steps)
    plan_values = reading(pursued.values)
    repeats = reading(pursued.repeats)
    steps_at = reading(pursued.steps_at)
    steps_with = reading(pursued.steps_with)
    join_progress = reading(pursued.join_progress)
    branches_that_came = reading(pursued.branches_that_came)
    cancel = writing(consequences.stop)
    cancellation = reading(pursued.cancellation)
    goal_of = reading(inbox.goal_of)
    expectation = reading(expected.find)
    expectations = reading(expected.listed)
    open_in_tree = reading(expected.opened_of_tree)
    questions = reading(expected.questions)
    held = reading(expected.held)
    questions_beginning = reading(expected.questions_beginning)
    named_expectations = reading(expected.named)
    group = reading(expected.of_group)
    met_by = reading(expected.met_by)
    answer = writing(consequences.answer)
    task = reading(tasks.task)
    sub_tasks = reading(tasks.sub_tasks)
    task_expectations = reading(expected.opened_of_task)
    agents_of_task = reading(tasks.agents_of)
    journal = reading(budget.journal)
    decisions = reading(budget.decisions)
    shown = reading(budget.shown)
    shown_before = reading(budget.shown_before)
    spent = reading(budget.spent)
    reserve = writing(budget.reserve)
    settle = writing(budget.settle)

    async def sub_tasks_later(self, agent: str, task_id: str) -> Callable[[], list[SubTaskInfo]]:
        texts = await self.database.read_later(lambda db: tasks.sub_task_texts(db, agent, task_id))
        return lambda: tasks.parsed(texts())


class SqliteMemory(Part):
    recall = reading(memory.recall)
    memory_keys = reading(memory.keys)
    memorize = writing(effects.apply)
    session = reading(memory.session)
    sessions = reading(memory.sessions)


class SqliteRegistry(Part):
    heartbeat = writing(registering.heartbeat)
    leave = writing(registry.leave)
    definitions = reading(registry.definitions)
    agents = reading(registry.agents)

    async def live_events(self, tenant_id: str, now: datetime) -> Sequence[RegisteredEvent]:
        return await self.database.read(lambda db: self.database.known.events(db, tenant_id, now))

    async def known_events(self, tenant_id: str) -> Sequence[RegisteredEvent]:
        return await self.database.read(lambda db: self.database.known.events(db, tenant_id))

    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        await self.database.write(lambda db: registering.register(db, self.database.routes, registrations, now))

    async def deregister(self, agent: str, now: datetime) -> list[EventDefinition]:
        return await self.database.write(lambda db: registering.deregister(db, self.database.routes, agent, now))


class SqliteEventLog(Part):
    events = reading(log.events)
    event = reading(log.event_by_id)
    handed = reading(inbox.handed)
    untaken = reading(arrivals.waiting_for_takers)


class SqliteDeadLetters(Part):
    dead_letters = reading(letters.listed)
    dead_letter = reading(letters.find)
    redrive = writing(letters.redrive)
    discard = writing(letters.discard)
    set_aside = writing(letters.set_aside)


class SqliteUpkeep(Part):
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
        act = self.database.read if dry_run else self.database.write
        return await act(lambda db: retention.prune(db, old, limit, after, dry_run=dry_run))


class SqliteStore:
    """`path` None keeps everything in memory, for as long as the store is open. `read_only` is for looking at a file
    that another process may own."""

    database_type = Database

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        self.database = self.database_type(path, read_only=read_only)
        self.queue: Queue = SqliteQueue(self.database)
        self.plans: Plans = SqlitePlans(self.database)
        self.memory: Memory = SqliteMemory(self.database)
        self.registry: Registry = SqliteRegistry(self.database)
        self.events: EventLog = SqliteEventLog(self.database)
        self.letters: DeadLetters = SqliteDeadLetters(self.database)
        self.upkeep: Upkeep = SqliteUpkeep(self.database)

    def notify(self, on_commit: Callable[[], None]) -> None:
        self.database.on_commit = on_commit

    async def open(self, now: datetime) -> None:
        await self.database.open(partial(_recover, now=now))

    async def close(self) -> None:
        await self.database.close()


def _recover(db: sqlite3.Connection, now: datetime) -> None:
    inbox.release_all(db)
    expected.drop_expired_early(db, now)
