"""Transactions with a mark in the log, or the common lock of all writers: others wait for them."""

import psycopg
from msgspec import Struct

from soorma_ai.adapters.postgres.locks import IS_COMMON, IS_MARK, LISTED

# Seconds after which an open transaction is worth a word.
HELD_SECONDS = 2.0
_HOLDERS = f"""
    SELECT pg_stat_activity.pid, application_name, coalesce(state, ''),
        extract(epoch FROM clock_timestamp() - xact_start)::double precision
    FROM pg_stat_activity
    WHERE xact_start < clock_timestamp() - make_interval(secs => %s) AND pid IN (
        SELECT pid FROM {LISTED} WHERE granted AND (({IS_MARK}) OR ({IS_COMMON}))
    )
    ORDER BY xact_start
"""


class OpenTransaction(Struct, frozen=True):
    """Transaction of another connection. `process` is its name for itself, `seconds` its age."""

    pid: int
    process: str
    state: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"a transaction of {self.process or 'a program without a name'} (pid {self.pid}, {self.state}) is open for "
            f"{self.seconds:.0f} s"
        )


def find_holders(db: psycopg.Connection, seconds: float = HELD_SECONDS) -> list[OpenTransaction]:
    """Return the transactions that have been open for so many seconds, the oldest first. Raise psycopg.Error."""
    return [OpenTransaction(*row) for row in db.execute(_HOLDERS.encode(), (seconds,)).fetchall()]
