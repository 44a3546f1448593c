"""Planted bugs of the store and of tools. The proof must catch each of them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import psycopg
from ledger import Outside
from msgspec.structs import replace

from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.domain.effects import Publish, Spend
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, ExpectationStatus
from soorma_ai.kernel.domain.limits import DRAWN, Charge, Limits, Spent
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.ports import Delivery, Hands, Settlement, Work
from soorma_ai.kernel.sql import arrivals, due_timers, effects
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.database import StorePart
from soorma_ai.kernel.sql.parts import SqlPlans, SqlQueue, SqlStore
from soorma_ai.kernel.sql.tables import batch, budget, expectations, inbox
from soorma_ai.kernel.sql.tables import events as log


class AcksFirst(SqlQueue):
    """Ends the delivery before its effects are stored."""

    async def commit(self, work: Work, now: datetime) -> Arrival:
        await super().commit(replace(work, effects=()), now)
        _, arrival = await self.database.publish(lambda db: effects.apply(db, work.effects, now), now)
        return arrival


class AcksThoseBehindFirst(SqlQueue):
    """Ends the later deliveries of a run before the run's commit."""

    async def commit(self, work: Work, now: datetime) -> Arrival:
        await self.database.write(lambda db: batch.end(db, work.following, now))
        return await super().commit(replace(work, following=()), now)


class PublishesOutside(SqlQueue):
    """Stores the state in one transaction, and its events in another."""

    async def commit(self, work: Work, now: datetime) -> Arrival:
        events = [effect.event for effect in work.effects if isinstance(effect, Publish)]
        kept = tuple(effect for effect in work.effects if not isinstance(effect, Publish))
        arrival = await super().commit(replace(work, effects=kept), now)
        return await self.send(events, None, now) if events else arrival


class KeepsNoMark(SqlQueue):
    """Forgets handled events, so an event delivered again is handled again."""

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        def operation(db: Connection) -> None:
            db.executemany(
                "DELETE FROM inbox WHERE state = 'done' AND event_seq = (SELECT seq FROM event WHERE id = ?)",
                [(event.id,) for event in events],
            )
            arrivals.bring(db, events)

        _, arrival = await self.database.publish(operation, now)
        return arrival


