"""Connections for committed rows, each with a thread of its own."""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from soorma_ai.adapters.postgres.connection import Connection, SecondStatement
from soorma_ai.adapters.postgres.faults import Interrupted, in_our_words
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.writer import PAUSES
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.sql.tenant_scope import TenantScope

T = TypeVar("T")

READERS = 2

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"


class Readers:
    """Pool of readers. The rows of one query are all of one moment."""

    def __init__(self, url: str, limit: StatementLimit, on_reconnect: Callable[[], None]) -> None:
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="soorma-store-reader")
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        for _ in range(READERS):
            self._idle.put(Connection(url, self._loop, limit, on_reconnect))

    async def read(
        self, query: Callable[[Connection], T], acting: TenantScope, *, is_single: bool = False, follows: bool = False
    ) -> T:
        """Run a query, again for a while after the loss of a server; a second read is harmless."""
        if self._closing.is_set():
            raise StoreUnavailable("the store is closed")
        once = _in_one_message if is_single else _following if follows else _once
        return await self._loop.run_in_executor(self._pool, self._read, query, acting, once)

    async def close(self) -> None:
        self._closing.set()
        await asyncio.to_thread(self._pool.shutdown)
        while not self._idle.empty():
            self._idle.get().close()

    def _read(
        self,
        query: Callable[[Connection], T],
        acting: TenantScope,
        once: Callable[[Connection, Callable[[Connection], T], TenantScope], T],
    ) -> T:
        if self._closing.is_set():
            raise StoreUnavailable("the store is closed")
        db, begun = self._idle.get(), monotonic()
        try:
            for pause in PAUSES:
                try:
                    return once(db, query, acting)
                except StoreUnavailable as error:
                    is_over = self._closing.is_set() or self._limit.left_of(begun) <= 0
                    if is_over or not (db.is_lost or isinstance(error, Interrupted)):
                        raise
                self._closing.wait(pause)
            return once(db, query, acting)
        finally:
            self._idle.put(db)


def _once(db: Connection, query: Callable[[Connection], T], acting: TenantScope) -> T:
    with in_our_words():
        try:
            db.begin(_BEGIN, db.act(acting))
            found = query(db)
            # Nothing was written. After a rollback the driver would prepare its statements anew.
            db.commit()
        except BaseException:
            db.undo()
            raise
        return found


def _following(db: Connection, query: Callable[[Connection], T], acting: TenantScope) -> T:
    """Run a query that reads on in the log, up to its end."""
    with in_our_words():
        try:
            db.find_log_end()
            return _once(db, query, acting)
        finally:
            db.forget_log_end()


def _in_one_message(db: Connection, query: Callable[[Connection], T], acting: TenantScope) -> T:
    """Run a query of one statement with its scope in one message, another one in a transaction."""
    with in_our_words():
        try:
            db.begin_single(db.act(acting))
            return query(db)
        except SecondStatement:
            pass
        finally:
            db.end_single()
    return _once(db, query, acting)
