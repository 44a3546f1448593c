"""The connection that writes. Operations during the write of a group are the next group, with a common commit.

A transaction begins by taking the lock of all writers: alone, so the rows read by it stay as they are until it is
stored; or, with keys, together with others, and then each of its keys alone. Places in the log are given in no order of
commits then, and each such transaction marks the last place before its begin, see `connection.find_log_end`.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import psycopg
from msgspec import Struct

from soorma_ai.adapters.jobs import Helper, Job
from soorma_ai.adapters.postgres.connection import Connection, WriteRefused
from soorma_ai.adapters.postgres.faults import Interrupted, in_our_words, translate
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.locks import LOCK, share_lock
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.sql.connection import MustBeAlone
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

T = TypeVar("T")

GROUP = 128
# Seconds between tries to reach a server that is gone, and how many there are before who asked is told.
PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0, 1.0)

# Whatever the database has by default: what is read is what stood there when the lock was had.
_BESIDE = ("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE",)
_BEGIN = (*_BESIDE, LOCK)


class _GroupSplit(Exception):
    """The operations of a group have to be done again, alone and each with an undo of its own."""


class TransactionHooks(Struct, frozen=True, kw_only=True):
    """Hooks of a writer's transactions.

    `begin` is called at the start of each transaction, with the number of the registry, and `end` at its end; both may
    be called again. `forget` is called after an undo: nothing derived from uncommitted rows is kept. `settle` is called
    after a transaction, on the loop's thread, before anything else learns of its end, and `on_commit` behind everything
    else.
    """

    begin: Callable[[Connection, int], None] = lambda db, registry: None
    end: Callable[[Connection], None] = lambda db: None
    forget: Callable[[], None] = lambda: None
    settle: Callable[[], None] = lambda: None
    on_commit: Callable[[bool], None] | None = None


NO_HOOKS = TransactionHooks()


class PostgresWriter:
    """Writer of one connection. One `is_beside` others takes no common lock."""

    def __init__(self, connection: Connection, limit: StatementLimit, hooks: TransactionHooks = NO_HOOKS) -> None:
        self.connection = connection
        self._limit = limit
        self._hooks = hooks
        self._loop = asyncio.get_running_loop()
        # Nothing that follows from a commit belongs to whoever asked for it.
        self._context = copy_context()
        self._idle: asyncio.Future[None] | None = None
        self._is_closing = False
        self._closing = threading.Event()
        self._asked: deque[Job[Any]] = deque()
        self._is_busy = False
        self._wrote = False
        self._helper = Helper(self._loop, self._context)

    async def do(
        self,
        operation: Callable[[Connection], T],
        ended: Callable[[T, bool], None] | None = None,
        acting: TenantScope = HOUSE,
        keys: frozenset[str] | None = None,
    ) -> T:
        """Run an operation: committed at the return, undone after an exception; the loss of a connection during a
        commit is the exception, and StoreUnavailable names it. With `keys`, beside others that have none of them."""
        if self._is_closing:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._asked.append(Job(partial(operation, self.connection), future, ended, acting, is_long=True, keys=keys))
        if not self._is_busy:
            self._next()
        return await future

    async def close(self) -> None:
        """Close when all that was asked for before is done."""
        self._is_closing = True
        self._closing.set()
        if self._is_busy:
            self._idle = self._idle or self._loop.create_future()
            await asyncio.shield(self._idle)
        self._helper.stop()
        self.connection.close()

    def _next(self) -> None:
        self._is_busy = True
        group: list[Job[Any]] = []
        self._helper.do(partial(self._write, group), partial(self._settle, group))

    def _settle(self, group: list[Job[Any]]) -> None:
        """Answer the callers, on the loop's thread."""
        self._call(self._hooks.settle)
        for job in group:
            job.answer()
        for job in group:
            self._call(job.tell)
        if self._wrote and self._hooks.on_commit is not None:
            self._call(partial(self._hooks.on_commit, self.connection.take_leaving()))
        self._is_busy = False
        if self._asked:
            self._next()
        elif self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _call(self, tell: Callable[[], None]) -> None:
        """Call a listener. After any exception of it, all others are told, and the store goes on."""
        try:
            tell()
        except Exception as error:
            self._loop.call_exception_handler({"message": "a listener of the store broke", "exception": error})

    def _write(self, group: list[Job[Any]]) -> None:
        """Store the present operations, on the helper's thread. After an unexpected error they fail, and the writer
        goes on by another connection."""
        try:
            self._write_group(group)
        except Exception as error:
            self.connection.close()
            self._undo(group)
            _fail(group, error)

    def _write_group(self, group: list[Job[Any]]) -> None:
        self._wrote, begun = False, monotonic()
        self._gather(group)
        for pause in (*PAUSES, None):
            # Nobody waits any more for what was called with a shorter time limit.
            group[:] = [job for job in group if job.wanted]
            if not group:
                return
            try:
                fault = self._try_together(group)
            except (_GroupSplit, WriteRefused):
                fault = self._try(group, apart=True)
            if fault is None:
                return
            is_over = pause is None or self._closing.is_set() or self._limit.left_of(begun) <= 0
            if is_over or not isinstance(fault, Interrupted):
                _fail(group, fault)
                return
            if self.connection.is_lost and pause is not None:
                self._closing.wait(pause)

    def _gather(self, group: list[Job[Any]]) -> None:
        """Take up the present operations, as far as all of them have keys, or the first has none."""
        while self._asked and len(group) < GROUP:
            if group and group[0].keys is not None and self._asked[0].keys is None:
                return
            job = self._asked.popleft()
            if job.wanted:
                group.append(job)

    def _try_together(self, group: list[Job[Any]]) -> StoreUnavailable | None:
        """Try a group with its keys; one that turns out to need more, alone."""
        keys = _keys_of(group)
        if keys is not None:
            try:
                return self._try(group, apart=False, keys=keys)
            except MustBeAlone:
                pass
        return self._try(group, apart=False)

    def _try(
        self, group: list[Job[Any]], *, apart: bool, keys: frozenset[str] | None = None
    ) -> StoreUnavailable | None:
        """Return the reason of a complete failure; a single failed operation is none. Raise _GroupSplit, with nothing
        stored, for an undo of one without the others: a savepoint costs each of them a message, and is rarely needed.
        """
        db, before = self.connection, self.connection.changes
        db.is_careful, db.keys = apart, keys
        try:
            with in_our_words():
                db.begin(*self._beginning(keys), db.act(group[0].acting))
                if keys is None:
                    # The lock may have been waited for, and whoever has it makes the most of it.
                    self._gather(group)
                self._hooks.begin(db, db.registry)
                if apart:
                    self._run_apart(group)
                else:
                    self._run_together(group)
                self._hooks.end(db)
                db.check_writes()
        except (_GroupSplit, MustBeAlone, WriteRefused):
            self._undo(group)
            raise
        except StoreUnavailable as error:
            self._undo(group)
            # Nothing was sent that could have been stored.
            return error if isinstance(error, Interrupted) or not db.is_lost else Interrupted(str(error))
        except Exception as error:
            self._undo(group)
            return StoreUnavailable(f"nothing was stored: {error}")
        return self._commit(group, wrote=db.changes != before, apart=apart)

    def _beginning(self, keys: frozenset[str] | None) -> tuple[str, ...]:
        if self.connection.is_beside:
            return _BESIDE
        return _BEGIN if keys is None else (*_BESIDE, share_lock(keys), self.connection.mark)

    def _commit(self, group: list[Job[Any]], *, wrote: bool, apart: bool) -> StoreUnavailable | None:
        """Return the reason of a failure. Raise _GroupSplit where it may be that of one operation."""
        try:
            self.connection.commit()
        except Interrupted as error:
            self._undo(group)
            return error
        except psycopg.Error as error:
            is_lost = self.connection.is_lost
            self._undo(group)
            if is_lost:
                told = "the connection was lost while this was being stored; whether it is, is not known"
                return StoreUnavailable(f"{told} ({error})")
            if not apart and not isinstance(translate(error), StoreUnavailable):
                raise _GroupSplit from error
            return Interrupted(f"nothing was stored: {error}")
        self._wrote = wrote
        return None

    def _run_together(self, group: list[Job[Any]]) -> None:
        """Run them as if none failed. Raise _GroupSplit when one did after it had written, or could not arrive."""
        db = self.connection
        for job in group:
            db.act_as(job.acting)
            before = db.changes
            if not self._run(job) and (db.changes != before or db.is_broken):
                raise _GroupSplit

    def _run_apart(self, group: list[Job[Any]]) -> None:
        """Run each with an undo of its own, in its own scope."""
        db, before = self.connection, ""
        for job in group:
            db.raw.execute(f"{before}{db.act(job.acting)}; SAVEPOINT job".encode())
            changes = db.take_changes()
            if self._run(job):
                changes.extend(db.take_changes())
            else:
                db.execute("ROLLBACK TO job")
                self._hooks.forget()
            db.plan_changes = changes
            before = "RELEASE job; "

    def _run(self, job: Job[Any]) -> bool:
        """Return False after a failure. Raise faults of the whole transaction."""
        try:
            with in_our_words():
                job.run()
        except Exception as error:
            # Whatever it is, it is the answer to this operation, and none of the others' business.
            is_of_all = isinstance(error, WriteRefused) or (
                self.connection.keys is not None and isinstance(error, MustBeAlone)
            )
            if is_of_all or isinstance(error, Interrupted) or self.connection.is_lost:
                raise
            job.fail(error)
            return False
        return True

    def _undo(self, group: list[Job[Any]]) -> None:
        """Roll back. Results are taken back before anything is done again."""
        # First what others wait for.
        self.connection.undo()
        self.connection.take_changes()
        self.connection.wait_for_loop(lambda: [job.undo() for job in group])
        self._hooks.forget()
        self.connection.let_go()


def _fail(group: Sequence[Job[Any]], fault: Exception) -> None:
    for job in group:
        lost = StoreUnavailable(str(fault))
        lost.__cause__ = fault
        job.fail(lost)


def _keys_of(group: Sequence[Job[Any]]) -> frozenset[str] | None:
    """Return the keys of all operations; None where one has none of its own."""
    keys = set[str]()
    for job in group:
        if job.keys is None:
            return None
        keys |= job.keys
    return frozenset(keys)
