"""Stores run in the thread of their caller, and mortal at any commit."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

from postgres_server import IS_MEANT

from machine.audit import Audit, install_audit
from soorma_ai.adapters.sqlite.database import Database
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.file.faults import in_our_words
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope
from soorma_ai.testing.clock import VirtualClock

T = TypeVar("T")


class MortalStore(Protocol):
    """A shop's needs of its store, beside the port. A home is the place where successive processes find it."""

    def __init__(self, home: Any) -> None: ...

    @classmethod
    def make_home(cls, path: Path) -> Any:
        """Return a home with an empty, audited store; at this path, for a file."""
        ...

    @classmethod
    def audit_of(cls, home: Any) -> Audit: ...

    @property
    def is_dead(self) -> bool: ...

    def die_after(self, commits: int, *, keeps_last: bool) -> None: ...

    def spare(self) -> None:
        """Cancel a death at a later commit."""
        ...

    def die(self) -> None: ...


def kind_of_store() -> Any:
    """Return the kind of store by the environment: with SOORMA_TEST_STORE=postgresql a database of a server."""
    if not IS_MEANT:
        return OneThreadStore
    from machine.servers import OneThreadServerStore

    return OneThreadServerStore


class OneThreadDatabase(Database):
    """A database without a writing thread: the event loop alone decides the order, so a run can be repeated exactly.

    With `commits_left` it dies at a later commit, which is then either the last stored one, or the first lost one. A
    dead database answers no call, so its process stands still, and stores nothing more.
    """

    is_dead = False
    commits_left: int | None = None
    keeps_last = False

    def __init__(self, path: Path | None, features: FeatureSet, *, read_only: bool) -> None:
        super().__init__(path, features, read_only=read_only)
        self._context = copy_context()

    async def transact(
        self,
        operation: Callable[[Connection], T],
        ended: Callable[[T, bool], None],
        acting: TenantScope,
        *,
        is_long: bool,
        keys: frozenset[str] | None = None,
    ) -> T:
        await asyncio.sleep(0)  # like a change of threads: other ready tasks come first
        if self.commits_left == 0 and not self.keeps_last:
            self.is_dead = True
        await self._alive()
        result = self._transact(operation)
        if self.commits_left == 0:
            self.is_dead = True
        elif self.commits_left is not None:
            self.commits_left -= 1
        await self._alive()
        self._context.run(ended, result, True)
        if self.on_commit is not None:
            self.on_commit(self.writer.connection.take_leaving())
        return result

    async def read(
        self,
        query: Callable[[Reader], T],
        acting: TenantScope = HOUSE,
        *,
        is_single: bool = False,
        follows: bool = False,
    ) -> T:
        await self._alive()
        return await super().read(query, acting)

    async def _alive(self) -> None:
        if self.is_dead:
            await asyncio.get_running_loop().create_future()

    def _transact(self, operation: Callable[[Connection], T]) -> T:
        db = self.writer.connection
        with in_our_words():
            db.execute("BEGIN IMMEDIATE")
            try:
                result = operation(db)
            except BaseException:
                db.execute("ROLLBACK")
                self.routes.forget()
                db.note_unknown()
                self.settle(db)
                raise
            db.execute("COMMIT")
        self.settle(db)
        return result


class OneThreadStore(SqliteStore):
    database: Any
    database_type = OneThreadDatabase

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, ALL_FEATURES)

    @classmethod
    def make_home(cls, path: Path) -> Path:
        path.write_bytes(_empty_store())
        return path

    @classmethod
    def audit_of(cls, home: Path) -> Audit:
        return Audit(home)

    @property
    def is_dead(self) -> bool:
        return self.database.is_dead

    def die_after(self, commits: int, *, keeps_last: bool) -> None:
        self.database.commits_left, self.database.keeps_last = commits, keeps_last

    def spare(self) -> None:
        self.database.commits_left = None

    def die(self) -> None:
        self.database.is_dead = True

    async def open(self, now: datetime) -> None:
        await super().open(now)
        # Processes die here, and the machine keeps its power; so no write has to wait for the disk.
        self.database.writer.connection.execute("PRAGMA synchronous = OFF")


@cache
def _empty_store() -> bytes:
    """Return a file made once, to copy for each test: a new file takes longer than the test's own work."""

    async def make(path: Path) -> None:
        store = OneThreadStore(path)
        await store.open(VirtualClock().now())
        await store.close()

    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        asyncio.run(make(path))
        install_audit(path)
        return path.read_bytes()
