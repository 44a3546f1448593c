"""Statements for claims, absences, notices and links, beside answers."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.features.human_tasks.records import (
    SESSION_LASTS,
    Colleague,
    Link,
    LinkKind,
    MadeLink,
    Notice,
    NoticeState,
    Snooze,
)
from soorma_ai.features.human_tasks.snoozing import put_off
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.people import Absence, Claim
from soorma_ai.kernel.rules.waits.opening import ESCALATION
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch, member, moment
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.tables import expectations, timers

_ABSENCE = Codec(Absence)
_LINK = Codec(MadeLink, "revoked_at")

# Once more looked at where another was first: the row that is there has to be the one that was read.
_CLAIM = """
    INSERT INTO claim (expectation_id, tenant, user_id, given_by, at, until)
    SELECT id, tenant, :user, :given_by, :at, :until FROM expectation WHERE id = :id AND status = 'open'
    ON CONFLICT (expectation_id) DO UPDATE
    SET user_id = excluded.user_id, given_by = excluded.given_by, at = excluded.at, until = excluded.until
    WHERE claim.user_id = :was AND claim.at = :was_at
"""
_ANSWERED = """
    SELECT expectation.body, status, closed_at, met_by, answer FROM expectation
    WHERE tenant = ? AND kind = ? AND iif(json_valid(rest), json_extract(rest, '$.subject'), '') = ?
        AND answer IS NOT NULL AND id <> ?
    ORDER BY closed_at DESC, id DESC LIMIT ?
"""
_NOTICES = (
    "SELECT expectation_id, tenant, user_id, state, at, via, event_id, detail FROM notice WHERE expectation_id = ?"
)
_COLLEAGUE = "SELECT tenant, user_id, roles, seen_at FROM colleague WHERE tenant = ?"
# Reminders and the escalation; the timer of a deadline has no series.
_LADDER = """
    SELECT id, series, CAST(body AS BLOB) FROM timer WHERE guards = ? AND due > ? AND due < ? AND series IS NOT NULL
"""
_LINKS = "SELECT body, revoked_at FROM link WHERE tenant = ? AND about = ?"

# What is known of questions that are gone, absences and links that have ended.
_OLD_NOTICES = """
    DELETE FROM notice WHERE (expectation_id, user_id, via) IN (
        SELECT expectation_id, user_id, via FROM notice
        WHERE tenant = :tenant AND at < :before
            AND NOT EXISTS (SELECT 1 FROM expectation WHERE expectation.id = notice.expectation_id)
        ORDER BY at LIMIT :limit
    )
"""
_OLD_LINKS = """
    DELETE FROM link WHERE (tenant, about, kind, user_id) IN (
        SELECT tenant, about, kind, user_id FROM link WHERE tenant = :tenant AND until < :before LIMIT :limit
    )
"""
OLD = (_OLD_NOTICES, _OLD_LINKS, "DELETE FROM absence WHERE tenant = :tenant AND until < :before")
CLOSING = ("DELETE FROM claim WHERE expectation_id = ?", "DELETE FROM snooze WHERE expectation_id = ?")
OF_QUESTIONS = tuple(
    f"DELETE FROM {table} WHERE expectation_id IN (SELECT value FROM json_each(:ids))"
    for table in ("claim", "snooze", "notice")
)
# What a person did about questions of others, or was to do. Absences in which they answer end, too.
OF_PERSON = (
    *(f"DELETE FROM {table} WHERE tenant = :tenant AND user_id = :user" for table in ("claim", "snooze", "colleague")),
    # A row that revokes links stays until they would have ended, and revokes those made after it, too.
    "UPDATE link SET revoked_at = made_at WHERE tenant = :tenant AND user_id = :user AND revoked_at < made_at",
    "DELETE FROM link WHERE tenant = :tenant AND user_id = :user AND revoked_at IS NULL",
    "DELETE FROM absence WHERE tenant = :tenant AND (user_id = :user OR deputy = :user)",
)
NOTICES_OF_PERSON = """
    DELETE FROM notice WHERE (expectation_id, user_id, via) IN (
        SELECT expectation_id, user_id, via FROM notice WHERE tenant = :tenant AND user_id = :user LIMIT :limit
    )
