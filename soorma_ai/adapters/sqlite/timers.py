"""Moments at which something is published."""

import sqlite3
from datetime import datetime

from soorma_ai.adapters.sqlite import expectations, log
from soorma_ai.adapters.sqlite.codec import epoch
from soorma_ai.domain.effects import Schedule
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.waits import ExpectationStatus
from soorma_ai.errors import LocalProtocolError

DUE = "SELECT id, guards, body FROM timer WHERE due <= ? ORDER BY due, id LIMIT ?"


def schedule(db: sqlite3.Connection, timer: Schedule) -> None:
    """The same id again moves the timer. What it guards must exist; if that is closed by now, there is no timer."""
    if timer.guards is not None:
        status = expectations.status_of(db, timer.guards)
        if status is None:
            raise LocalProtocolError(
                f"timer {timer.id} guards {timer.guards}, which is not expected; record the expectation first"
            )
        if status is not ExpectationStatus.OPEN:
            return
    db.execute(
        "INSERT OR REPLACE INTO timer (id, due, guards, body) VALUES (?, ?, ?, ?)",
        (timer.id, epoch(timer.due), timer.guards, timer.event.to_json()),
    )


def unschedule(db: sqlite3.Connection, timer_id: str) -> None:
    db.execute("DELETE FROM timer WHERE id = ?", (timer_id,))


def fire(db: sqlite3.Connection, now: datetime, limit: int) -> int:
    fired = 0
    for timer_id, guards, body in db.execute(DUE, (epoch(now), limit)).fetchall():
        unschedule(db, timer_id)
        event = EventEnvelope.from_json(body)
        if guards is None or expectations.close(db, guards, ExpectationStatus.EXPIRED, now, met_by=event.id):
            log.publish_once(db, event)
            fired += 1
    return fired


def next_due(db: sqlite3.Connection) -> float | None:
    return db.execute("SELECT min(due) FROM timer").fetchone()[0]
