"""A connection to the server, which is made anew when it is lost."""

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from time import monotonic

import psycopg
from psycopg.abc import Buffer
from psycopg.types.string import StrDumper

from soorma_ai.adapters.postgres.faults import in_our_words
from soorma_ai.adapters.postgres.schema import SCHEMA
from soorma_ai.adapters.postgres.spelling import spell
from soorma_ai.adapters.postgres.words import Postings
from soorma_ai.adapters.sql import connection as family
from soorma_ai.errors import StoreUnavailable

# Seconds until a server that does not answer is given up, and between signs of life of one that is idle.
CONNECTED_WITHIN = 5
# Seconds that a transaction waits for the loop's thread, all in all: others wait for its end.
LOOP_WITHIN = 0.05

_REGISTRY = "SELECT registry FROM meta"


class Connection(family.Connection):
    """Used by one thread at a time. `changes` counts rows that were written. It is careful always: it may be undone
    for what others did. Hands are asked on the loop's thread."""

    words = Postings()

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.is_careful = True
        self.changes = 0
        self.registry = 0
        self._url = url
        self._raw: psycopg.Connection | None = None
        self._patience = LOOP_WITHIN

    @property
    def is_lost(self) -> bool:
        return self._raw is None or self._raw.closed

    @property
    def raw(self) -> psycopg.Connection:
        """Return the connection of the driver. Raise StoreUnavailable when it is lost: what was begun by it is lost
        with it, so that nothing else may be done instead."""
        if self._raw is None or self._raw.closed:
            raise StoreUnavailable("the connection to the database is lost")
        return self._raw

    def begin(self, *statements: str) -> None:
        """Begin a transaction by these, and look which number the registry has, in one message, by another connection
        when there is none. Raise psycopg.Error."""
        if self._raw is None or self._raw.closed:
            self._raw = connect(self._url)
        self._patience = LOOP_WITHIN
        found = self._raw.execute("; ".join((*statements, _REGISTRY)).encode())
        while found.nextset():
            pass
        row = found.fetchone()
        self.registry = int(row[0]) if row else 0

    def execute(self, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
        found = self.raw.execute(spell(sql).encode(), parameters or None)
        if found.description is None:
            self.changes += max(found.rowcount, 0)
        elif not sql.lstrip().startswith("SELECT"):
            self.changes += 1
        return found

    def executemany(self, sql: str, parameters: Iterable[family.Parameters], /) -> family.Rows:
        cursor = self.raw.cursor()
        cursor.executemany(spell(sql).encode(), list(parameters))
        self.changes += max(cursor.rowcount, 0)
        return cursor

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

    def looked(self, agent: str, found: int) -> None:
        if self.hands is not None:
            self._tell(partial(self.hands.looked, agent, found))

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

    def in_our_words(self) -> AbstractContextManager[None]:
        return in_our_words()

    @contextmanager
    def overwriting(self) -> Generator[None]:
        """The server removes what is dead when it vacuums."""
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


class TextDumper(StrDumper):
    """A text here cannot hold a NUL. Instead it has what is no character either, which `json_quote` reads back."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\uffff"))


# A host that vanishes, or stands still, in a transaction holds up all others no longer than this.
_SESSION = {
    "search_path": SCHEMA,
    "timezone": "UTC",
    "idle_in_transaction_session_timeout": "30s",
    "lock_timeout": "60s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


def connect(url: str) -> psycopg.Connection:
    made = psycopg.connect(
        url, autocommit=True, connect_timeout=CONNECTED_WITHIN, keepalives_idle=10, keepalives_interval=5
    )
    # Texts are told to be such, so that a statement means the same whatever a parameter stands beside.
    made.adapters.register_dumper(str, TextDumper)
    settings = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SESSION.items())
    made.execute(f"SELECT {settings}".encode())
    return made
