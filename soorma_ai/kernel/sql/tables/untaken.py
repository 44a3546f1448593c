"""Requests that wait for an agent that takes them."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from soorma_ai.kernel.rules.arrival.effects import KeepUntaken
from soorma_ai.kernel.sql.codec import FAR_AWAY, epoch
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables.events import USER

_WAITS = "untaken.is_over = 0 AND untaken.tenant = :tenant AND untaken.expires > :now"
_OWN = f"CAST(:user AS TEXT) IS NULL OR {USER} = :user"
_UNTAKEN = f"""
    SELECT untaken.event_seq, untaken.expires FROM untaken WHERE {_WAITS}
        AND (
            CAST(:user AS TEXT) IS NULL
            OR EXISTS (SELECT 1 FROM event WHERE event.seq = untaken.event_seq AND ({_OWN}))
        )
    ORDER BY untaken.event_seq
"""
# Of all events of the tree, by the index alone.
_UNTAKEN_OF_TREE = f"""
    SELECT untaken.event_seq, untaken.expires FROM event CROSS JOIN untaken ON untaken.event_seq = event.seq
    WHERE event.root_plan_id = :root AND {_WAITS} AND ({_OWN}) ORDER BY event.seq
"""
_UNTAKEN_OF_TASK = f"""
    SELECT untaken.event_seq, untaken.expires FROM expectation
    CROSS JOIN event ON event.id = expectation.id CROSS JOIN untaken ON untaken.event_seq = event.seq
    WHERE expectation.task_id = :task AND {_WAITS} AND ({_OWN}) ORDER BY event.seq
"""


def keep(db: Reader, event_seq: int, kept: KeepUntaken) -> None:
    db.execute(
        "INSERT INTO untaken (event_seq, tenant, event_type, expires) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (event_seq, kept.tenant_id, kept.event_type, epoch(kept.until)),
    )


def was_kept(db: Reader, event_seq: int) -> bool:
    return db.execute("SELECT 1 FROM untaken WHERE event_seq = ?", (event_seq,)).fetchone() is not None


def drop_expired(db: Reader, now: datetime) -> None:
    db.execute("UPDATE untaken SET is_over = 1 WHERE is_over = 0 AND expires <= ?", (epoch(now),))


def put_off(db: Reader, request_id: str, later: datetime | None) -> None:
    """Move the end of a request that waits for a taker, if it does; None: until it is moved again."""
    db.execute(
        "UPDATE untaken SET expires = ? WHERE is_over = 0 AND event_seq = (SELECT seq FROM event WHERE id = ?)",
        (epoch(later) if later else FAR_AWAY, request_id),
    )


def drop(db: Reader, event_seq: int) -> None:
    """Close its row, which stays: a request that comes again was looked at before."""
    db.execute("UPDATE untaken SET is_over = 1 WHERE event_seq = ?", (event_seq,))


def places_of(db: Reader, event_types: Sequence[str], after: int, limit: int) -> list[int]:
    """Return places in the log of requests of these types without a taker, in order of arrival."""
    found = db.execute(
        "SELECT event_seq FROM untaken WHERE is_over = 0 AND event_type IN (SELECT value FROM json_each(?)) "
        "AND event_seq > ? ORDER BY event_seq LIMIT ?",
        (json.dumps(list(event_types)), after, limit),
    )
    return [seq for (seq,) in found]


def places(
    db: Reader, tenant_id: str, now: datetime, root_plan_id: str | None, task_id: str | None, user_id: str | None
) -> Iterator[tuple[int, float]]:
    """Places in the log of requests that wait for a taker, in order of arrival, each with the moment of its end."""
    query = _UNTAKEN_OF_TASK if task_id is not None else _UNTAKEN if root_plan_id is None else _UNTAKEN_OF_TREE
    values = {"tenant": tenant_id, "now": epoch(now), "root": root_plan_id, "task": task_id, "user": user_id}
    yield from db.execute(query, values)