"""


def claims(db: Reader, wait_ids: Sequence[str]) -> list[Claim]:
    query = """
        SELECT expectation_id, tenant, user_id, at, until, given_by FROM claim
        WHERE expectation_id IN (SELECT value FROM json_each(?))
    """
    rows = db.execute(query, (json.dumps(list(wait_ids)),)).fetchall()
    return [Claim(id, tenant, user, moment(at), moment(until), by) for id, tenant, user, at, until, by in rows]


def claim(db: Connection, claim: Claim, was: Claim | None) -> bool:
    values = {
        "id": claim.wait_id,
        "user": claim.user_id,
        "given_by": claim.given_by,
        "at": epoch(claim.at),
        "until": epoch(claim.until),
        "was": was.user_id if was else "",
        "was_at": epoch(was.at) if was else 0.0,
    }
    return db.execute(_CLAIM, values).rowcount == 1


def release(db: Connection, claim: Claim) -> bool:
    query = "DELETE FROM claim WHERE expectation_id = ? AND user_id = ? AND at = ?"
    return db.execute(query, (claim.wait_id, claim.user_id, epoch(claim.at))).rowcount == 1


def snooze(db: Connection, wanted: Snooze, now: datetime) -> bool:
    """Postpone the question's timers from now on, in place of an earlier snooze. False for a closed question, one with
    an earlier end, and one snoozed for longer meanwhile."""
    found, before = expectations.find(db, wanted.wait_id), snoozed(db, wanted.wait_id)
    if found is None or found.status is not ExpectationStatus.OPEN:
        return False
    if found.deadline is not None and wanted.until >= found.deadline:
        return False
    if before is not None and wanted.until < before.until:
        return False
    _put_off(db, found, wanted.until, now)
    add_row(
        db,
        "snooze",
        "ON CONFLICT (expectation_id) DO UPDATE SET user_id = excluded.user_id, until = excluded.until",
        expectation_id=wanted.wait_id,
        tenant=wanted.tenant_id,
        user_id=wanted.user_id,
        at=epoch(wanted.at),
        until=epoch(wanted.until),
    )
    return True


def _put_off(db: Connection, asked: Expectation, until: datetime, now: datetime) -> None:
    """Move the timers of reminders and of an escalation, and the record with them. One that is due stays, as does an
    escalation without a timer: it has fired."""
    moved = db.execute(_LADDER, (asked.id, epoch(now), epoch(until))).fetchall()
    later = put_off(asked, until, now)
    if later.ask and asked.ask and not any(series == ESCALATION for _, series, _ in moved):
        later = replace(later, ask=replace(later.ask, escalate_after=asked.ask.escalate_after))
    expectations.change(db, later)
    for timer_id, series, body in moved:
        try:
            told = EventEnvelope.from_json(body).model_copy(update={"time": until})
        except RemoteProtocolError:
            # It is told as unreadable when it is due, and holds up no other.
            db.execute("UPDATE timer SET due = ? WHERE id = ?", (epoch(until), timer_id))
        else:
            timers.schedule(db, Schedule(timer_id, until, told, guards=asked.id, series=series))


def snoozed(db: Reader, wait_id: str) -> Snooze | None:
    query = "SELECT expectation_id, tenant, user_id, at, until FROM snooze WHERE expectation_id = ?"
    row = db.execute(query, (wait_id,)).fetchone()
    if row is None:
        return None
    id, tenant, user, at, until = row
    return Snooze(id, tenant, user, moment(at), moment(until))


def absences(db: Reader, tenant_id: str, now: datetime) -> list[Absence]:
    query = "SELECT body FROM absence WHERE tenant = ? AND until > ? ORDER BY user_id"
    return [_ABSENCE.record(body) for (body,) in db.execute(query, (tenant_id, epoch(now))).fetchall()]


def stood_in_for(db: Reader, tenant_id: str, deputy: str, now: datetime) -> list[Absence]:
    query = "SELECT body FROM absence WHERE tenant = ? AND deputy = ? AND until > ? ORDER BY since, user_id"
    return [_ABSENCE.record(body) for (body,) in db.execute(query, (tenant_id, deputy, epoch(now))).fetchall()]


def leave(db: Connection, absence: Absence) -> None:
    come_back(db, absence.tenant_id, absence.user_id)
    add_row(
        db,
        "absence",
        tenant=absence.tenant_id,
        user_id=absence.user_id,
        deputy=absence.deputy,
        since=epoch(absence.since),
        until=epoch(absence.until),
        body=_ABSENCE.text(absence),
    )


def come_back(db: Connection, tenant_id: str, user_id: str) -> bool:
    done = db.execute("DELETE FROM absence WHERE tenant = ? AND user_id = ?", (tenant_id, user_id))
    return done.rowcount == 1


def notices(db: Reader, wait_id: str) -> list[Notice]:
    return [_notice(row) for row in db.execute(_NOTICES, (wait_id,)).fetchall()]


def _notice(row: Sequence[Any]) -> Notice:
    wait_id, tenant, user, state, at, via, event_id, detail = row
    return Notice(wait_id, tenant, user, member(NoticeState, state), moment(at), via, event_id, detail)


def tell(db: Connection, notice: Notice) -> None:
    _add_notice(
        db,
        notice,
        "ON CONFLICT (expectation_id, user_id, via) DO UPDATE SET state = excluded.state, "
        "at = excluded.at, event_id = excluded.event_id, detail = excluded.detail",
    )


def look(db: Connection, notice: Notice, colleague: Colleague) -> bool:
    if not _add_notice(db, notice, "ON CONFLICT DO NOTHING"):
        return False
    add_row(
        db,
        "colleague",
        "ON CONFLICT (tenant, user_id) DO UPDATE SET roles = excluded.roles, seen_at = excluded.seen_at",
        tenant=colleague.tenant_id,
        user_id=colleague.user_id,
        roles=json.dumps(sorted(colleague.roles)),
        seen_at=epoch(colleague.seen_at),
    )
    return True


def _add_notice(db: Connection, notice: Notice, conflict: str) -> bool:
    done = add_row(
        db,
        "notice",
        conflict,
        expectation_id=notice.wait_id,
        user_id=notice.user_id,
        via=notice.via,
        tenant=notice.tenant_id,
        state=str(notice.state),
        at=epoch(notice.at),
        event_id=notice.event_id,
        detail=notice.detail,
    )
    return done.rowcount == 1


def colleagues(db: Reader, tenant_id: str, limit: int) -> list[Colleague]:
    rows = db.execute(f"{_COLLEAGUE} ORDER BY seen_at DESC LIMIT ?", (tenant_id, limit)).fetchall()
    return [_colleague(row) for row in rows]


def colleague(db: Reader, tenant_id: str, user_id: str) -> Colleague | None:
    row = db.execute(f"{_COLLEAGUE} AND user_id = ?", (tenant_id, user_id)).fetchone()
    return _colleague(row) if row else None


def _colleague(row: Sequence[Any]) -> Colleague:
    tenant, user, roles, seen_at = row
    return Colleague(tenant, user, frozenset(json.loads(roles)), moment(seen_at))


def find_alike(db: Reader, asked: Expectation, limit: int) -> list[Expectation]:
    values = (asked.tenant_id, str(asked.kind), asked.subject, asked.id, limit)
    return [expectations.record(row) for row in db.execute(_ANSWERED, values).fetchall()]


def add_link(db: Connection, made: MadeLink) -> None:
    """Keep a link. Revoked ones stay so, and its row stays as long as one of those may exist."""
    link = made.link
    add_row(
        db,
        "link",
        "ON CONFLICT (tenant, about, kind, user_id) DO UPDATE SET made_at = excluded.made_at, body = excluded.body, "
        "until = CASE WHEN link.revoked_at IS NOT NULL AND link.until > excluded.until THEN link.until "
        "ELSE excluded.until END",
        tenant=link.tenant_id,
        kind=link.kind,
        about=link.about,
        user_id=link.user_id,
        made_at=epoch(link.made_at),
        until=epoch(link.until),
        body=_LINK.text(made),
    )


def link(db: Reader, tenant_id: str, kind: LinkKind, about: str, user_id: str) -> MadeLink | None:
    row = db.execute(f"{_LINKS} AND kind = ? AND user_id = ?", (tenant_id, about, kind, user_id)).fetchone()
    return _link(*row) if row else None


def links(db: Reader, tenant_id: str, about: str, limit: int) -> list[MadeLink]:
    rows = db.execute(
        f"{_LINKS} AND kind <> 'session' ORDER BY made_at DESC, kind, user_id LIMIT ?", (tenant_id, about, limit)
    ).fetchall()
    return [_link(*row) for row in rows]


def revoke_link(db: Connection, made: MadeLink) -> bool:
    """Revoke a link. An unlisted one, as sent out by agents, is listed by this. The row stays until the end of the
    given link, so that it outlasts every revoked one."""
    link = made.link
    add_row(
        db,
        "link",
        "ON CONFLICT DO NOTHING",
        tenant=link.tenant_id,
        kind=link.kind,
        about=link.about,
        user_id=link.user_id,
        made_at=epoch(link.made_at),
        until=epoch(link.until),
        body=_LINK.text(made),
    )
    assert made.revoked_at is not None
    at, until = epoch(made.revoked_at), epoch(link.until)
    done = db.execute(
        "UPDATE link SET revoked_at = ?, until = CASE WHEN until > ? THEN until ELSE ? END "
        "WHERE tenant = ? AND about = ? AND kind = ? AND user_id = ? AND (revoked_at IS NULL OR revoked_at < ?)",
        (at, until, until, link.tenant_id, link.about, link.kind, link.user_id, at),
    )
    return done.rowcount == 1


def end_sessions(db: Connection, tenant_id: str, user_id: str, now: datetime) -> int:
    """Revoke the sessions of a person. It revokes no key, and returns 0."""
    sessions = Link("session", "", tenant_id, user_id, frozenset(), now, now + SESSION_LASTS)
    revoke_link(db, MadeLink(sessions, user_id, now))
    return 0


def _link(body: str, revoked_at: float | None) -> MadeLink:
    found = _LINK.record(body)
    return MadeLink(found.link, found.made_by, None if revoked_at is None else moment(revoked_at))
