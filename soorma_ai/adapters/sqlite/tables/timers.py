"""Moments at which something is published."""

import sqlite3
from datetime import datetime

from soorma_ai.adapters.sqlite.codec import epoch
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import expectations, plans
from soorma_ai.core.expecting.wakeups import DEADLINE_REACHED, EXPIRED, wake_for, wake_plan
from soorma_ai.core.plan.lifecycle import PLAN_DEADLINE
from soorma_ai.domain.effects import Schedule
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import ExpectationStatus
from soorma_ai.errors import LocalProtocolError, RemoteProtocolError

DUE = "SELECT id, guards, series, CAST(body AS BLOB) FROM timer WHERE due <= ? ORDER BY due, id LIMIT ?"

OVERTAKEN = "SELECT 1 FROM timer WHERE guards = ? AND due <= ? AND ifnull(series, ?) = ?"


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
        "INSERT OR REPLACE INTO timer (id, due, guards, body, series) VALUES (?, ?, ?, ?, ?)",
        (timer.id, epoch(timer.due), timer.guards, timer.event.to_json(), timer.series),
    )


def unschedule(db: sqlite3.Connection, timer_id: str) -> bool:
    """False if there is none (any more)."""
    return db.execute("DELETE FROM timer WHERE id = ?", (timer_id,)).rowcount == 1


def fire(db: sqlite3.Connection, now: datetime, limit: int) -> int:
    fired = 0
    for timer_id, guards, series, body in db.execute(DUE, (epoch(now), limit)).fetchall():
        is_left = unschedule(db, timer_id)
        if series is not None and (not is_left or _is_overtaken(db, guards, series, now)):
            continue
        event = _event(db, timer_id, None if series else guards, body, now)
        if event is None:
            continue
        closes = guards if series is None else None
        if closes is None or expectations.close(db, closes, ExpectationStatus.EXPIRED, now, met_by=event.id):
            log.publish_once(db, event)
            fired += 1
    return fired


def _is_overtaken(db: sqlite3.Connection, guards: str | None, series: str, now: datetime) -> bool:
    """By a later one of its series, or by the end of what it guards."""
    return db.execute(OVERTAKEN, (guards, epoch(now), series, series)).fetchone() is not None


def _event(
    db: sqlite3.Connection, timer_id: str, guards: str | None, body: bytes, now: datetime
) -> EventEnvelope | None:
    """A timer that cannot be read holds up no other. Its guard expires all the same: that event can be made anew."""
    try:
        return EventEnvelope.from_json(body)
    except RemoteProtocolError as error:
        log.unreadable(error, timer=timer_id)
        if guards is None:
            plan = plans.plan(db, timer_id.removeprefix(PLAN_DEADLINE)) if timer_id.startswith(PLAN_DEADLINE) else None
            return wake_plan(DEADLINE_REACHED, plan, now) if plan is not None else None
        expected = expectations.find(db, guards)
        return wake_for(EXPIRED, expected, now) if expected is not None else None


def next_due(db: sqlite3.Connection) -> float | None:
    return db.execute("SELECT min(due) FROM timer").fetchone()[0]
