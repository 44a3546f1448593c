"""What is expected: opened once, closed once by whoever is first."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from soorma_ai.adapters.sqlite.codec import ANSWER, EXPECTATION, epoch, moment
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import inbox
from soorma_ai.core.expecting.answers import may_meet
from soorma_ai.core.expecting.wakeups import ABANDONED, ANSWERED, wake_for
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.people import Answer
from soorma_ai.domain.schemas import violations
from soorma_ai.errors import VersionConflict

_SELECT = (
    "SELECT expectation.body, expectation.status, expectation.closed_at, expectation.met_by, expectation.answer "
    "FROM expectation"
)

WAITING = f"""{_SELECT} WHERE expectation.status = 'open' AND expectation.id IN (
        SELECT expectation_id FROM wait_key
        WHERE tenant = ? AND event_type = ? AND key IN (SELECT value FROM json_each(?))
    ) ORDER BY expectation.opened_at, expectation.id
"""

CAME_EARLY = """
    SELECT DISTINCT event_seq FROM early
    WHERE tenant = ? AND event_type IN (SELECT value FROM json_each(?))
        AND key IN (SELECT value FROM json_each(?)) AND expires > ?
    ORDER BY event_seq
"""

MET_WAIT = "SELECT 1 FROM expectation WHERE met_by = ? AND kind = 'wait'"

MET_BY = f"{_SELECT} WHERE met_by = ? AND ifnull(plan_id, task_id) = ?"


def find(db: sqlite3.Connection, expectation_id: str) -> Expectation | None:
    row = db.execute(f"{_SELECT} WHERE id = ?", (expectation_id,)).fetchone()
    return _expectation(row) if row else None


def met_by(db: sqlite3.Connection, owner: str, event_id: str) -> Expectation | None:
    row = db.execute(MET_BY, (event_id, owner)).fetchone()
    return _expectation(row) if row else None


def status_of(db: sqlite3.Connection, expectation_id: str) -> ExpectationStatus | None:
    row = db.execute("SELECT status FROM expectation WHERE id = ?", (expectation_id,)).fetchone()
    return ExpectationStatus(row[0]) if row else None


def listed(db: sqlite3.Connection, plan_id: str | None, tenant_id: str | None, *, only_open: bool) -> list[Expectation]:
    """Oldest first."""
    wanted = {"plan_id": plan_id, "tenant": tenant_id, "status": "open" if only_open else None}
    # The status is spelled out, so that the indexes of open rows serve.
    conditions = [
        "status = 'open'" if name == "status" else f"{name} = :{name}"
        for name, value in wanted.items()
        if value is not None
    ]
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return [_expectation(row) for row in db.execute(f"{_SELECT} {where} ORDER BY opened_at, id", wanted).fetchall()]


def opened_of_task(db: sqlite3.Connection, agent: str, task_id: str) -> list[Expectation]:
    found = db.execute(
        f"{_SELECT} WHERE status = 'open' AND task_id = ? AND agent = ? ORDER BY opened_at, id", (task_id, agent)
    ).fetchall()
    return [_expectation(row) for row in found]


def named(db: sqlite3.Connection, ids: Sequence[str]) -> list[Expectation]:
    found = db.execute(f"{_SELECT} WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)).fetchall()
    return [_expectation(row) for row in found]


def of_group(db: sqlite3.Connection, group_id: str) -> list[Expectation]:
    found = db.execute(f"{_SELECT} WHERE group_id = ? ORDER BY opened_at, id", (group_id,)).fetchall()
    return [_expectation(row) for row in found]


def opened_of_kind(db: sqlite3.Connection, kind: ExpectationKind) -> list[Expectation]:
    found = db.execute(f"{_SELECT} WHERE status = 'open' AND kind = ? ORDER BY opened_at, id", (str(kind),)).fetchall()
    return [_expectation(row) for row in found]


def insert(db: sqlite3.Connection, expectation: Expectation) -> None:
    _insert(db, expectation)
    if expectation.kind is ExpectationKind.WAIT and expectation.status is ExpectationStatus.OPEN:
        db.executemany(
            "INSERT OR IGNORE INTO wait_key (tenant, event_type, key, expectation_id) VALUES (?, ?, ?, ?)",
            [
                (expectation.tenant_id, event_type, key, expectation.id)
                for event_type in expectation.event_types
                for key in expectation.keys
            ],
        )


def expect(db: sqlite3.Connection, expectation: Expectation, now: datetime) -> None:
    """Opens it; one that waits for an outside event looks for it among those that came too early."""
    early = _come_early(db, expectation, now) if expectation.kind is ExpectationKind.WAIT else None
    if early is None:
        insert(db, expectation)
        return
    seq, event = early
    met = replace(expectation, status=ExpectationStatus.MET, closed_at=now, met_by=event.id)
    insert(db, met)
    db.execute("DELETE FROM early WHERE event_seq = ?", (seq,))
    if not inbox.put(db, expectation.agent, seq, owner_of(expectation)):
        # This agent handled the event before, as a subscriber: only a wake-up can still bring it to the plan.
        log.publish_once(db, wake_for(ANSWERED, expectation, now, causation_id=event.id))


def close(
    db: sqlite3.Connection,
    expectation_id: str,
    status: ExpectationStatus,
    now: datetime,
    *,
    met_by: str | None = None,
    answer: Answer | None = None,
) -> bool:
    """Compare and set: False if it was closed before, or never opened."""
    changed = db.execute(
        "UPDATE expectation SET status = ?, closed_at = ?, met_by = ?, answer = ? WHERE id = ? AND status = 'open' "
        "RETURNING kind",
        (str(status), epoch(now), met_by, ANSWER.text(answer) if answer else None, expectation_id),
    ).fetchone()
    if changed is None:
        return False
    forget(db, expectation_id)
    if changed[0] == ExpectationKind.CHILD and status is not ExpectationStatus.MET:
        _tell_child(db, expectation_id, now)
    return True


def forget(db: sqlite3.Connection, expectation_id: str) -> None:
    """What a closed one needs no more: its timers, and the names it was found by."""
    db.execute("DELETE FROM timer WHERE guards = ?", (expectation_id,))
    db.execute("DELETE FROM wait_key WHERE expectation_id = ?", (expectation_id,))


def owner_of(expectation: Expectation) -> str:
    return expectation.plan_id or expectation.task_id or expectation.id


def has_met_wait(db: sqlite3.Connection, event_id: str) -> bool:
    return db.execute(MET_WAIT, (event_id,)).fetchone() is not None


def waiting_for(db: sqlite3.Connection, event: EventEnvelope, keys: Sequence[str]) -> list[Expectation]:
    """Open waits that this event names and whose producers its source is among; oldest first."""
    found = db.execute(WAITING, (event.tenant_id, event.type, json.dumps(list(keys)))).fetchall()
    return [wait for wait in map(_expectation, found) if may_meet(wait, event.source)]


def fits(expectation: Expectation, event: EventEnvelope) -> bool:
    if expectation.ask is None or event.type in expectation.others:
        return True
    return not violations(expectation.ask.response_schema, event.data)


def keep_early(db: sqlite3.Connection, event: EventEnvelope, seq: int, keys: Sequence[str], expires: datetime) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO early (tenant, event_type, key, event_seq, expires) VALUES (?, ?, ?, ?, ?)",
        [(event.tenant_id, event.type, key, seq, epoch(expires)) for key in keys],
    )


def drop_expired_early(db: sqlite3.Connection, now: datetime) -> None:
    db.execute("DELETE FROM early WHERE expires <= ?", (epoch(now),))


def _tell_child(db: sqlite3.Connection, expectation_id: str, now: datetime) -> None:
    """Here, where every waiting ends and only once, so that no race leaves a child behind."""
    closed = find(db, expectation_id)
    if closed is not None:
        log.publish_once(db, wake_for(ABANDONED, closed, now))


def _come_early(db: sqlite3.Connection, wait: Expectation, now: datetime) -> tuple[int, EventEnvelope] | None:
    types = json.dumps(wait.event_types)
    found = db.execute(CAME_EARLY, (wait.tenant_id, types, json.dumps(wait.keys), epoch(now))).fetchall()
    for (seq,) in found:
        event = log.readable(db, seq)
        if event is not None and may_meet(wait, event.source) and fits(wait, event):
            return seq, event
    return None


def _insert(db: sqlite3.Connection, expectation: Expectation) -> None:
    done = db.execute(
        "INSERT INTO expectation (id, kind, agent, tenant, plan_id, event_type, event_topic, opened_at, status, "
        "closed_at, met_by, answer, body, task_id, group_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO NOTHING",
        (
            expectation.id,
            str(expectation.kind),
            expectation.agent,
            expectation.tenant_id,
            expectation.plan_id,
            expectation.event_type,
            str(expectation.event_topic),
            epoch(expectation.opened_at),
            str(expectation.status),
            epoch(expectation.closed_at) if expectation.closed_at else None,
            expectation.met_by,
            ANSWER.text(expectation.answer) if expectation.answer else None,
            EXPECTATION.text(expectation),
            expectation.task_id,
            expectation.group_id,
        ),
    )
    if done.rowcount == 0:
        raise VersionConflict(f"expectation {expectation.id} exists already; somebody else opened it first")


def _expectation(row: tuple[str, str, float | None, str | None, str | None]) -> Expectation:
    """The body is what was opened; the columns are what became of it."""
    body, status, closed_at, met_by, answer = row
    return replace(
        EXPECTATION.record(body),
        status=ExpectationStatus(status),
        closed_at=None if closed_at is None else moment(closed_at),
        met_by=met_by,
        answer=None if answer is None else ANSWER.record(answer),
    )
