"""A connection to the server, which is made anew when it is lost."""

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any

import psycopg
from msgspec import Struct
from msgspec.structs import replace
from psycopg.pq import TransactionStatus

from soorma_ai.adapters.postgres.dialect import spell
from soorma_ai.adapters.postgres.faults import in_our_words
from soorma_ai.adapters.postgres.full_text import Postings, index_of
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.literals import quote
from soorma_ai.adapters.postgres.locks import IS_MARK, LISTED, MARK, ROUND
from soorma_ai.adapters.postgres.prepared import PreparedStatements
from soorma_ai.adapters.postgres.sessions import connect
from soorma_ai.errors import SoormaError, StoreUnavailable
from soorma_ai.kernel.sql import connection as family
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

# Seconds that a transaction waits for the loop's thread, all in all: others wait for its end.
LOOP_WITHIN = 0.05

_REGISTRY = "SELECT registry FROM meta"
_LAST = "SELECT coalesce(max(seq), 0) FROM event"
_MARKED = f"SELECT objid::bigint FROM {LISTED} WHERE {IS_MARK}"


class SecondStatement(Exception):
    """Raised for a second statement where one stands alone."""


class WriteRefused(Exception):
    """Raised where rows of an earlier statement are refused. Which operation has written it is not known."""


class _Unsent(Struct, frozen=True):
    """Statement that waits for the next message, and what gets its rows. It `may_fail` by them."""

    text: str
    note: Callable[[family.Rows], None] | None = None
    may_fail: bool = False


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
        self._unsent: list[_Unsent] = []
        self._prepared = PreparedStatements()
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
        self._unsent.clear()
        with self._prepared.expected():
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
            self._prepared.forget()
            if self._was_connected:
                self._on_reconnect()
            self._was_connected = True
        return self._raw

    @property
    def mark(self) -> str:
        """The statement that takes the mark of a transaction, with the rights of the house. Raise psycopg.Error."""
        return self._prepared.spell(self._connected(), MARK, ()) or MARK

    def begin_single(self, scope: str) -> None:
        """Let the next statement be sent with this statement of its scope, as a transaction of one message. One more
        before `end_single` raises SecondStatement."""
        self._connected()
        self._singles = [f"{scope}; {_REGISTRY}"]

    def end_single(self) -> None:
        self._singles = None

    def _execute_single(self, before: list[str], sql: str, parameters: family.Parameters) -> family.Rows:
        text = self._prepared.spell(self.raw, sql, parameters)
        if not before or text is None:
            raise SecondStatement
        with self._prepared.expected():
            found = self.raw.execute(f"{before.pop()}; {text}".encode())
        found.nextset()
        row = found.fetchone()
        self.registry = int(row[0]) if row else 0
        found.nextset()
        return found

    def act(self, acting: TenantScope) -> str:
        """Return the statement for the scope of the rest of the transaction."""
        self._acting = acting
        return act(acting)

    def act_as(self, acting: TenantScope) -> None:
        """Do the rest of the transaction in this name."""
        if acting == self._acting:
            return
        text = self.act(acting)
        if self.is_careful:
            self.raw.execute(text.encode())
        else:
            self._unsent.append(_Unsent(text))

    def act_for(self, tenant_id: str) -> None:
        """Act for a tenant. No work for a tenant concerns another's rows: the database would refuse it."""
        if self._acting.is_house:
            self.act_as(replace(self._acting, tenant_id=tenant_id))

    def savepoint(self, name: str, tenant_id: str) -> None:
        self.act_for(tenant_id)
        self.send()
        self.raw.execute(f"SAVEPOINT {name}".encode())

    def find_everywhere(self, sql: str) -> list[Any]:
        self.send()
        found = self.raw.execute(f"{act(HOUSE)}; {sql}; {act(self._acting)}".encode())
        found.nextset()
        return found.fetchall()

    def execute(self, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
        if self._singles is not None:
            return self._execute_single(self._singles, sql, parameters)
        text = self._prepared.spell(self.raw, sql, parameters)
        if text is not None:
            found = self._send(text)
        else:
            self.send()
            found = self.raw.execute(spell(sql).encode(), parameters or None)
        # The server's word for what it did, whatever the statement begins with.
        if not (found.statusmessage or "").startswith("SELECT"):
            self.changes += max(found.rowcount, 0)
        return found

    def write(
        self, sql: str, parameters: family.Parameters, check: Callable[[family.Rows], None] | None = None
    ) -> None:
        if not self._leave(sql, parameters, check, may_fail=check is not None):
            super().write(sql, parameters, check)

    def write_beside(self, sql: str, parameters: family.Parameters, note: Callable[[family.Rows], None]) -> None:
        if not self._leave(sql, parameters, note):
            super().write_beside(sql, parameters, note)

    def _leave(
        self,
        sql: str,
        parameters: family.Parameters,
        note: Callable[[family.Rows], None] | None,
        *,
        may_fail: bool = False,
    ) -> bool:
        """Leave a statement to the next message; return False where it must be sent now. Where one operation may be
        undone by itself, it gets its own faults."""
        text = None if self.is_careful else self._prepared.spell(self.raw, sql, parameters)
        if text is None:
            return False
        self._unsent.append(_Unsent(text, note, may_fail))
        self.changes += 1
        return True

    def send(self) -> None:
        if self._unsent:
            self._send()

    def check_writes(self) -> None:
        """Send what is written, if any of its rows has a check. Raise psycopg.Error, or WriteRefused."""
        if any(one.may_fail for one in self._unsent):
            self._send()

    def _send(self, *last: str) -> psycopg.Cursor:
        """Send what is left, and these statements, as one message; return the rows of the last ones. Raise WriteRefused
        for rows that are refused."""
        unsent, self._unsent = self._unsent, []
        with self._prepared.expected():
            found = self.raw.execute("; ".join([*(one.text for one in unsent), *last]).encode())
        for one in unsent:
            if one.note is not None:
                try:
                    one.note(found)
                except SoormaError as error:
                    raise WriteRefused from error
            found.nextset()
        return found

    def executemany(self, sql: str, parameters: Iterable[family.Parameters], /) -> family.Rows:
        self.send()
        cursor = self.raw.cursor()
        cursor.executemany(spell(sql).encode(), list(parameters))
        self.changes += max(cursor.rowcount, 0)
        return cursor

    def commit(self) -> None:
        """Commit in one message, with the writes that have no check, and the moves of changed plans' places. Raise
        psycopg.Error."""
        if unmoved := self.plan_changes.unmoved():
            ids = ", ".join(map(quote, unmoved))
            moving = f"UPDATE plan SET place = place + 1 WHERE plan_id = ANY (ARRAY[{ids}])"
            self._unsent.append(_Unsent(self.act(HOUSE)))
            self._unsent.append(_Unsent(f"{moving} RETURNING plan_id, seq, place", self._note_places))
        self._send("COMMIT")

    def _note_places(self, rows: family.Rows) -> None:
        for plan_id, seq, place in rows.fetchall():
            self.note_place(plan_id, seq, place)

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
        self._unsent.clear()
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
