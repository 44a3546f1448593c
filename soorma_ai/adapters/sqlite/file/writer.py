"""The one thread that writes. Operations that wait at the same time share a commit, and so an fsync."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from soorma_ai.adapters.sqlite.file.faults import in_our_words
from soorma_ai.errors import StoreUnavailable

T = TypeVar("T")

GROUP = 128


class _Job:
    def __init__(self, operation: Callable[[sqlite3.Connection], object], future: asyncio.Future[object]) -> None:
        self._operation = operation
        self._future = future
        self._settle: Callable[[], None] = lambda: None
        self.failed = False

    @property
    def wanted(self) -> bool:
        return not self._future.cancelled()

    def run(self, connection: sqlite3.Connection) -> None:
        """Run the operation, again if need be: an operation keeps nothing but what it writes and returns."""
        self.failed = False
        value = self._operation(connection)
        self._settle = lambda: self._future.set_result(value)

    def fail(self, error: Exception) -> None:
        self.failed = True
        self._settle = lambda: self._future.set_exception(error)

    def settle(self) -> None:
        """Answer on the loop's thread. Whoever waited may be gone by now."""
        if not self._future.done():
            self._settle()


class Writer:
    """`connection` is this thread's alone once it runs. `forget` is called when what was written is undone, so that
    nothing derived from uncommitted rows is kept."""

    def __init__(
        self, connection: sqlite3.Connection, *, on_commit: Callable[[], None] | None, forget: Callable[[], None]
    ) -> None:
        self.connection = connection
        self._on_commit = on_commit
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._closing = False
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="soorma-sqlite-writer", daemon=True)
        self._thread.start()

    async def do(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Committed when this returns; undone when it raises."""
        if self._closing:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[object] = self._loop.create_future()
        self._jobs.put(_Job(operation, future))
        return cast(T, await future)

    async def close(self) -> None:
        """Close when all that was asked for before is done."""
        if not self._closing:
            self._closing = True
            self._jobs.put(None)
        await asyncio.shield(self._stopped)
        self._thread.join()
        self.connection.close()

    def _work(self) -> None:
        while group := self._next_group():
            before = self.connection.total_changes
            try:
                self._commit(group)
            except sqlite3.Error as error:
                self._lose(group, error)
            wrote = self.connection.total_changes != before
            self._on_loop(lambda group=group, wrote=wrote: self._settle(group, wrote=wrote))
        self._on_loop(lambda: self._stopped.done() or self._stopped.set_result(None))

    def _next_group(self) -> list[_Job]:
        """Wait for the first operation and take what is there with it; nothing when it is time to stop."""
        job = self._jobs.get()
        group: list[_Job] = []
        while job is not None:
            group.append(job)
            if len(group) == GROUP:
                return group
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group
        if group:
            self._jobs.put(None)
        return group

    def _commit(self, group: list[_Job]) -> None:
        """Commit all in one go, which is cheap, unless one fails that has to be undone without the others. One that
        makes SQLite give up the whole transaction, as a full disk does, is no reason that its neighbours fail too."""
        for run in (self._run_together, self._run_apart):
            self.connection.execute("BEGIN IMMEDIATE")
            if run(group):
                self.connection.execute("COMMIT")
                return
            self._undo()
            if len(group) == 1:
                return
        for job in group:
            try:
                self._commit([job])
            except sqlite3.Error as error:
                self._lose([job], error)

    def _run_together(self, group: list[_Job]) -> bool:
        """Return False when one failed after it had written, or ended the transaction of all."""
        for job in group:
            before = self.connection.total_changes
            if not job.wanted or self._run(job):
                continue
            if self.connection.total_changes != before or not self.connection.in_transaction:
                return False
        return True

    def _run_apart(self, group: list[_Job]) -> bool:
        """Return False when one ended the transaction of all."""
        for job in group:
            if job.wanted:
                self.connection.execute("SAVEPOINT job")
                if not self._run(job):
                    if not self.connection.in_transaction:
                        return False
                    self.connection.execute("ROLLBACK TO job")
                self.connection.execute("RELEASE job")
        return True

    def _undo(self) -> None:
        self._forget()
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _run(self, job: _Job) -> bool:
        try:
            with in_our_words():
                job.run(self.connection)
        except Exception as error:
            # Whatever it is, it is the answer to this operation, and none of the others' business.
            job.fail(error)
            return False
        return True

    def _lose(self, group: list[_Job], error: sqlite3.Error) -> None:
        with suppress(sqlite3.Error):
            self._undo()
        for job in group:
            if not job.failed:
                lost = StoreUnavailable(f"nothing was stored: {error}")
                lost.__cause__ = error
                job.fail(lost)

    def _on_loop(self, callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            self._loop.call_soon_threadsafe(callback)

    def _settle(self, group: list[_Job], *, wrote: bool) -> None:
        for job in group:
            job.settle()
        if wrote and self._on_commit is not None:
            self._on_commit()
