"""Access of a store's parts to its database."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.domain.identity import AuditEntry
from soorma_ai.kernel.ports import Delivery, Hands, Note
from soorma_ai.kernel.sql import arrivals
from soorma_ai.kernel.sql.connection import Connection, Features, Reader
from soorma_ai.kernel.sql.plan_states import PlanStates
from soorma_ai.kernel.sql.tables import audit
from soorma_ai.kernel.sql.tables.registry import EventCache, Routes, TenantRows
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

P = ParamSpec("P")
T = TypeVar("T")

NOTHING = Arrival()


class Database(ABC):
    """Transactions of one store, with the arrival of published events. It `keeps` the read registry, if every change by
    another process comes with a number. If it `guards` its rows, a transaction sees those in its scope. `features` are
    the active ones. `states` are the plans in hand, where some are kept. It `is_alone`: no other process
    writes. It `shares` the lock of all writers between transactions without a common key."""

    guards = False
    is_alone = False

    @property
    def shares(self) -> bool:
        return False

    def __init__(self, features: Features, *, keeps: bool) -> None:
        self.features = features
        self.on_commit: Callable[[bool], None] | None = None
        self.on_arrival: Callable[[Arrival], None] | None = None
        self.routes = Routes()
        self.known = EventCache(self.routes, keeps=keeps)
        self.states: PlanStates | None = None
        self._tenant_rows: dict[Callable[[Reader, str], Any], TenantRows[Any]] = {}
        self._hands: Hands | None = None

    def tenant_rows(self, find: Callable[[Reader, str], T]) -> TenantRows[T]:
        """Return the kept results of `find`. Each change of them forgets the routes in its transaction."""
        if find not in self._tenant_rows:
            self._tenant_rows[find] = TenantRows(self.routes, find, is_alone=self.is_alone)
        return self._tenant_rows[find]

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        """Let published events arrive in their own transaction, leased for this time to a free hand."""
        self._hands = hands

    @abstractmethod
    async def open(self, tidy: Callable[[Connection], None]) -> None:
        """Void the leases of processes that are known to be gone. `tidy` is done before anything else is written."""
        ...

    @abstractmethod
    async def close(self) -> None: ...

    def settle(self, db: Connection) -> None:
        """Bring the plans in hand to the state of the last commit."""
        assert self.states is not None, "a store without plans in hand has no changes of them"
        try:
            self.states.apply(db.take_changes())
        except BaseException:
            self.states.clear()
            raise

    @property
    def is_settled(self) -> bool:
        """Tell whether a read row has come to the plans in hand: no transaction is on its way."""
        return False

    @abstractmethod
    async def transact(
        self,
        operation: Callable[[Connection], T],
        ended: Callable[[T, bool], None],
        acting: TenantScope,
        *,
        is_long: bool,
        keys: frozenset[str] | None = None,
    ) -> T:
        """Return the result of an operation after its commit. `ended` gets, on the loop's thread, the result, and
        whether it is stored. With `keys`, other transactions may run at the same time that have none of them."""
        ...

    @abstractmethod
    async def read(
        self,
        query: Callable[[Reader], T],
        acting: TenantScope = HOUSE,
        *,
        is_single: bool = False,
        follows: bool = False,
    ) -> T:
        """Run a query on committed rows of one moment. `is_single`: it is likely to have one statement. It `follows`
        the log, and needs its end."""
        ...

    async def read_aside(self, query: Callable[[Reader], T], acting: TenantScope = HOUSE) -> T:
        """Run a long read beside the loop."""
        return await self.read(query, acting)

    @abstractmethod
    async def read_later(self, query: Callable[[Reader], T], acting: TenantScope) -> Callable[[], T]:
        """Return a function with the result, read by then or at its call."""
        ...

    async def write(
        self, operation: Callable[[Connection], T], acting: TenantScope = HOUSE, *, is_long: bool = False
    ) -> T:
        """Write without a publication."""
        value, _ = await self.publish(operation, None, acting, is_long=is_long)
        return value

    async def publish(
        self,
        operation: Callable[[Connection], T],
        now: datetime | None,
        acting: TenantScope = HOUSE,
        *,
        is_long: bool = False,
        keys: frozenset[str] | None = None,
    ) -> tuple[T, Arrival]:
        """Write; if the store is the bus, published events arrive in the same transaction."""
        arriving = partial(self._perform, operation, now)
        value, arrival, _ = await self.transact(arriving, self._start_leased, acting, is_long=is_long, keys=keys)
        return value, arrival

    def _perform(
        self, operation: Callable[[Connection], T], now: datetime | None, db: Connection
    ) -> tuple[T, Arrival, Sequence[Delivery]]:
        try:
            value = operation(db)
            if db.published or db.brought or db.untaken:
                assert now is not None, "an operation that publishes says when"
                arrival = arrivals.arrive(db, self.routes, now)
            else:
                arrival = Arrival(db.take_queued())
        except BaseException:
            db.let_go()
            raise
        return value, arrival, db.take_what_was_taken()

    def _start_leased(self, done: tuple[object, Arrival, Sequence[Delivery]], is_stored: bool) -> None:
        """Hand over leased deliveries after the commit. Their caller may be gone by now."""
        _, arrival, taken = done
        if self._hands is not None:
            for delivery in taken:
                if is_stored:
                    self._hands.start(delivery)
                else:
                    self._hands.give_back(delivery.agent)
        if is_stored and self.on_arrival is not None and arrival != NOTHING:
            self.on_arrival(arrival)


class StorePart:
    """Base of the store's parts, each for one port and one scope. With a `note`, its change is recorded in the same
    transaction."""

    def __init__(self, database: Database, acting: TenantScope = HOUSE, note: Note | None = None) -> None:
        self.database = database
        self.acting = acting
        self._note = note

    async def write(
        self,
        operation: Callable[[Connection], T],
        acting: TenantScope | None = None,
        *,
        is_long: bool = False,
        keys: frozenset[str] | None = None,
    ) -> T:
        """Write without a publication."""
        value, _ = await self.publish(operation, None, acting, is_long=is_long, keys=keys)
        return value

    def publish(
        self,
        operation: Callable[[Connection], T],
        now: datetime | None,
        acting: TenantScope | None = None,
        *,
        is_long: bool = False,
        keys: frozenset[str] | None = None,
    ) -> "CoroutineType[Any, Any, tuple[T, Arrival]]":
        """Write as `Database.publish`."""
        note, acting = self._note, acting or self.acting
        if note is None or note.is_written:
            return self.database.publish(operation, now, acting, is_long=is_long, keys=keys)
        return self._publish_noted(operation, now, acting, note, is_long=is_long)

    async def _publish_noted(
        self,
        operation: Callable[[Connection], T],
        now: datetime | None,
        acting: TenantScope,
        note: Note,
        *,
        is_long: bool,
    ) -> tuple[T, Arrival]:
        noted = partial(_write_down, operation, note.entry)
        value, arrival = await self.database.publish(noted, now, acting, is_long=is_long)
        note.is_written = _has_changed(value)
        return value, arrival


def _write_down(operation: Callable[[Connection], T], entry: AuditEntry, db: Connection) -> T:
    value = operation(db)
    if _has_changed(value):
        audit.record(db, entry)
    return value


def _has_changed(value: object) -> bool:
    return value is not False


def reading(
    query: Callable[Concatenate[Reader, P], T],
    acting: TenantScope | None = None,
    *,
    of_user: bool = False,
    is_long: bool = False,
    is_single: bool = False,
    follows: bool = False,
) -> "Callable[Concatenate[StorePart, P], CoroutineType[Any, Any, T]]":
    """Make a method of a part answer from committed rows. Its scope is the tenant of its arguments, else that of its
    part; `of_user`: and the user. `is_long`: the loop goes on meanwhile. `is_single` and `follows`: as `Database.read`
    has them."""
    find = _actor_of(query, of_user=of_user)

    async def method(part: StorePart, *given: P.args, **named: P.kwargs) -> T:
        whose = acting or (find(given, named) if find else None) or part.acting
        if is_long:
            return await part.database.read_aside(lambda db: query(db, *given, **named), whose)
        return await part.database.read(
            lambda db: query(db, *given, **named), whose, is_single=is_single, follows=follows
        )

    return method


def writing(
    operation: Callable[Concatenate[Connection, P], T], acting: TenantScope | None = None
) -> "Callable[Concatenate[StorePart, P], CoroutineType[Any, Any, T]]":
    """A method of a part that is one transaction, and publishes nothing."""

    async def method(part: StorePart, *given: P.args, **named: P.kwargs) -> T:
        return await part.write(lambda db: operation(db, *given, **named), acting)

    return method


def _actor_of(
    query: Callable[..., object], *, of_user: bool
) -> Callable[[tuple[Any, ...], Mapping[str, Any]], TenantScope | None] | None:
    """Return the function from a query's arguments to its scope, None for a query without a tenant."""
    names = [*inspect.signature(query).parameters][1:]
    if "tenant_id" not in names:
        return None

    def argument(name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
        place = names.index(name)
        return given[place] if place < len(given) else named.get(name)

    def find(given: tuple[Any, ...], named: Mapping[str, Any]) -> TenantScope | None:
        tenant_id = argument("tenant_id", given, named)
        user_id = argument("user_id", given, named) if of_user else None
        return None if tenant_id is None else TenantScope(tenant_id, user_id)

    return find
