"""A connection to the server, which is made anew when it is lost."""

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import count
from time import monotonic
from typing import Any

import psycopg
from msgspec.structs import replace
from psycopg import errors
from psycopg.pq import TransactionStatus

from soorma_ai.adapters.postgres.dialect import spell, spell_numbered
from soorma_ai.adapters.postgres.faults import Interrupted, in_our_words
from soorma_ai.adapters.postgres.full_text import Postings, index_of
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.literals import TYPES, literal, quote
from soorma_ai.adapters.postgres.locks import IS_MARK, LISTED, MARK, ROUND
from soorma_ai.adapters.postgres.sessions import connect
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.sql import connection as family
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

# Seconds that a transaction waits for the loop's thread, all in all: others wait for its end.
LOOP_WITHIN = 0.05

_REGISTRY = "SELECT registry FROM meta"
_LAST = "SELECT coalesce(max(seq), 0) FROM event"
_MARKED = f"SELECT objid::bigint FROM {LISTED} WHERE {IS_MARK}"


class SecondStatement(Exception):
    """Raised for a second statement where one stands alone."""


class Connection(family.Connection):
    """Used by one thread at a time. `changes` counts rows that were written. Hands are asked on the loop's thread.
    `on_reconnect` is called for each connection made in the place of a lost one, by the thread that makes it."""

    taking = "FOR UPDATE OF inbox SKIP LOCKED"
    is_far_from_hands = True
    moves_places = True

    def __init__(
        self,
        url: str,
        loop: asyncio.AbstractEventLoop,
        limit: StatementLimit | None = None,
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._on_reconnect = on_reconnect
        self._was_connected = False
        # The scope of a statement that stands alone, until it is sent.
        self._singles: list[str] | None = None
        # Names of statements prepared on the present connection, by text and types.
        self._prepared: dict[tuple[str, str], str] = {}
        self._numbers = count()
        self._limit = limit or StatementLimit()
        self._loop = loop
        self.changes = 0
        self.registry = 0
        self._url = url
        self._acting = HOUSE
        self._log_end: int | None = None
        self._raw: psycopg.Connection | None = None
        self._patience = LOOP_WITHIN

    @property
    def is_lost(self) -> bool:
        return self._raw is None or self._raw.closed

    @property
    def is_broken(self) -> bool:
        """Tell whether nothing more can be done in this transaction."""
        return self.is_lost or self.raw.info.transaction_status != TransactionStatus.INTRANS

    @property
    def raw(self) -> psycopg.Connection:
        """Return the connection of the driver. Raise StoreUnavailable after its loss: its work is lost with it, so
        nothing else may be done instead."""
        if self._raw is None or self._raw.closed:
            raise StoreUnavailable("the connection to the database is lost")
        return self._raw

    def begin(self, *statements: str) -> None:
        """Begin a transaction by these, and look which number the registry has, in one message, by another connection
        when there is none. Raise psycopg.Error."""
        raw = self._connected()
        self._patience = LOOP_WITHIN
        with self._expecting_prepared():
            found = raw.execute("; ".join((*statements, _REGISTRY)).encode())
        while found.nextset():
            pass
        row = found.fetchone()
        self.registry = int(row[0]) if row else 0

    @property
    def log_end(self) -> int | None:
        return self._log_end

    def find_log_end(self) -> None:
        """Find the end of the log for the next transaction: up to the last committed place, or to the first mark.

        The place is read first, then the marks, and the rows last of all. An event before that place got its own before
        that place was committed. So its transaction had its mark by then, and has it still, or its rows are seen. Raise
        psycopg.Error.
        """
        found = self._connected().execute(f"{act(HOUSE)}; {_LAST}; {_MARKED}".encode())
        found.nextset()
        row = found.fetchone()
        last = int(row[0]) if row else 0
        found.nextset()
        self._log_end = min((last - ((last - int(mark)) & ROUND) for (mark,) in found.fetchall()), default=last)

    def forget_log_end(self) -> None:
        self._log_end = None

    def _connected(self) -> psycopg.Connection:
        if self._raw is None or self._raw.closed:
            self._raw = connect(self._url, self._limit)
            self._prepared.clear()
            if self._was_connected:
                self._on_reconnect()
            self._was_connected = True
        return self._raw

    @property
    def mark(self) -> str:
        """The statement that takes the mark of a transaction, with the rights of the house. Raise psycopg.Error."""
        self._connected()
        return f"EXECUTE {self._prepare(MARK, '')}"

    def begin_single(self, scope: str) -> None:
        """Let the next statement be sent with this statement of its scope, as a transaction of one message. One more
        before `end_single` raises SecondStatement."""
        self._connected()
        self._singles = [f"{scope}; {_REGISTRY}"]

    def end_single(self) -> None:
        self._singles = None

    def _execute_single(self, before: list[str], sql: str, parameters: family.Parameters) -> family.Rows:
        values = None if isinstance(parameters, Mapping) else [literal(value) for value in parameters]
        if not before or values is None or None in values:
            raise SecondStatement
        name = self._prepare(sql, ", ".join(TYPES.get(type(value), "text") for value in parameters))
        given = f"({', '.join(map(str, values))})" if values else ""
        with self._expecting_prepared():
            found = self.raw.execute(f"{before.pop()}; EXECUTE {name} {given}".encode())
        found.nextset()
        row = found.fetchone()
        self.registry = int(row[0]) if row else 0
        found.nextset()
        return found

    def _prepare(self, sql: str, types: str) -> str:
        """Prepare a statement for this connection, once for parameters of these types; return its name."""
        name = self._prepared.get((sql, types))
        if name is None:
            name = f"single_{next(self._numbers)}"
            self.raw.execute(f"PREPARE {name} {f'({types})' if types else ''} AS {spell_numbered(sql)}".encode())
            self._prepared[sql, types] = name
        return name

    @contextmanager
    def _expecting_prepared(self) -> Generator[None]:
        """Raise Interrupted where a prepared statement is gone: at some rollbacks, the driver lets the server forget
        all of them."""
        try:
            yield
        except errors.InvalidSqlStatementName as error:
            self._prepared.clear()
            raise Interrupted(f"a prepared statement is gone: {error}") from error

    def act(self, acting: TenantScope) -> str:
        """Return the statement for the scope of the rest of the transaction."""
        self._acting = acting
        return act(acting)

    def act_as(self, acting: TenantScope) -> None:
        """Do the rest of the transaction in this name."""
        if acting != self._acting:
            self.raw.execute(self.act(acting).encode())

    def act_for(self, tenant_id: str) -> None:
        """Act for a tenant. No work for a tenant concerns another's rows: the database would refuse it."""
        if self._acting.is_house:
            self.act_as(replace(self._acting, tenant_id=tenant_id))

    def savepoint(self, name: str, tenant_id: str) -> None:
        self.act_for(tenant_id)
        self.raw.execute(f"SAVEPOINT {name}".encode())

    def find_everywhere(self, sql: str) -> list[Any]:
        found = self.raw.execute(f"{act(HOUSE)}; {sql}; {act(self._acting)}".encode())
        found.nextset()
        return found.fetchall()

    def execute(self, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
        if self._singles is not None:
            return self._execute_single(self._singles, sql, parameters)
        found = self.raw.execute(spell(sql).encode(), parameters or None)
        # The server's word for what it did, whatever the statement begins with.
        if not (found.statusmessage or "").startswith("SELECT"):
            self.changes += max(found.rowcount, 0)
        return found

    def executemany(self, sql: str, parameters: Iterable[family.Parameters], /) -> family.Rows:
        cursor = self.raw.cursor()
        cursor.executemany(spell(sql).encode(), list(parameters))
        self.changes += max(cursor.rowcount, 0)
        return cursor

    def commit(self) -> None:
        """Commit in one message, after the moves of changed plans' places. Raise psycopg.Error."""
        unmoved = self.plan_changes.unmoved()
        if not unmoved:
            self.raw.execute("COMMIT")
            return
        ids = ", ".join(map(quote, unmoved))
        moving = f"UPDATE plan SET place = place + 1 WHERE plan_id = ANY (ARRAY[{ids}]) RETURNING plan_id, seq, place"
        found = self.raw.execute(f"{self.act(HOUSE)}; {moving}; COMMIT".encode())
        found.nextset()
        for plan_id, seq, number in found.fetchall():
            self.note_place(plan_id, seq, number)

    def take_hand(self, agent: str, *, freed: bool = False) -> bool:
        """A loop that is busy has no free hand, and is not asked again before the next transaction."""
        hands = self.hands
        if hands is None or not self._ask(lambda: hands.take(agent, freed=freed)):
            return False
        self._reserved.append(agent)
        return True

    def give_back_hand(self, agent: str) -> None:
        if self.hands is not None:
            self._reserved.remove(agent)
            self._tell(partial(self.hands.give_back, agent))

    def leave_queued(self, agent: str) -> None:
        self.queued.add(agent)
        if self.hands is not None:
            self._tell(partial(self.hands.note_queued, agent))

    def note_claim(self, agent: str, found: int) -> None:
        if self.hands is not None:
            self._tell(partial(self.hands.note_claim, agent, found))

    def wait_for_loop(self, call: Callable[[], object]) -> None:
        """Call this on the loop's thread, as long as there is one, and go on when it has returned."""
        done = threading.Event()

        def and_tell() -> None:
            try:
                call()
            finally:
                done.set()

        self._tell(and_tell)
        while not done.wait(1.0) and not self._loop.is_closed():
            pass

    def _tell(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is gone, and with it whoever had hands
            self._loop.call_soon_threadsafe(call)

    def _ask(self, question: Callable[[], bool]) -> bool:
        if self._patience <= 0:
            return False
        answer: Future[bool] = Future()
        asked = monotonic()

        def ask() -> None:
            if answer.set_running_or_notify_cancel():
                answer.set_result(question())

        self._tell(ask)
        try:
            return answer.result(self._patience)
        except TimeoutError:
            return not answer.cancel() and answer.result()
        finally:
            self._patience -= monotonic() - asked

    def words(self, table: str) -> Postings:
        return index_of(table)

    def in_our_words(self) -> AbstractContextManager[None]:
        return in_our_words()

    @contextmanager
    def overwriting(self) -> Generator[None]:
        """Do nothing: the server removes dead rows in its vacuum."""
        yield

    def undo(self) -> None:
        """Roll back, as far as there is a connection. One that cannot be rolled back is given up."""
        if self._raw is None:
            return
        try:
            self._raw.execute("ROLLBACK")
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(psycopg.Error):
                raw.close()


def act(acting: TenantScope) -> str:
    """Return the statement for the scope of the rest of a transaction; see `guard`."""
    given = {"tenant": acting.tenant_id or "", "user": acting.user_id or "", "house": "on" if acting.is_house else ""}
    return "SELECT " + ", ".join(f"set_config('soorma.{name}', {quote(value)}, true)" for name, value in given.items())
