"""Access of a store's parts to its database."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

from soorma_ai.adapters.sql import arrivals
from soorma_ai.adapters.sql.connection import Connection, Reader
from soorma_ai.adapters.sql.tables import identity
from soorma_ai.adapters.sql.tables.registry import Known, Routes
from soorma_ai.domain.expectations import Arrival
from soorma_ai.domain.identity import AuditEntry
from soorma_ai.ports import Delivery, Hands, Note

P = ParamSpec("P")
T = TypeVar("T")

NOTHING = Arrival()


class Database(ABC):
    """Transactions of one store, in which what is published arrives. It `keeps` what it has read of the registry, where
    no other process may change that without its number."""

    def __init__(self, *, keeps: bool) -> None:
        self.on_commit: Callable[[bool], None] | None = None
        self.on_arrival: Callable[[Arrival], None] | None = None
        self.routes = Routes()
        self.known = Known(self.routes, keeps=keeps)
        self._hands: Hands | None = None

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        """Let what is published arrive in the transaction that publishes it, leased for so long to a free hand."""
        self._hands = hands

    @abstractmethod
    async def open(self, tidy: Callable[[Connection], None]) -> None:
        """Void the leases of processes that are known to be gone. `tidy` is done before anything else is written."""
        ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def transact(
        self, operation: Callable[[Connection], T], ended: Callable[[T, bool], None], *, is_long: bool
    ) -> T:
        """Return what an operation returns, once it is stored. `ended` is told, on the loop's thread, what it returned,
        and whether that is stored."""
        ...

    @abstractmethod
    async def read(self, query: Callable[[Reader], T]) -> T: ...

    @abstractmethod
    async def read_later(self, query: Callable[[Reader], T]) -> Callable[[], T]:
        """Return what reads when it is called, or has read by then."""
        ...

    async def write(self, operation: Callable[[Connection], T], *, is_long: bool = False) -> T:
        """Write what publishes nothing."""
        value, _ = await self.publish(operation, None, is_long=is_long)
        return value

    async def publish(
        self, operation: Callable[[Connection], T], now: datetime | None, *, is_long: bool = False
    ) -> tuple[T, Arrival]:
        """Write; where the store is the bus, what is published arrives in the same transaction."""
        arriving = partial(self._arriving, operation, now)
        value, arrival, _ = await self.transact(arriving, self._ended, is_long=is_long)
        return value, arrival

    def _arriving(
        self, operation: Callable[[Connection], T], now: datetime | None, db: Connection
    ) -> tuple[T, Arrival, tuple[Delivery, ...]]:
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

    def _ended(self, done: tuple[object, Arrival, tuple[Delivery, ...]], is_stored: bool) -> None:
        """Hand over what was leased, once it is stored. Who asked for it may be gone by now."""
        _, arrival, taken = done
        if self._hands is not None:
            for delivery in taken:
                if is_stored:
                    self._hands.hand_over(delivery)
                else:
                    self._hands.give_back(delivery.agent)
        if is_stored and self.on_arrival is not None and arrival != NOTHING:
            self.on_arrival(arrival)


class Part:
    """Implements one port of the store. What it changes is written down in the same transaction where there is a
    `note`."""

    def __init__(self, database: Database, note: Note | None = None) -> None:
        self.database = database
        self._note = note

    async def write(self, operation: Callable[[Connection], T], *, is_long: bool = False) -> T:
        """Write what publishes nothing."""
        value, _ = await self.publish(operation, None, is_long=is_long)
        return value

    async def publish(
        self, operation: Callable[[Connection], T], now: datetime | None, *, is_long: bool = False
    ) -> tuple[T, Arrival]:
        """Write as `Database.publish`."""
        note = self._note
        if note is None or note.is_written:
            return await self.database.publish(operation, now, is_long=is_long)
        noted = partial(_write_down, operation, note.entry)
        value, arrival = await self.database.publish(noted, now, is_long=is_long)
        note.is_written = _has_changed(value)
        return value, arrival


def _write_down(operation: Callable[[Connection], T], entry: AuditEntry, db: Connection) -> T:
    value = operation(db)
    if _has_changed(value):
        identity.record(db, entry)
    return value


def _has_changed(value: object) -> bool:
    return value is not False


def reading(query: Callable[Concatenate[Reader, P], T]) -> "Callable[Concatenate[Part, P], CoroutineType[Any, Any, T]]":
    """A method of a part that answers from what is committed."""

    async def method(part: Part, *given: P.args, **named: P.kwargs) -> T:
        return await part.database.read(lambda db: query(db, *given, **named))

    return method


def writing(
    operation: Callable[Concatenate[Connection, P], T],
) -> "Callable[Concatenate[Part, P], CoroutineType[Any, Any, T]]":
    """A method of a part that is one transaction, and publishes nothing."""

    async def method(part: Part, *given: P.args, **named: P.kwargs) -> T:
        return await part.write(lambda db: operation(db, *given, **named))

    return method