class AnswersBlindly(SqlPlans):
    """Records an answer without a look whether the question is still open."""

    async def answer(self, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
        def operation(db: Connection) -> bool:
            db.execute("UPDATE expectation SET status = 'open' WHERE id = ?", (wait_id,))
            expectations.close(db, wait_id, ExpectationStatus.MET, now, met_by=wake.id, answer=answer)
            log.publish_once(db, wake)
            return True

        answered, _ = await self.database.publish(operation, now)
        return answered


class ClaimsInMemory(SqlQueue):
    """Writes a claim only with its commit, so a delivery fatal to the process is never counted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._held: set[int] = set()

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        def operation(db: Connection) -> list[Delivery]:
            db.execute("SAVEPOINT claim")
            found = inbox.claim(db, agent, now, lease, limit + len(self._held), held)
            db.execute("ROLLBACK TO claim")
            db.execute("RELEASE claim")
            free = [delivery for delivery in found if delivery.seq not in self._held]
            return [replace(delivery, hold=None) for delivery in free[:limit]]

        free = await self.database.write(operation)
        self._held |= {delivery.seq for delivery in free}
        return free

    async def commit(self, work: Work, now: datetime) -> Arrival:
        claimed = work.delivery

        def operation(db: Connection) -> None:
            db.execute(
                "UPDATE inbox SET state = 'leased', attempt = ?, fence = ? WHERE seq = ?",
                (claimed.attempt, claimed.fence, claimed.seq),
            )
            effects.commit(db, work, now)

        _, arrival = await self.database.publish(operation, now)
        self._held.discard(claimed.seq)
        return arrival


class ClaimsLater(SqliteStore):
    """Inserts no row as already claimed."""

    def deliver(self, hands: Hands, lease: timedelta) -> None: ...


class ForgetsWhatWasHeld(SqlQueue):
    """Gives back the hold of an attempt without a known end, although its call may have been made."""

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        def operation(db: Connection) -> list[Delivery]:
            taken = inbox.claim(db, agent, now, lease, limit, held)
            for delivery in taken:
                if delivery.attempt > 1 and (was_held := budget.hold(db, delivery.owner)):
                    budget.let_go(db, was_held.plus(was_held))
            return taken

        return await self.database.write(operation)


DRAWN_BY_NOW = dict[str, int]()


class DrawsInMemory(SqlQueue):
    """Counts the drawn events of a root in the memory of the process alone."""

    async def commit(self, work: Work, now: datetime) -> Arrival:
        drawn = [one for one in work.effects if isinstance(one, Spend) and one.root_plan_id.startswith(DRAWN)]
        unbound = tuple(replace(one, at_most=None) if one in drawn else one for one in work.effects)
        arrival = await super().commit(replace(work, effects=unbound), now)
        for one in drawn:
            DRAWN_BY_NOW[one.root_plan_id] = DRAWN_BY_NOW.get(one.root_plan_id, 0) + one.actions
        return arrival


class ReadsFromMemory(SqlPlans):
    async def read_spent(self, root_plan_id: str) -> Spent:
        if root_plan_id.startswith(DRAWN):
            return Spent(actions=DRAWN_BY_NOW.get(root_plan_id, 0))
        return await super().read_spent(root_plan_id)


class FiresOutside(SqlQueue):
    """Removes a timer in one transaction, and publishes its event in another."""

    async def fire(self, now: datetime, limit: int) -> int:
        events = await self.database.write(lambda db: _fired_silently(db, now, limit))
        if events:
            await self.send(events, None, now)
        return len(events)


def _fired_silently(db: Connection, now: datetime, limit: int) -> list[EventEnvelope]:
    """Fires timers, and takes their events back."""
    last = db.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0]
    due_timers.fire(db, now, limit)
    fired = db.execute("SELECT event.body FROM event WHERE seq > ? ORDER BY seq", (last,)).fetchall()
    db.execute("DELETE FROM outbox WHERE event_seq > ?", (last,))
    db.published.clear()
    db.execute("DELETE FROM event WHERE seq > ?", (last,))
    return [EventEnvelope.from_json(body) for (body,) in fired]


class JournalInMemory(SqliteStore):
    """Keeps the rollback journal off the disk. Only a kill inside a commit shows it."""

    async def open(self, now: datetime) -> None:
        await super().open(now)
        if self.database.reader is not None:
            self.database.reader.close()
            self.database.reader = None  # so the writing thread reads
        self.database.writer.connection.execute("PRAGMA journal_mode = MEMORY")


class TakesErrorsForSuccess(SqlPlans):
    """Takes a failed charge or journal entry for a success. Only a fault of the disk shows it."""

    async def reserve(self, charge: Charge, limits: Limits, delivery: Delivery) -> None:
        with suppress(StoreUnavailable):
            await super().reserve(charge, limits, delivery)

    async def settle(self, one: Settlement, delivery: Delivery) -> None:
        with suppress(StoreUnavailable):
            await super().settle(one, delivery)


class NewKeyEachTime(Outside):
    """Gives a tool's call another idempotency key after a restart."""

    def effect(self, name: str, key: str, **data: object) -> None:
        super().effect(name, key if self.life == 1 else f"{key}.{self.life}", **data)


S = TypeVar("S", bound=SqlStore)


def with_parts(kind: type[S], **parts: type[StorePart]) -> type[S]:
    """Return a kind of store with other parts."""

    def make_parts(store: Any) -> None:
        kind._make_parts(store)
        for name, part in parts.items():
            setattr(store, name, part(store.database, store._acting, store._note))

    return type("Planted", (kind,), {"_make_parts": make_parts})


def report_commit_before_its_answer() -> None:
    """Report a commit on a server as soon as it is sent, and read its outcome before the next one begins."""
    from soorma_ai.adapters.postgres.connection import Connection
    from soorma_ai.adapters.postgres.writer import PostgresWriter

    begin = Connection.begin

    def send(self: PostgresWriter, group: object, last: str, *, wrote: bool) -> None:
        with suppress(psycopg.Error):
            self.connection.raw.pgconn.send_query(f"{last}; COMMIT".encode())
            self.connection.raw.pgconn.flush()
        self._wrote = wrote

    def read_and_begin(self: Connection, *statements: str) -> None:
        with suppress(psycopg.Error):
            while self._raw is not None and self._raw.pgconn.get_result() is not None:
                pass
        begin(self, *statements)

    PostgresWriter._commit, Connection.begin = send, read_and_begin


@dataclass(frozen=True)
class Bug:
    """`parts` and `sqlite` belong to the store, `outside` is the tools' side of the ledger, `patch` replaces a part of
    the adapter."""

    parts: Mapping[str, type[StorePart]] = field(default_factory=dict[str, type[StorePart]])
    sqlite: type[SqliteStore] = SqliteStore
    outside: type[Outside] = Outside
    patch: Callable[[], None] | None = None

    def plant(self, *, is_on_server: bool) -> type[SqlStore]:
        """Return the store with this bug."""
        if self.patch is not None:
            self.patch()
        if not is_on_server:
            return with_parts(self.sqlite, **self.parts)
        from soorma_ai.adapters.postgres.store import PostgresStore

        return with_parts(PostgresStore, **self.parts)


BUGS = {
    "ack before commit": Bug({"queue": AcksFirst}),
    "ack of a run before its commit": Bug({"queue": AcksThoseBehindFirst}),
    "publish outside the transaction": Bug({"queue": PublishesOutside}),
    "new key for each attempt": Bug(outside=NewKeyEachTime),
    "no duplicate mark": Bug({"queue": KeepsNoMark}),
    "answer without compare-and-set": Bug({"plans": AnswersBlindly}),
    "claim not on disk": Bug({"queue": ClaimsInMemory}, ClaimsLater),
    "hold given back after a crash": Bug({"queue": ForgetsWhatWasHeld}),
    "drawn events counted in memory": Bug({"queue": DrawsInMemory, "plans": ReadsFromMemory}),
    "timer fired outside the transaction": Bug({"queue": FiresOutside}),
    "journal file in memory": Bug(sqlite=JournalInMemory),
    "error of the disk taken for success": Bug({"plans": TakesErrorsForSuccess}),
    "commit told before the server answers": Bug(patch=report_commit_before_its_answer),
}
