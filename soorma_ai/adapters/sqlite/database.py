"""Access to the file: one connection that writes, one that reads committed rows."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import CoroutineType
from typing import Any, TypeVar

from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.connection import Connection, ReadConnection
from soorma_ai.adapters.sqlite.file.faults import FOREIGN, in_our_words, translate
from soorma_ai.adapters.sqlite.file.writer import SqliteWriter
from soorma_ai.errors import LocalProtocolError, SoormaError, StoreUnavailable
from soorma_ai.kernel.ports import Hands
from soorma_ai.kernel.sql import connection as family
from soorma_ai.kernel.sql import database
from soorma_ai.kernel.sql.plan_states import PlanStates
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.kernel.sql.tables import leases
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

T = TypeVar("T")

# A file has one at a time.
OWNER = 1


class Database(database.Database):
    """`path` None keeps everything in memory, for as long as it is open."""

    is_alone = True

    def __init__(self, path: Path | None, features: FeatureSet, *, read_only: bool) -> None:
        if path is None and read_only:
            raise LocalProtocolError("a store in memory cannot be opened read-only: give the path of a file")
        super().__init__(features, keeps=not read_only)
        self.states = None if read_only else PlanStates()
        self._wanted = features
        self.reader: ReadConnection | None = None
        self._path = path
        self._read_only = read_only
        self._writer: SqliteWriter | None = None

    @property
    def writer(self) -> SqliteWriter:
        if self._read_only:
            raise LocalProtocolError(f"{self._path} is open read-only; ask its owner, or open it for writing")
        if self._writer is None:
            raise StoreUnavailable("the store is not open")
        return self._writer

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        super().deliver(hands, lease)
        self.writer.connection.hands, self.writer.connection.lease = hands, lease

    async def open(self, tidy: Callable[[family.Connection], None]) -> None:
        """Void all leases: no other process can hold one."""
        if self._writer is not None or self.reader is not None:
            return
        if not self._read_only:
            self.routes.forget()
            if self.states is not None:
                self.states.clear()
            connection = files.open_writer(self._path, self._wanted)
            connection.holder = OWNER
            connection.keeps_plans = True
            on_disk = self._path is not None
            forget = partial(self._forget, connection)
            settle = partial(self.settle, connection)
            self._writer = SqliteWriter(
                connection, on_disk=on_disk, on_commit=self.on_commit, forget=forget, settle=settle
            )
        try:
            if self._writer is not None:
                await self.write(partial(_begin, tidy=tidy))
            if self._path is not None:
                self.reader = files.open_reader(self._path)
                self.features = self._wanted.among(files.names_in(self.reader))
        except SoormaError:
            await self.close()
            raise

    def _forget(self, connection: Connection) -> None:
        """Drop everything derived from undone work."""
        self.routes.forget()
        connection.parts.clear()
        connection.note_unknown()

    @property
    def is_settled(self) -> bool:
        return self._writer is not None and self._writer.is_idle

    async def close(self) -> None:
        reader, writer = self.reader, self._writer
        self.reader = self._writer = None
        if reader is not None:
            reader.close()
        if writer is not None:
            await writer.close()

    def transact(
        self,
        operation: Callable[[family.Connection], T],
        ended: Callable[[T, bool], None],
        acting: TenantScope,
        *,
        is_long: bool,
        keys: frozenset[str] | None = None,
    ) -> "CoroutineType[Any, Any, T]":
        return self.writer.do(operation, ended, is_long=is_long)

    async def read(
        self,
        query: Callable[[family.Reader], T],
        acting: TenantScope = HOUSE,
        *,
        is_single: bool = False,
        follows: bool = False,
    ) -> T:
        """Read on the spot: a committed read of a local file is shorter than a change of threads. A store in memory is
        visible to its writing connection only."""
        if self.reader is None:
            if self._read_only:
                raise StoreUnavailable("the store is not open")
            return await self.writer.read(query)
        return self._on_the_spot(query)

    async def read_aside(self, query: Callable[[family.Reader], T], acting: TenantScope = HOUSE) -> T:
        """Read by a thread and a connection of its own."""
        if self.reader is None or self._path is None:
            return await self.read(query)
        return await asyncio.to_thread(_read_once, self._path, query)

    async def read_later(self, query: Callable[[family.Reader], T], acting: TenantScope) -> Callable[[], T]:
        """Return a function for a later read. A store in memory is read now, since that may need a wait."""
        if self.reader is not None:
            return lambda: self._on_the_spot(query)
        found = await self.read(query)
        return lambda: found

    def _on_the_spot(self, query: Callable[[family.Reader], T]) -> T:
        """Read by the idle writing connection: the last write is in its cache, and the other's is void after every
        commit."""
        if self.reader is None:
            raise StoreUnavailable("the store is not open")
        try:
            if self._writer is not None and self._writer.is_idle:
                try:
                    return query(self._writer.connection)
                except sqlite3.OperationalError:  # another process has the file: the other connection waits
                    pass
            return query(self.reader)
        except FOREIGN as error:
            raise translate(error) from error


def _read_once(path: Path, query: Callable[[family.Reader], T]) -> T:
    with closing(files.open_reader(path)) as reader, in_our_words():
        return query(reader)


def _begin(db: family.Connection, tidy: Callable[[family.Connection], None]) -> None:
    leases.void(db)
    tidy(db)
