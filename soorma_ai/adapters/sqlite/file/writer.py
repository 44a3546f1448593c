"""The one connection that writes. SQL runs on the loop's thread, at its call; waits for the disk are left to a helper
thread. Operations during a wait are the next group, with a common commit, and so one fsync."""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from soorma_ai.adapters.jobs import Helper, Job
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.file.faults import FOREIGN, translate
from soorma_ai.errors import StoreUnavailable

T = TypeVar("T")

GROUP = 128


class SqliteWriter:
    """Writer of a file. `connection` belongs to the loop's thread, and while it is busy to the helper's. `forget` is
    called after an undo: nothing derived from uncommitted rows is kept. `settle` is called after a transaction, before
    anything else learns of its end. `on_disk`: a commit waits for the disk."""

    def __init__(
        self,
        connection: Connection,
        *,
        on_disk: bool,
        on_commit: Callable[[bool], None] | None,
        forget: Callable[[], None],
        settle: Callable[[], None],
    ) -> None:
        self.connection = connection
        self._on_disk = on_disk
        self._on_commit = on_commit
        self._forget = forget
        self._settle_states = settle
        self._loop = asyncio.get_running_loop()
        # Nothing that follows from a commit belongs to whoever asked for it.
        self._context = copy_context()
        self._idle: asyncio.Future[None] | None = None
        self._is_closing = False
        self._asked: deque[Job[Any]] = deque()
        self._has_long = False  # among the asked
        self._is_due = False
        self._is_busy = False
        # After a group of one, the next operation has no others to wait for. A wait for the disk gives them their turn.
        self._is_lone = False
        self._helper = Helper(self._loop, self._context)

    async def do(
        self,
        operation: Callable[[Connection], T],
        ended: Callable[[T, bool], None] | None = None,
        *,
        is_long: bool = False,
    ) -> T:
        """Run an operation: committed at the return, undone after an exception. One that `is_long` runs on the helper,
        whole."""
        if self._is_closing:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._asked.append(Job(partial(operation, self.connection), future, ended, is_long=is_long))
        self._has_long |= is_long
        if self._is_lone and not self._is_busy and not self._is_due:
            self._context.run(self._begin)
        else:
            self._look()
        return await future

    @property
    def is_idle(self) -> bool:
        """Tell whether the connection is free on the loop's thread, outside of any transaction."""
        return not (self._is_busy or self._is_closing)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Read committed rows, on the spot without a writer at work."""
        if not self.is_idle:
            return await self.do(query)
        try:
            return query(self.connection)
        except FOREIGN as error:
            raise translate(error) from error

    async def close(self) -> None:
        """Close when all that was asked for before is done."""
        self._is_closing = True
        if self._is_busy or self._asked:
            self._idle = self._idle or self._loop.create_future()
            await asyncio.shield(self._idle)
        self._helper.stop()
        self.connection.close()

    def _look(self) -> None:
        """Begin the next group, after the calls of all ready tasks."""
        if self._asked and not self._is_busy and not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._begin, context=self._context)

    def _begin(self) -> None:
        self._is_due = False
        group = self._next_group()
        self._is_lone = self._on_disk and len(group) == 1
        before = self.connection.total_changes
        if group[0].is_long:
            self._leave(partial(self._commit_apart, group), group, before)
            return
        if not self._run_here(group):
            for job in group:
                job.undo()
            self._leave(partial(self._commit_apart, group), group, before)
        elif self._on_disk and self.connection.total_changes != before:
            self._leave(partial(self._commit, group), group, before)
        else:
            self._commit(group)
            self._settle(group, wrote=self.connection.total_changes != before)

    def _run_here(self, group: list[Job[Any]]) -> bool:
        """Return False, with nothing done, where the group needs a longer breath: another process has the file, or one
        of them has to be undone without the others."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            if self._run_together(group):
                return True
            self._undo()
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self._undo()
        return False

    def _next_group(self) -> list[Job[Any]]:
        if not self._has_long and len(self._asked) <= GROUP:
            group = [*self._asked]
            self._asked.clear()
            return group
        group = [self._asked.popleft()]
        while self._asked and len(group) < GROUP and not (group[0].is_long or self._asked[0].is_long):
            group.append(self._asked.popleft())
        self._has_long = any(job.is_long for job in self._asked)
        return group

    def _leave(self, work: Callable[[], None], group: list[Job[Any]], before: int) -> None:
        """Leave the connection to the helper until it has done this."""
        self._is_busy = True

        def finish() -> None:
            self._is_busy = False
            self._settle(group, wrote=self.connection.total_changes != before)

        self._helper.do(work, finish)

    def _settle(self, group: list[Job[Any]], *, wrote: bool) -> None:
        self._call(self._settle_states)
        for job in group:
            job.answer()
        for job in group:
            self._call(job.tell)
        if wrote and self._on_commit is not None:
            self._call(partial(self._on_commit, self.connection.take_leaving()))
        if self._asked:
            self._look()
        elif self._idle is not None:
            self._idle.set_result(None)

    def _call(self, tell: Callable[[], None]) -> None:
        """Call a listener. After any exception of it, all others are told, and the store goes on."""
        try:
            tell()
        except Exception as error:
            self._loop.call_exception_handler({"message": "a listener of the store broke", "exception": error})

    def _commit(self, group: list[Job[Any]]) -> None:
        try:
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._lose(group, error)

    def _commit_apart(self, group: list[Job[Any]]) -> None:
        """Commit in one go the operations without a failure; each is undone without the others. One with an end of the
        whole transaction, as a full disk has it, does not fail its neighbours."""
        with self.connection.careful():
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                if self._run_apart(group):
                    self.connection.execute("COMMIT")
                    return
            except sqlite3.Error as error:
                self._lose(group, error)
                return
            self._undo()
            if len(group) == 1:
                return
            for job in group:
                self._commit_apart([job])

    def _run_together(self, group: list[Job[Any]]) -> bool:
        """Return False when one failed after it had written, or ended the transaction of all."""
        for job in group:
            before = self.connection.total_changes
            if not job.wanted or self._run(job):
                continue
            if self.connection.total_changes != before or not self.connection.in_transaction:
                return False
        return True

    def _run_apart(self, group: list[Job[Any]]) -> bool:
        """Return False when one ended the transaction of all."""
        for job in group:
            if job.wanted:
                self.connection.execute("SAVEPOINT job")
                if not self._run(job):
                    if not self.connection.in_transaction:
                        return False
                    self.connection.execute("ROLLBACK TO job")
                    self._forget()
                self.connection.execute("RELEASE job")
        return True

    def _undo(self) -> None:
        self._forget()
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _run(self, job: Job[Any]) -> bool:
        try:
            job.run()
        except Exception as error:
            # Whatever it is, it is the answer to this operation, and none of the others' business.
            fault = translate(error)
            if fault is not error:
                fault.__cause__ = error
            job.fail(fault)
            return False
        return True

    def _lose(self, group: list[Job[Any]], error: sqlite3.Error) -> None:
        with suppress(sqlite3.Error):
            self._undo()
        for job in group:
            if not job.failed:
                lost = StoreUnavailable(f"nothing was stored: {error}")
                lost.__cause__ = error
                job.fail(lost)
