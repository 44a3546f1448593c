"""All events there ever were, once each, and the outbox: those of them that still have to leave."""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.values import clip, compact
from soorma_ai.errors import LocalProtocolError
from soorma_ai.ports import StoredEvent

_LOG = logging.getLogger("soorma_ai.store")


@dataclass(frozen=True)
class EventQuery:
    after: int
    tenant_id: str | None
    root_plan_id: str | None
    limit: int
    newest: bool


def publish(db: sqlite3.Connection, event: EventEnvelope) -> bool:
    """Into the log and the outbox; False if it was there before. Raises LocalProtocolError for the same id
    with other content."""
    digest = _digest(event)
    stored = _find(db, event.id)
    if stored is not None:
        if stored[1] == digest:
            return False
        raise LocalProtocolError(_told(_event(db, stored[0]), event))
    _send(db, _insert(db, event, digest))
    return True


def publish_once(db: sqlite3.Connection, event: EventEnvelope) -> None:
    """For events that only wake somebody: whichever was first stands."""
    if _find(db, event.id) is None:
        _send(db, _insert(db, event, _digest(event)))


def record(db: sqlite3.Connection, event: EventEnvelope) -> tuple[int, EventEnvelope]:
    """An event that came in, as it was stored first."""
    digest = _digest(event)
    stored = _find(db, event.id)
    if stored is None:
        return _insert(db, event, digest), event
    if stored[1] == digest:
        return stored[0], event
    _LOG.warning("event id used twice with different content", extra={"event_id": event.id, "event_type": event.type})
    return stored[0], _event(db, stored[0])


def event_by_id(db: sqlite3.Connection, event_id: str) -> EventEnvelope | None:
    row = db.execute("SELECT body FROM event WHERE id = ?", (event_id,)).fetchone()
    return EventEnvelope.from_json(row[0]) if row else None


def event_by_seq(db: sqlite3.Connection, seq: int) -> EventEnvelope:
    return _event(db, seq)


def events(db: sqlite3.Connection, query: EventQuery) -> list[StoredEvent]:
    if query.root_plan_id is not None:
        found = _of_tree(db, query)
    elif query.tenant_id is not None:
        found = _rows(db, f"{_SELECT} WHERE tenant = :tenant AND seq > :after", query)
    else:
        found = _rows(db, f"{_SELECT} WHERE seq > :after", query)
    if query.newest:
        found.reverse()
    return [StoredEvent(seq, EventEnvelope.from_json(body)) for seq, body in found]


def unsent(db: sqlite3.Connection, limit: int) -> list[StoredEvent]:
    found = db.execute(UNSENT, (limit,)).fetchall()
    return [StoredEvent(seq, EventEnvelope.from_json(body)) for seq, body in found]


def sent(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    db.execute("DELETE FROM outbox WHERE event_seq IN (SELECT value FROM json_each(?))", (json.dumps(list(seqs)),))


UNSENT = """
    SELECT event.seq, event.body FROM outbox JOIN event ON event.seq = outbox.event_seq
    ORDER BY outbox.event_seq LIMIT ?
"""

_SELECT = "SELECT seq, body FROM event"

# The goal's event came before its plan had an id, so it does not carry it.
_TREE = """
    SELECT seq, body FROM event WHERE seq IN (
        SELECT seq FROM (
            SELECT seq FROM event WHERE root_plan_id = :root AND seq > :after ORDER BY seq {direction} LIMIT :limit
        )
        UNION
        SELECT event.seq FROM plan JOIN event ON event.id = plan.goal_id
        WHERE plan.plan_id = :root AND event.seq > :after
    ) AND (:tenant IS NULL OR tenant = :tenant)
"""


def _of_tree(db: sqlite3.Connection, query: EventQuery) -> list[tuple[int, str]]:
    return _rows(db, _TREE.format(direction=_direction(query)), query)


def _rows(db: sqlite3.Connection, select: str, query: EventQuery) -> list[tuple[int, str]]:
    parameters = {
        "after": query.after,
        "tenant": query.tenant_id,
        "root": query.root_plan_id,
        "limit": query.limit,
    }
    return db.execute(f"{select} ORDER BY seq {_direction(query)} LIMIT :limit", parameters).fetchall()


def _direction(query: EventQuery) -> str:
    return "DESC" if query.newest else "ASC"


def _digest(event: EventEnvelope) -> bytes:
    return hashlib.sha256(compact([event.type, event.topic, event.data]).encode()).digest()


def _find(db: sqlite3.Connection, event_id: str) -> tuple[int, bytes] | None:
    return db.execute("SELECT seq, digest FROM event WHERE id = ?", (event_id,)).fetchone()


def _event(db: sqlite3.Connection, seq: int) -> EventEnvelope:
    return EventEnvelope.from_json(db.execute("SELECT body FROM event WHERE seq = ?", (seq,)).fetchone()[0])


def _insert(db: sqlite3.Connection, event: EventEnvelope, digest: bytes) -> int:
    cursor = db.execute(
        "INSERT INTO event (id, tenant, type, topic, plan_id, root_plan_id, digest, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event.id,
            event.tenant_id,
            event.type,
            str(event.topic),
            event.plan_id,
            event.root_plan_id,
            digest,
            event.to_json(),
        ),
    )
    seq = cursor.lastrowid
    assert seq is not None
    return seq


def _send(db: sqlite3.Connection, seq: int) -> None:
    db.execute("INSERT INTO outbox (event_seq) VALUES (?)", (seq,))


def _told(stored: EventEnvelope, event: EventEnvelope) -> str:
    def shown(one: EventEnvelope) -> str:
        return f"{one.type} on {one.topic} with {clip(compact(one.data), 200)}"

    return (
        f"event {event.id} exists with other content: stored is {shown(stored)}, "
        f"given is {shown(event)}; another event needs another id or idempotency key"
    )
