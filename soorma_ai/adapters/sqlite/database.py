"""Access of a store's parts to its file: one connection that writes, one that sees what is committed."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

from soorma_ai.adapters.sql import arrivals
from soorma_ai.adapters.sql.tables import identity
from soorma_ai.adapters.sql.tables.registry import Known, Routes
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.file.faults import in_our_words
from soorma_ai.adapters.sqlite.file.writer import Writer
from soorma_ai.domain.expectations import Arrival
from soorma_ai.domain.identity import AuditEntry
from soorma_ai.errors import LocalProtocolError, SoormaError, StoreUnavailable
from soorma_ai.ports import Delivery, Hands, Note

P = ParamSpec("P")
T = TypeVar("T")

_NOTHING = Arrival()


class Database:
    """`path` None keeps everything in memory, for as long as it is open."""

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        if path is None and read_only:
            raise LocalProtocolError("a store in memory cannot be opened read-only: give the path of a file")
        self.on_commit: Callable[[bool], None] | None = None
        self.on_arrival: Callable[[Arrival], None] | None = None
        self.routes = Routes()
        self.known = Known(self.routes, keeps=not read_only)
        self.reader: sqlite3.Connection | None = None
        self._path = path
        self._read_only = read_only
        self._writer: Writer | None = None
        self._hands: Hands | None = None

    @property
    def writer(self) -> Writer:
        if self._read_only:
            raise LocalProtocolError(f"{self._path} is open read-only; ask its owner, or open it for writing")
        if self._writer is None:
            raise StoreUnavailable("the store is not open")
        return self._writer

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        """Let what is published arrive in the transaction that publishes it, leased for so long to a free hand."""
        self._hands = self.writer.connection.hands = hands
        self.writer.connection.lease = lease

    async def open(self, recover: Callable[[Connection], None]) -> None:
        """`recover` is done before anything else is written."""
        if self._writer is not None or self.reader is not None:
            return
        if not self._read_only:
            self.routes.forget()
            connection = files.open_writer(self._path)
            on_disk = self._path is not None
            self._writer = Writer(connection, on_disk=on_disk, on_commit=self.on_commit, forget=self.routes.forget)
        try:
            if self._writer is not None:
                await self._writer.do(recover)
            if self._path is not None:
                self.reader = files.open_reader(self._path)
        except SoormaError:
            await self.close()
            raise

    async def close(self) -> None:
        reader, writer = self.reader, self._writer
        self.reader = self._writer = None
        if reader is not None:
            reader.close()
        if writer is not None:
            await writer.close()

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

    async def transact(
        self, operation: Callable[[Connection], T], ended: Callable[[T, bool], None], *, is_long: bool
    ) -> T:
        return await self.writer.do(operation, ended, is_long=is_long)

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
        if is_stored and self.on_arrival is not None and arrival != _NOTHING:
            self.on_arrival(arrival)

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Read on the spot: a committed read of a local file is shorter than a change of threads. What is in memory
        only the connection that writes can see."""
        if self.reader is None:
            if self._read_only:
                raise StoreUnavailable("the store is not open")
            return await self.writer.read(query)
        return self._on_the_spot(query)

    async def read_later(self, query: Callable[[sqlite3.Connection], T]) -> Callable[[], T]:
        """Return what reads when it is called. What is in memory is read now, since that may have to be waited for."""
        if self.reader is not None:
            return lambda: self._on_the_spot(query)
        found = await self.read(query)
        return lambda: found

    def _on_the_spot(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Read by the connection that writes while it is idle: what was just written is in its cache, and the other's
        is void after every commit."""
        if self.reader is None:
            raise StoreUnavailable("the store is not open")
        if self._writer is not None and self._writer.is_idle:
            with suppress(sqlite3.OperationalError):  # another process has the file: the other connection is patient
                return query(self._writer.connection)
        with in_our_words():
            return query(self.reader)


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


def reading(
    query: Callable[Concatenate[sqlite3.Connection, P], T],
) -> "Callable[Concatenate[Part, P], CoroutineType[Any, Any, T]]":
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
