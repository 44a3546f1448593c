"""Deliveries: a row per agent and event, claimed from the store, one lease per owner."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import assert_never

from soorma_ai.adapters.sqlite.codec import epoch, moment
from soorma_ai.domain.effects import Ack, DeadLetter, Disposition, RetryAfter
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.errors import LeaseLost
from soorma_ai.ports import DeadLetterRow, Delivery

FIRST = 0
LAST = 1

CLAIMABLE = """
    SELECT inbox.seq, inbox.owner, inbox.attempt + 1, inbox.fence + 1, event.body
    FROM inbox JOIN event ON event.seq = inbox.event_seq
    WHERE inbox.agent = ? AND inbox.state IN ('queued', 'leased') AND inbox.ready_at <= ?
    ORDER BY inbox.priority, inbox.seq LIMIT ?
"""

NEXT_DUE = """
    SELECT min(ready_at) FROM inbox WHERE agent = ? AND state IN ('queued', 'leased') AND ready_at > 0
"""

NEXT_IN_LINE = """
    UPDATE inbox SET state = 'queued' WHERE seq = (
        SELECT min(behind.seq) FROM inbox AS head
        JOIN inbox AS behind ON behind.agent = head.agent AND behind.owner = head.owner AND behind.state = 'blocked'
        WHERE head.seq = ?
    )
"""


def put(db: sqlite3.Connection, agent: str, event_seq: int, owner: str, priority: int = FIRST) -> bool:
    """False if this agent got this event before."""
    done = db.execute(
        "INSERT INTO inbox (agent, event_seq, owner, priority, state) VALUES (:agent, :event, :owner, :priority, iif("
        "EXISTS (SELECT 1 FROM inbox WHERE agent = :agent AND owner = :owner AND state IN ('queued', 'leased')), "
        "'blocked', 'queued')) ON CONFLICT (agent, event_seq) DO NOTHING",
        {"agent": agent, "event": event_seq, "owner": owner, "priority": priority},
    )
    return done.rowcount == 1


def claim(db: sqlite3.Connection, agent: str, now: datetime, lease: timedelta, limit: int) -> list[Delivery]:
    found = db.execute(CLAIMABLE, (agent, epoch(now), limit)).fetchall()
    if not found:
        return []
    db.execute(
        "UPDATE inbox SET state = 'leased', ready_at = ?, attempt = attempt + 1, fence = fence + 1 "
        "WHERE seq IN (SELECT value FROM json_each(?))",
        (epoch(now + lease), json.dumps([row[0] for row in found])),
    )
    return [
        Delivery(seq, agent, owner, EventEnvelope.from_json(body), attempt, fence)
        for seq, owner, attempt, fence, body in found
    ]


def renew(db: sqlite3.Connection, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
    return [
        delivery
        for delivery in deliveries
        if db.execute(
            "UPDATE inbox SET ready_at = ? WHERE seq = ? AND state = 'leased' AND fence = ?",
            (epoch(until), delivery.seq, delivery.fence),
        ).rowcount
    ]


def dispose(db: sqlite3.Connection, delivery: Delivery, disposition: Disposition, now: datetime) -> None:
    """Raises LeaseLost when the delivery is somebody else's by now."""
    match disposition:
        case Ack():
            state, ready_at, reason, ended_at = "done", 0.0, None, epoch(now)
        case RetryAfter(delay=delay, reason=reason):
            state, ready_at, ended_at = "queued", epoch(now + delay), None
        case DeadLetter(reason=reason):
            state, ready_at, ended_at = "dead", 0.0, epoch(now)
        case _:
            assert_never(disposition)
    changed = db.execute(
        "UPDATE inbox SET state = ?, ready_at = ?, reason = ?, ended_at = ? "
        "WHERE seq = ? AND state = 'leased' AND fence = ?",
        (state, ready_at, reason, ended_at, delivery.seq, delivery.fence),
    )
    if changed.rowcount == 0:
        raise LeaseLost(
            f"{delivery.agent} holds delivery {delivery.seq} by fence {delivery.fence} no more: "
            "its lease ran out and another claim took it, or it is done"
        )
    if state != "queued":
        db.execute(NEXT_IN_LINE, (delivery.seq,))


def goal_of(db: sqlite3.Connection, plan_id: str) -> tuple[str, EventEnvelope] | None:
    row = db.execute(
        "SELECT inbox.agent, event.body FROM inbox JOIN event ON event.seq = inbox.event_seq "
        "WHERE inbox.owner = ? AND inbox.priority = 1",
        (plan_id,),
    ).fetchone()
    return (row[0], EventEnvelope.from_json(row[1])) if row else None


def pending(db: sqlite3.Connection, agent: str, owner: str) -> int:
    heads = db.execute(
        "SELECT count(*) FROM inbox WHERE agent = ? AND owner = ? AND state IN ('queued', 'leased')", (agent, owner)
    ).fetchone()[0]
    behind = db.execute(
        "SELECT count(*) FROM inbox WHERE agent = ? AND owner = ? AND state = 'blocked'", (agent, owner)
    ).fetchone()[0]
    return heads + behind


def release_all(db: sqlite3.Connection) -> None:
    """The file has one owner at a time, so a lease found when opening it is a dead owner's."""
    db.execute(
        "UPDATE inbox SET state = 'queued', ready_at = 0 WHERE state IN ('queued', 'leased') AND state = 'leased'"
    )


def next_due(db: sqlite3.Connection, agents: Sequence[str]) -> float | None:
    """When the first delayed or leased head may be claimed."""
    found: list[float | None] = [db.execute(NEXT_DUE, (agent,)).fetchone()[0] for agent in agents]
    return min((due for due in found if due is not None), default=None)


def dead_letters(db: sqlite3.Connection, tenant_id: str | None, limit: int) -> list[DeadLetterRow]:
    """Newest first."""
    found = db.execute(
        "SELECT inbox.seq, inbox.agent, event.body, inbox.reason, inbox.attempt, inbox.ended_at "
        "FROM inbox JOIN event ON event.seq = inbox.event_seq "
        "WHERE inbox.state = 'dead' AND (:tenant IS NULL OR event.tenant = :tenant) "
        "ORDER BY inbox.seq DESC LIMIT :limit",
        {"tenant": tenant_id, "limit": limit},
    ).fetchall()
    return [
        DeadLetterRow(seq, agent, EventEnvelope.from_json(body), reason, attempts, moment(at))
        for seq, agent, body, reason, attempts, at in found
    ]
