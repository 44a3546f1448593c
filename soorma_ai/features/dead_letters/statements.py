"""Dead letters: rows of the inbox outside of every claim, until a person's decision.

A row is a letter when it is dead, was redriven, or is done with a reason; only a discarded one has that. A letter
without an agent is an event without any possible receiver: its redrive sends it again.
"""

from datetime import datetime
from typing import Any

from soorma_ai.errors import NotFound, RemoteProtocolError
from soorma_ai.features.dead_letters.records import DeadLetterRow, LetterStatus
from soorma_ai.kernel.domain.dead_letters import NOBODY
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.sql.codec import epoch, member, moment
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.tables import events as log

_SELECT = f"""
    SELECT inbox.seq, inbox.agent, inbox.state, inbox.reason, inbox.attempt, inbox.redriven,
        coalesce(inbox.ended_at, event.time), event.seq, CAST(event.body AS BLOB),
        plan.plan_id, plan.root_plan_id, plan.status, coalesce(plan.user_id, {log.USER}, ''),
        EXISTS (SELECT 1 FROM outbox WHERE outbox.event_seq = event.seq)
    FROM inbox JOIN event ON event.seq = inbox.event_seq LEFT JOIN plan ON plan.plan_id = inbox.owner
"""

_REDRIVE = """
    UPDATE inbox SET attempt = 0, crashes = 0, redriven = redriven + 1, ready_at = 0, ended_at = NULL, state = CASE
        WHEN EXISTS (
            SELECT 1 FROM inbox AS head WHERE head.agent = inbox.agent AND head.owner = inbox.owner
            AND head.state IN ('queued', 'leased', 'in_doubt')
        ) THEN 'blocked' ELSE 'queued'
    END WHERE seq = ? AND state = 'dead'
"""


def find_of_user(
    db: Reader, tenant_id: str | None, limit: int, *, user_id: str | None = None, beyond: Place | None = None
) -> list[DeadLetterRow]:
    is_back = beyond is not None and beyond.is_back
    sign, way = (">", "ASC") if is_back else ("<", "DESC")
    found = db.execute(
        f"{_SELECT} WHERE inbox.state = 'dead' AND (CAST(:tenant AS TEXT) IS NULL OR event.tenant = :tenant) "
        f"AND (CAST(:user AS TEXT) IS NULL OR coalesce(plan.user_id, {log.USER}) = :user) "
        f"{f'AND inbox.seq {sign} :beyond ' if beyond else ''}ORDER BY inbox.seq {way} LIMIT :limit",
        {"tenant": tenant_id, "limit": limit, "user": user_id, "beyond": int(beyond.id) if beyond else 0},
    ).fetchall()
    letters = [_read_row(db, row) for row in found]
    return letters[::-1] if is_back else letters


def find(db: Reader, seq: int) -> DeadLetterRow | None:
    row = db.execute(
        f"{_SELECT} WHERE inbox.seq = ? "
        "AND (inbox.state = 'dead' OR inbox.redriven > 0 OR (inbox.state = 'done' AND inbox.reason IS NOT NULL))",
        (seq,),
    ).fetchone()
    return _read_row(db, row) if row else None


def redrive(db: Connection, letter: DeadLetterRow) -> bool:
    """`started` stays: a handler that must not run twice may have run."""
    seq = letter.seq
    if find(db, seq) != letter or letter.status is not LetterStatus.DEAD:
        return False
    if letter.agent == NOBODY:
        db.execute(
            "UPDATE inbox SET state = 'done', reason = NULL, redriven = redriven + 1, attempt = 0 WHERE seq = ?", (seq,)
        )
        db.execute(
            "INSERT INTO outbox (event_seq) SELECT event_seq FROM inbox WHERE seq = ? ON CONFLICT DO NOTHING", (seq,)
        )
        db.is_leaving = True
        return True
    return db.execute(_REDRIVE, (seq,)).rowcount == 1


def discard(db: Reader, seq: int, note: str, now: datetime) -> bool:
    """The row stays, so that its event is not taken once more when it comes again."""
    letter = find(db, seq)
    if letter is None:
        raise NotFound(f"there is no dead letter {seq}")
    reason = f"{note}; it had died of {letter.reason}"
    changed = db.execute(
        "UPDATE inbox SET state = 'done', reason = ?, ended_at = ? WHERE seq = ? AND state = 'dead'",
        (reason, epoch(now), seq),
    )
    return changed.rowcount == 1


def _read_row(db: Reader, row: tuple[Any, ...]) -> DeadLetterRow:
    seq, agent, state, reason, attempts, redriven, at, event_seq, body, plan_id, root_plan_id, status, *more = row
    user_id, is_leaving = more
    unreadable: str | None = None
    try:
        event = EventEnvelope.from_json(body)
    except RemoteProtocolError as error:
        unreadable = log.why_unreadable(error)
        event = log.stand_in(db, event_seq, unreadable)
    return DeadLetterRow(
        seq=seq,
        agent=agent,
        event=event,
        reason=reason or "",
        attempts=attempts,
        at=moment(at),
        status=_status(state, reason, is_leaving=agent == NOBODY and is_leaving == 1),
        redriven=redriven,
        plan_id=plan_id or event.plan_id,
        root_plan_id=root_plan_id or event.root_plan_id,
        came_for=plan_id,
        plan_status=member(PlanStatus, status) if status else None,
        unreadable=unreadable,
        user_id=user_id,
    )


def _status(state: str, reason: str | None, *, is_leaving: bool) -> LetterStatus:
    if state == "dead":
        return LetterStatus.DEAD
    if state != "done" or is_leaving:
        return LetterStatus.REDRIVEN
    return LetterStatus.HANDLED if reason is None else LetterStatus.DISCARDED
