"""Statements of leases that do not end with this process."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from zlib import crc32

from soorma_ai.features.remote.ports import MOST_LOANS, Borrower
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.tables import inbox
from soorma_ai.kernel.sql.tenant_scope import HOUSE

# Leased rows are in the small index of what is due.
_OPEN_LOANS = """
    SELECT seq, holder FROM inbox
    WHERE agent = ? AND state IN ('queued', 'leased') AND ready_at > 0 AND state = 'leased' AND holder BETWEEN ? AND ?
"""
_LEND = "UPDATE inbox SET holder = ? WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
_TAKE_BACK = """
    UPDATE inbox SET state = 'queued', ready_at = 0, attempt = attempt - 1, holder = 0
    WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
"""

HAS_WORK = """
    SELECT 1 FROM inbox WHERE agent = ? AND state IN ('queued', 'leased') AND ready_at <= ? LIMIT 1
"""

_LEASED = f"""
    SELECT inbox.agent, inbox.owner, inbox.attempt, inbox.started, inbox.redriven, CAST(event.body AS BLOB),
        {inbox.COPIES}
    FROM inbox JOIN event ON event.seq = inbox.event_seq
    WHERE inbox.seq = ? AND inbox.state = 'leased' AND inbox.fence = ?
"""


def lend(
    db: Connection,
    agent: str,
    now: datetime,
    lease: timedelta,
    limit: int,
    held: Sequence[int] = (),
    borrower: Borrower | None = None,
) -> list[Delivery]:
    """Claim for a remote agent, a poison candidate by itself if there is nothing else. Its lease does not end with this
    process."""
    if borrower is not None:
        _settle(db, agent, held, borrower)
    taken = inbox.claim(db, agent, now, lease, limit, held)
    if not taken and (suspect := inbox.claim_poison_candidate(db, [agent], now, lease, held)):
        taken = [suspect]
    if taken:
        _note_loan(db, [one.seq for one in taken], 0 if borrower is None else _mark(borrower.process, borrower.loan))
    return taken


def _settle(db: Connection, agent: str, held: Sequence[int], borrower: Borrower) -> None:
    """End the open loans to this process. Deliveries without an arrival are taken back, without an attempt."""
    last = None if borrower.last is None else _mark(borrower.process, borrower.last)
    values = agent, _mark(borrower.process, MOST_LOANS), _mark(borrower.process, 0)
    lent = db.execute(_OPEN_LOANS, values).fetchall()
    lost = [seq for seq, mark in lent if mark != last and seq not in held]
    if lost:
        inbox.note_free(db, agent)
        db.execute(_TAKE_BACK, (json.dumps(lost),))
    if len(lost) < len(lent):
        _note_loan(db, [seq for seq, _ in lent if seq not in lost], 0)


def _note_loan(db: Connection, seqs: Sequence[int], mark: int) -> None:
    db.execute(_LEND, (mark, json.dumps(seqs)))


def _mark(process: str, loan: int) -> int:
    """Return the holder of an open loan: below zero, of the process and of the loan's number."""
    return -((crc32(process.encode()) + 1) * (MOST_LOANS + 1) + loan % (MOST_LOANS + 1))


def find_leased(db: Reader, seq: int, fence: int) -> Delivery | None:
    row = db.execute(_LEASED, (seq, fence)).fetchone()
    if row is None:
        return None
    agent, owner, attempt, started, redriven, body, copies = row
    event = EventEnvelope.from_json(body)
    return Delivery(seq, agent, owner, event, attempt, fence, started, redriven, copies=copies)


def outcome(db: Reader, agent: str, seq: int, fence: int) -> str | None:
    query = "SELECT outcome FROM inbox WHERE seq = ? AND agent = ? AND fence = ? AND state <> 'leased'"
    row = db.execute(query, (seq, agent, fence)).fetchone()
    return row[0] if row else None


def has_work(db: Reader, agent: str, now: datetime) -> bool:
    return db.execute(HAS_WORK, (agent, epoch(now))).fetchone() is not None


class SqlLeases(StorePart):
    lend = writing(lend, HOUSE)
    find_leased = reading(find_leased)
    outcome = reading(outcome)
    has_work = reading(has_work, HOUSE)
