"""Access to a database shared by several processes: one connection that writes, some that read committed rows, one that
listens to other processes' changes."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from soorma_ai.adapters.postgres import row_level_security
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.faults import in_our_words
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.listener import Listener, present
from soorma_ai.adapters.postgres.migrations import prepare
from soorma_ai.adapters.postgres.notifications import Notification, Notifier
from soorma_ai.adapters.postgres.readers import Readers
from soorma_ai.adapters.postgres.sessions import connection_to
from soorma_ai.adapters.postgres.writer import PostgresWriter, TransactionHooks
from soorma_ai.errors import LocalProtocolError, SoormaError, StoreUnavailable
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.ports import Delivery, Hands
from soorma_ai.kernel.sql import connection as family
from soorma_ai.kernel.sql import database
from soorma_ai.kernel.sql.database import NOTHING
from soorma_ai.kernel.sql.plan_states import PlanStates
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.kernel.sql.tables import leases
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

T = TypeVar("T")

CLOSED_WITHIN = 2.0

_LOG = logging.getLogger("soorma_ai.store")


class Database(database.Database):
    """The database of a URL. `read_only` looks at it, and makes and recovers nothing."""

    guards = True

    def __init__(
        self, url: str, features: FeatureSet, *, read_only: bool, absence: timedelta, statement_timeout: float
    ) -> None:
        super().__init__(features, keeps=True)
        self.states = self._in_hand = PlanStates()
        self._wanted = features
        self._url = url
        self._statement_timeout = statement_timeout
        self._limit = StatementLimit(statement_timeout)
        self._absence = absence
        self._voiding: set[asyncio.Task[None]] = set()
        self._read_only = read_only
        self._writer: PostgresWriter | None = None
        # Claims have a connection of their own. Those of some agents do what nobody may come between.
        self._claims: PostgresWriter | None = None
        self._alone: set[str] = set()
        self._readers: Readers | None = None
        self._listener: Listener | None = None
        self._notifier = Notifier(self._notify)
        # What the registry was when routes were put together.
        self._registry: int | None = None
        self._routes_were = 0
        # What the jobs of the transaction in hand have led to, as far as others wait for it.
        self._arrivals: list[Arrival] = []

    @property
    def shares(self) -> bool:
        return self._listener is not None and self._listener.has_others

    @property
    def writer(self) -> PostgresWriter:
        if self._read_only:
            raise LocalProtocolError("this store is open read-only; open it for writing")
        if self._writer is None:
            raise StoreUnavailable("the store is not open")
        return self._writer

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        super().deliver(hands, lease)
        self.writer.connection.hands, self.writer.connection.lease = hands, lease

    async def open(self, tidy: Callable[[family.Connection], None]) -> None:
        if self._readers is not None:
            return
        loop = asyncio.get_running_loop()
        self._limit = StatementLimit(self._statement_timeout)
        await asyncio.to_thread(self._prepare)
        self._readers = Readers(self._url, self._limit, self._in_hand.give_up)
        if self._read_only:
            return
        connection = self._connection(loop)
        connection.keeps_plans = True
        self._writer = PostgresWriter(connection, self._limit, self._hooks_of(connection))
        listener = self._listener = Listener(self._url, loop, self, self._absence.total_seconds(), self._limit)
        self._writer.connection.holder = listener.number
        beside = self._connection(loop)
        beside.holder, beside.is_beside = listener.number, True
        numbering = TransactionHooks(begin=lambda _, number: self.routes.note_number(number))
        self._claims = PostgresWriter(beside, self._limit, numbering)
        try:
            with in_our_words():
                await asyncio.to_thread(listener.begin)
            await self._writer.do(tidy)
        except SoormaError:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish earlier operations, within `CLOSED_WITHIN`; a silent server is left."""
        self._limit.end_within(CLOSED_WITHIN)
        writer, readers, listener, claims = self._writer, self._readers, self._listener, self._claims
        self._writer = self._readers = self._listener = self._claims = None
        if claims is not None:
            await claims.close()  # before what is held is given back
        if writer is not None and listener is not None:
            listener.end()
            with suppress(SoormaError):
                await writer.do(partial(_end, listener=listener))
        if writer is not None:
            await writer.close()
        await self._notifier.close()
        await asyncio.gather(*self._voiding, return_exceptions=True)
        if readers is not None:
            await readers.close()
        if listener is not None:
            await asyncio.to_thread(listener.stop)

    async def transact(
        self,
        operation: Callable[[family.Connection], T],
        ended: Callable[[T, bool], None],
        acting: TenantScope,
        *,
        is_long: bool,
        keys: frozenset[str] | None = None,
    ) -> T:
        return await self.writer.do(operation, ended, acting, keys)

    async def claim(self, agent: str, operation: Callable[[family.Connection], T]) -> T:
        """Do a claim of this agent beside other writes, or, if that is forbidden, in its turn."""
        if self._claims is not None and agent not in self._alone:
            try:
                return await self._claims.do(operation)
            except family.MustBeAlone:
                self._alone.add(agent)
        return await self.write(operation)

    async def read(
        self,
        query: Callable[[family.Reader], T],
        acting: TenantScope = HOUSE,
        *,
        is_single: bool = False,
        follows: bool = False,
    ) -> T:
        if self._readers is None:
            raise StoreUnavailable("the store is not open")
        return await self._readers.read(partial(self._read_noted, query), acting, is_single=is_single, follows=follows)

    def _read_noted(self, query: Callable[[family.Reader], T], db: family.Reader) -> T:
        found = query(db)
        self.routes.note_number(db.registry)
        return found

    async def read_later(self, query: Callable[[family.Reader], T], acting: TenantScope) -> Callable[[], T]:
        """A server is asked now, since it is waited for."""
        found = await self.read(query, acting)
        return lambda: found

    def _connection(self, loop: asyncio.AbstractEventLoop) -> Connection:
        made = Connection(self._url, loop, self._limit, self._in_hand.give_up)
        made.features = self.features
        return made

    def _hooks_of(self, writing: Connection) -> TransactionHooks:
        return TransactionHooks(
            begin=self._forget_changes,
            end=self._number_registry,
            forget=self._forget,
            settle=partial(self.settle, writing),
            on_commit=self._note_commit,
        )

    def _prepare(self) -> None:
        with connection_to(self._url) as made:
            self.features = prepare(made, self._wanted, may_make=not self._read_only)
            if why := row_level_security.why_open(made):
                _LOG.warning(why)

    def _forget(self) -> None:
        """Drop everything derived from undone work; it concerns this process alone."""
        is_unchanged = self.routes.epoch == self._routes_were
        self.routes.forget()
        if is_unchanged:
            self._routes_were = self.routes.epoch
        if self._writer is not None:
            self._writer.connection.parts.clear()

    def _forget_changes(self, db: Connection, registry: int) -> None:
        """Forget routes changed by another process, and parts of prompts possibly removed by it."""
        self.routes.note_number(registry)
        if registry != self._registry:
            self.routes.forget()
            db.parts.clear()
            self._registry = registry
        self._routes_were = self.routes.epoch
        self._arrivals.clear()
        db.plan_changes.era = self._in_hand.era

    def _number_registry(self, db: Connection) -> None:
        """Give the registry another number after a change of it."""
        if self.routes.epoch != self._routes_were:
            (self._registry,) = db.execute("UPDATE meta SET registry = registry + 1 RETURNING registry").fetchone()

    def _note_commit(self, is_leaving: bool) -> None:
        """Tell waits of this process, and then other processes."""
        if self.on_commit is not None:
            self.on_commit(is_leaving)
        if self.shares:
            self._notifier.add(self._arrivals, is_leaving=is_leaving)

    async def _notify(self, news: Notification) -> None:
        listener = self._listener
        if listener is not None:
            await self.read(lambda db: listener.notify(db, news), is_single=True)

    def _perform(
        self, operation: Callable[[family.Connection], T], now: datetime | None, db: family.Connection
    ) -> tuple[T, Arrival, Sequence[Delivery]]:
        """Note the effects for others' waits: claims and renewals are no one's concern."""
        value, arrival, taken = super()._perform(operation, now, db)
        if now is not None or arrival != NOTHING:
            self._arrivals.append(arrival)
        return value, arrival, taken

    def receive_arrival(self, arrival: Arrival, is_leaving: bool) -> None:
        """Wake the waits here for another process's changes."""
        if self.on_commit is not None:
            self.on_commit(is_leaving)
        if self.on_arrival is not None and arrival != NOTHING:
            self.on_arrival(arrival)

    def note_absence(self, holders: frozenset[int]) -> None:
        voiding = asyncio.ensure_future(self._void(holders))
        self._voiding.add(voiding)
        voiding.add_done_callback(self._voiding.discard)

    async def _void(self, holders: frozenset[int]) -> None:
        """Void the leases of gone processes. After a fault, it is done the next time."""
        with suppress(SoormaError):
            count = await self.write(lambda db: leases.void(db, holders - present(db)))
            if count:
                _LOG.warning("leases_voided", extra={"count": count, "reason": "the process that held them is gone"})


def _end(db: family.Connection, listener: Listener) -> None:
    """Leave nothing behind: deliveries still held by this process were in hand at its end, and others may have them."""
    leases.void(db, [listener.number])
    db.take_queued()
    listener.notify(db, Notification(is_short=True))
