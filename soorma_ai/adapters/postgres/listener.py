"""What other processes have written, as far as this one has to be woken. Notifications are hints, which may be lost;
every second it is looked at anyway."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import psycopg

from soorma_ai.adapters.postgres.connection import connect

CHANNEL = "soorma"
POLL_SECONDS = 1.0

_QUEUED = """
    SELECT agent FROM agent WHERE EXISTS (
        SELECT 1 FROM inbox WHERE inbox.agent = agent.agent AND state IN ('queued', 'leased') AND state = 'queued'
    )
"""
_LEAVING = "SELECT 1 FROM outbox WHERE sent_at IS NULL LIMIT 1"
_PRESENT = "hashtext('soorma presence'), hashtext(current_schema())"


class Listener:
    """A thread with a connection of its own, by which this process is also known to be there: whoever starts alone
    finds the leases of the dead. `told` is called on the loop's thread, with the agents for which there may be
    something, and whether something is left to the relay. `me` is what this process signs its notifications with."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop, told: Callable[[frozenset[str], bool], None]):
        self._url = url
        self.me = ""
        self._loop = loop
        self._told = told
        self._closing = threading.Event()
        self._raw: psycopg.Connection | None = None
        self._thread = threading.Thread(target=self._listen, name="soorma-store-listener", daemon=True)

    def begin(self) -> bool:
        """Be there, and tell whether no other process is, until `stay` is called. Raise psycopg.Error."""
        self._raw = connect(self._url, is_house=True)
        self.me = str(self._raw.info.backend_pid)
        row = self._raw.execute(f"SELECT pg_try_advisory_lock({_PRESENT})").fetchone()
        return row is not None and row[0] is True

    def stay(self, *, was_alone: bool) -> None:
        """Be one of several from now on, and listen."""
        assert self._raw is not None
        self._raw.execute(f"SELECT pg_advisory_lock_shared({_PRESENT})")
        if was_alone:
            self._raw.execute(f"SELECT pg_advisory_unlock({_PRESENT})")
        self._raw.execute(f"LISTEN {CHANNEL}")
        self._thread.start()

    def notification(self) -> str:
        return f"SELECT pg_notify('{CHANNEL}', '{self.me}')"

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

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._hear(self._raw or self._again())
            except psycopg.Error:
                self._raw = None
                self._closing.wait(POLL_SECONDS)

    def _again(self) -> psycopg.Connection:
        raw = connect(self._url, is_house=True)
        raw.execute(f"SELECT pg_advisory_lock_shared({_PRESENT})")
        raw.execute(f"LISTEN {CHANNEL}")
        self._raw = raw
        return raw

    def _hear(self, raw: psycopg.Connection) -> None:
        looked = monotonic()
        while not self._closing.is_set():
            # The connection is free for others again when the last has been heard.
            heard = list(raw.notifies(timeout=POLL_SECONDS, stop_after=1))
            if any(one.payload != self.me for one in heard) or monotonic() - looked >= POLL_SECONDS:
                self._look(raw)
                looked = monotonic()

    def _look(self, raw: psycopg.Connection) -> None:
        agents = frozenset(str(agent) for (agent,) in raw.execute(_QUEUED).fetchall())
        is_leaving = raw.execute(_LEAVING).fetchone()
        with suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._told, agents, is_leaving is not None)


# Other processes, by the locks that they hold.
OTHERS = """
    SELECT count(*) > 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database()
        AND classid::bigint = (hashtext('soorma presence')::bigint & 4294967295)
        AND objid::bigint = (hashtext(current_schema())::bigint & 4294967295)
"""
