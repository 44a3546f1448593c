"""Parts of a store: its operations, by port, and their places."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Declare, Effect, Publish, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation
from soorma_ai.kernel.domain.memory import OpenSession
from soorma_ai.kernel.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.kernel.ports import (
    Audit,
    Delivery,
    EventLog,
    Hands,
    Memory,
    Note,
    Plans,
    Queue,
    Registry,
    Store,
    StoredEvent,
    StoreKey,
    Swept,
    Work,
)
from soorma_ai.kernel.sql import arrivals, due_timers, effects, registration, sweep
from soorma_ai.kernel.sql.commit_keys import keys_of_events, keys_of_work
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.database import Database, StorePart, reading, writing
from soorma_ai.kernel.sql.plans import SqlPlans
from soorma_ai.kernel.sql.storage import part_missing
from soorma_ai.kernel.sql.tables import audit, early, inbox, memory, receivers, registry
from soorma_ai.kernel.sql.tables import batch as behind
from soorma_ai.kernel.sql.tables import dead_letters as letters
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables import timers as timer_rows
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope, of_delivery

T = TypeVar("T")

# Events of a transaction that may run on the loop; one of more is left to the helper. A request is three effects or so.
MOST_ON_THE_LOOP = 256


class SqlQueue(StorePart):
    claim = writing(inbox.claim, HOUSE)
    claim_poison_candidate = writing(inbox.claim_poison_candidate, HOUSE)
    behind = reading(behind.behind)
    count_mail = reading(inbox.count_mail, HOUSE)
    begin = writing(inbox.begin)
    release = writing(inbox.release, HOUSE)
    renew = writing(inbox.renew, HOUSE)
    mark_sent = writing(log.mark_sent, HOUSE)
    set_aside = writing(letters.set_aside)
    count_pending = reading(inbox.count_pending)
    find_rest = reading(inbox.find_rest)
    backlog = reading(inbox.backlog, HOUSE, is_single=True)
    backlogs = reading(inbox.backlogs)
    next_due = reading(due_timers.next_due, HOUSE, is_single=True)

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        is_long = len(events) > MOST_ON_THE_LOOP
        keys = keys_of_events(events) if self.database.shares else None
        _, arrival = await self.publish(lambda db: arrivals.bring(db, events), now, HOUSE, is_long=is_long, keys=keys)
        return arrival

    async def offer_untaken(self, after: int, limit: int, now: datetime) -> tuple[int | None, Arrival]:
        routes = self.database.routes
        return await self.publish(lambda db: arrivals.bring_untaken(db, routes, after, limit), now, HOUSE)

    async def send(
        self,
        events: Sequence[EventEnvelope],
        expect: Expectation | None,
        now: datetime,
        *,
        session: OpenSession | None = None,
        delivery: Delivery | None = None,
        keys: Sequence[str] = (),
    ) -> Arrival:
        is_long = len(events) > MOST_ON_THE_LOOP

        def sending(db: Connection) -> None:
            if delivery is None:
                db.features.check_users(db, _users_of(events))
            else:
                inbox.must_stand(db, delivery)
            for event in events if keys else ():
                early.must_have_room(db, event, keys, now)
            effects.send(db, events, expect, session)

        acting = of_delivery(delivery) if delivery else None
        is_alone = not self.database.shares or bool(session or keys or delivery)
        shared = None if is_alone else keys_of_events(events, expect)
        _, arrival = await self.publish(sending, now, acting, is_long=is_long, keys=shared)
        return arrival

    async def send_once(self, changes: Sequence[Effect], now: datetime) -> bool:
        users = _users_of(effect.event for effect in changes if isinstance(effect, Publish))

        def sending(db: Connection) -> bool:
            db.features.check_users(db, users)
            return effects.send_once(db, changes, now)

        is_new, _ = await self.publish(sending, now)
        return is_new

    async def fire(self, now: datetime, limit: int) -> int:
        count, _ = await self.publish(lambda db: due_timers.fire(db, now, limit), now, HOUSE)
        return count

    async def keep_timers(self, beginning: str, timers: Sequence[Schedule]) -> None:
        await self.database.write(lambda db: timer_rows.keep(db, beginning, timers))

    async def sweep(self, now: datetime) -> Swept:
        """Look through plans a page at a time, by a reader: nothing waits for that."""
        swept, _ = await self.publish(lambda db: sweep.tidy(db, now), now, HOUSE, is_long=True)
        stranded: list[str] = []
        for status in sweep.LIVE:
            after: int | None = 0
            while after is not None:
                suspects, after = await self.database.read(partial(sweep.plans_to_check, status=status, after=after))
                if suspects:
                    going = partial(sweep.set_stranded_going, now=now, plan_ids=suspects)
                    found, _ = await self.publish(going, now, HOUSE, is_long=True)
                    stranded += found
                await asyncio.sleep(0)  # a file is read on the loop
        return replace(swept, stranded=tuple(stranded))

    async def commit(self, work: Work, now: datetime) -> Arrival:
        is_long = len(work.effects) > 3 * MOST_ON_THE_LOOP
        # What an agent declares may be what others wait for, whoever they belong to.
        declares = _declares(work)
        acting, commit = of_delivery(work.delivery, is_house=declares), self._declare if declares else effects.commit
        keys = keys_of_work(work) if self.database.shares else None
        _, arrival = await self.publish(partial(commit, work=work, now=now), now, acting, is_long=is_long, keys=keys)
        return arrival

    def _declare(self, db: Connection, work: Work, now: datetime) -> None:
        effects.commit(db, work, now)
        self.database.routes.forget()

    async def unsent(self, limit: int) -> list[StoredEvent]:
        while True:
            found, unreadable = await self.database.read(lambda db: log.unsent(db, limit))
            if not unreadable:
                return found
            await self.write(partial(letters.set_unreadable_aside, rows=unreadable), HOUSE)


class SqlMemory(StorePart):
    recall = reading(memory.recall)
    memory_keys = reading(memory.keys)
    session = reading(memory.session)
    sessions = reading(memory.sessions, of_user=True)


class SqlRegistry(StorePart):
    agents = reading(registry.agents)
    agent = reading(registry.find)

    async def live_events(self, tenant_id: str, now: datetime) -> Sequence[RegisteredEvent]:
        if (known := self.database.known.known_events(tenant_id, now)) is not None:
            return known
        return await self._read_known(lambda db: self.database.known.events(db, tenant_id, now), tenant_id)

    async def all_events(self, tenant_id: str) -> Sequence[RegisteredEvent]:
        return await self._read_known(lambda db: self.database.known.events(db, tenant_id), tenant_id)

    async def definitions(self, tenant_id: str, event_name: str) -> list[EventDefinition]:
        if (known := self.database.routes.rows.known_definitions(tenant_id, event_name)) is not None:
            return [*known]
        return await self._read_known(lambda db: self.database.known.definitions(db, tenant_id, event_name), tenant_id)

    async def _read_known(self, query: Callable[[Reader], T], tenant_id: str) -> T:
        return await self.database.read(query, TenantScope(tenant_id), is_single=True)

    async def heartbeat(self, agents: Sequence[str], now: datetime) -> None:
        routes = self.database.routes
        await self.publish(lambda db: registration.heartbeat(db, routes, agents, now), now, HOUSE)

    async def leave(self, agents: Sequence[str]) -> None:
        await self.write(lambda db: registry.leave(db, self.database.routes, agents), HOUSE)

    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        routes = self.database.routes
        await self.publish(lambda db: registration.register(db, routes, registrations, now), now, HOUSE, is_long=True)

    async def deregister(self, agent: str, now: datetime) -> list[EventDefinition]:
        routes = self.database.routes
        return await self.write(lambda db: registration.deregister(db, routes, agent, now), HOUSE, is_long=True)


class SqlEventLog(StorePart):
    events = reading(log.events, follows=True)
    page = reading(log.page, follows=True)
    event = reading(log.event_by_id, is_single=True)
    events_beginning = reading(log.events_beginning)
    tenants_of = reading(log.tenants_of)
    receivers_of = reading(receivers.receivers_of)
    untaken = reading(arrivals.requests_without_taker)


class SqlAudit(StorePart):
    record = writing(audit.record)
    entries = reading(audit.entries)


class SqlStore:
    """A store over a database of this family, with the parts of the features that are on."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._acting = HOUSE
        self._note: Note | None = None
        self._make_parts()

    def _make_parts(self) -> None:
        given = self.database, self._acting, self._note
        self._of_features = dict[StoreKey[Any], object]()
        self.queue: Queue = SqlQueue(*given)
        self.plans: Plans = SqlPlans(*given)
        self.memory: Memory = SqlMemory(*given)
        self.registry: Registry = SqlRegistry(*given)
        self.events: EventLog = SqlEventLog(self.database, self._acting)
        self.audit: Audit = SqlAudit(self.database, self._acting)

    @property
    def features(self) -> frozenset[str]:
        return self.database.features.names

    def part(self, key: StoreKey[T]) -> T:
        found = self.find(key)
        if found is None:
            raise part_missing(key)
        return found

    def find(self, key: StoreKey[T]) -> T | None:
        """Return a part, which is made when it is first asked for."""
        found = self._of_features.get(key)
        if found is None and key in self.database.features.parts:
            found = self._of_features[key] = self.database.features.parts[key](self.database, self._acting, self._note)
        return cast("T | None", found)

    async def name(self, fresh: str) -> str:
        return await self.database.write(lambda db: _name(db, fresh))

    def with_note(self, note: Note) -> Store:
        noted = copy(self)
        noted._note = note
        noted._make_parts()
        return noted

    def within(self, tenant_id: str) -> Store:
        if not self.database.guards or self._acting == TenantScope(tenant_id):
            return self
        scoped = copy(self)
        scoped._acting = TenantScope(tenant_id)
        scoped._make_parts()
        return scoped

    def notify(self, on_commit: Callable[[bool], None], on_arrival: Callable[[Arrival], None]) -> None:
        self.database.on_commit, self.database.on_arrival = on_commit, on_arrival

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        self.database.deliver(hands, lease)

    async def open(self, now: datetime) -> None:
        await self.database.open(partial(_tidy, now=now))

    async def close(self) -> None:
        await self.database.close()


def _declares(work: Work) -> bool:
    for effect in work.effects:  # a loop without calls: it runs at every commit
        match effect:
            case Declare():
                return True
            case _:
                pass
    return False


def _tidy(db: Connection, now: datetime) -> None:
    early.drop_expired(db, now)
    inbox.bring_near(db, now)


def _users_of(events: Iterable[EventEnvelope]) -> set[tuple[str, str]]:
    return {(event.tenant_id, event.user_id) for event in events}


def _name(db: Connection, fresh: str) -> str:
    db.execute("INSERT INTO store (only_one, id) VALUES (1, ?) ON CONFLICT DO NOTHING", (fresh,))
    return db.execute("SELECT id FROM store").fetchone()[0]
