"""Listener to other processes' changes, for wake-ups in this one. Notifications are hints, and may be lost; a look
every second replaces them."""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from secrets import randbelow
from time import monotonic
from typing import Protocol

import psycopg

from soorma_ai.adapters.postgres.holders import HELD_SECONDS, find_holders
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.locks import IS_PRESENCE, LISTED, PRESENCE
from soorma_ai.adapters.postgres.notifications import Notification, join, read, write
from soorma_ai.adapters.postgres.sessions import connect
from soorma_ai.kernel.domain.expectations import SUSPECTS, Arrival
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables.inbox import IS_SUSPECT

_LOG = logging.getLogger("soorma_ai.store")

CHANNEL = "soorma"
POLL_SECONDS = 1.0
# So long a process may be unseen: one that has lost its connection looks for another every second.
ABSENCE = timedelta(seconds=5)

_QUEUED = f"""
    SELECT agent FROM agent WHERE EXISTS (
        SELECT 1 FROM inbox WHERE inbox.agent = agent.agent AND state IN ('queued', 'leased') AND state = 'queued'
    )
    UNION ALL SELECT '{SUSPECTS}' WHERE EXISTS (SELECT 1 FROM inbox WHERE {IS_SUSPECT} AND state = 'queued')
"""
_NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(?, ?)"
_LEAVING = "SELECT 1 FROM outbox WHERE sent_at IS NULL LIMIT 1"
# The lock that all processes of one store share.
PRESENT = f"{PRESENCE}, 0"
_BE_PRESENT = f"SELECT pg_advisory_lock_shared({PRESENT}), pg_advisory_lock_shared({PRESENCE}, %s)"
_NUMBERS = f"SELECT DISTINCT objid::bigint FROM {LISTED} WHERE granted AND {IS_PRESENCE} AND objid::bigint > 0"
_HOLDERS = f"""
    SELECT DISTINCT holder FROM inbox
    WHERE state IN ('queued', 'leased') AND state = 'leased' AND ready_at > 0 AND holder > 0
        AND holder NOT IN ({_NUMBERS})
"""
MOST = 2**31 - 1


class NotificationSink(Protocol):
    """Receiver of a listener's reports, on the loop's thread."""

    def receive_arrival(self, arrival: Arrival, is_leaving: bool) -> None:
        """Other processes have written this, and may have left something to the relay."""
        ...

    def note_absence(self, holders: frozenset[int]) -> None:
        """Note processes with leases, and without a sign of life for a while."""
        ...


class Listener:
    """Thread with a connection of its own, and sign of life of this process: it holds the lock of its number, `number`,
    as long as it lasts, and takes it again by another one after a loss. A process without the lock for `absence` is
    gone. `me` is this process's signature in notifications. It `has_others` unless the last count found none: a new
    process tells of itself."""

    def __init__(
        self, url: str, loop: asyncio.AbstractEventLoop, told: NotificationSink, absence: float, limit: StatementLimit
    ) -> None:
        self._url = url
        self._limit = limit
        self.number = 1 + randbelow(MOST)
        self.me = str(self.number)
        self._loop = loop
        self._told = told
        self._absence = absence
        self._missing: frozenset[int] = frozenset()
        self._reported: frozenset[int] = frozenset()
        self.has_others = True
        self._closing = threading.Event()
        self._raw: psycopg.Connection | None = None
        self._thread = threading.Thread(target=self._listen, name="soorma-store-listener", daemon=True)

    def begin(self) -> None:
        """Be there, and listen. Raise psycopg.Error."""
        self._raw = self._connect()
        self._thread.start()

    def notify(self, db: Reader, news: Notification) -> None:
        """Send a notification, with the transaction of this connection. It is worth no wait for a disk."""
        db.execute(_NOTIFY, (CHANNEL, write(self.me, news))).fetchone()

    def end(self) -> None:
        """Stop at the next notification, be it one's own."""
        self._closing.set()

    def stop(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._raw is not None:
            with suppress(psycopg.Error):
                self._raw.close()

    def _connect(self) -> psycopg.Connection:
        made = connect(self._url, self._limit, is_house=True)
        made.execute(_BE_PRESENT.encode(), (self.number,))
        made.execute(f"LISTEN {CHANNEL}")
        made.execute("SELECT pg_notify(%s, %s)", (CHANNEL, write(self.me, Notification())))
        return made

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                raw = self._raw = self._raw or self._connect()
                self._hear(raw)
            except psycopg.Error:
                self._raw, self._missing = None, frozenset()
                self._closing.wait(POLL_SECONDS)

    def _hear(self, raw: psycopg.Connection) -> None:
        looked = counted = searched = monotonic()
        while not self._closing.is_set():
            # The connection is free for others again when the last has been heard.
            heard = list(raw.notifies(timeout=min(POLL_SECONDS, self._absence), stop_after=1))
            news = [one for each in heard if (one := read(each.payload, self.me)) is not None]
            self.has_others |= bool(news)
            if any(one.is_short for one in news) or monotonic() - looked >= POLL_SECONDS:
                news.append(_look(raw))
                looked = monotonic()
            if news:
                self._pass_on(join(one.arrival for one in news), any(one.is_leaving for one in news))
            if monotonic() - counted >= self._absence:
                self._count(raw)
                counted = monotonic()
            if monotonic() - searched >= HELD_SECONDS:
                self._report_holders(raw)
                searched = monotonic()

    def _pass_on(self, arrival: Arrival, is_leaving: bool) -> None:
        self._tell(lambda: self._told.receive_arrival(arrival, is_leaving))

    def _count(self, raw: psycopg.Connection) -> None:
        """Look for other processes, and for missing ones. One with a mere loss of its connection is back before the
        next time."""
        self.has_others = any(number != self.number for (number,) in raw.execute(_NUMBERS.encode()).fetchall())
        missing = frozenset(int(holder) for (holder,) in raw.execute(_HOLDERS.encode()).fetchall())
        gone, self._missing = missing & self._missing, missing
        if gone:
            self._tell(lambda: self._told.note_absence(gone))

    def _report_holders(self, raw: psycopg.Connection) -> None:
        """Report transactions that keep readers of the log waiting, each once."""
        found = {one.pid: one for one in find_holders(raw, HELD_SECONDS)}
        for pid in found.keys() - self._reported:
            _LOG.warning("transaction_left_open", extra={"reason": str(found[pid])})
        self._reported = frozenset(found)

    def _tell(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(call)


def _look(raw: psycopg.Connection) -> Notification:
    agents = frozenset(str(agent) for (agent,) in raw.execute(_QUEUED.encode()).fetchall())
    return Notification(Arrival(agents), is_leaving=raw.execute(_LEAVING).fetchone() is not None)


def present(db: Reader) -> set[int]:
    """Return the numbers of the processes that are there, as far as the server has heard of them."""
    return {number for (number,) in db.execute(_NUMBERS).fetchall()}
