"""Leases with an end at a process's end, and those without."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from zlib import crc32

from soorma_ai.kernel.ports import LONGEST_RUN, MOST_LOANS, Borrower, Delivery
from soorma_ai.kernel.rules.arrival.poison import POISON_FROM, pause_after_crash
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.tables import inbox

# In one statement: what is claimed anew meanwhile is another's by then. What is lent was not in this process; of a loan
# by a number its borrower says whether it came.
_RELEASE = f"""
    UPDATE inbox SET state = 'queued', crashes = crashes + CASE WHEN holder = 0 THEN 0 ELSE 1 END,
        ready_at = CASE WHEN holder = 0 OR crashes < {POISON_FROM} THEN 0 ELSE ready_at END
    WHERE state IN ('queued', 'leased') AND state = 'leased' AND holder >= 0
"""
_OF_THESE = "AND ready_at > 0 AND holder IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"

_MAY_HAVE_BEEN_IN_HAND = """
    UPDATE inbox SET crashes = crashes + 1, fence = fence + 1
    WHERE fence = 0 AND seq IN (
        SELECT seq FROM inbox WHERE agent = ? AND owner = ? AND state = 'blocked' ORDER BY seq LIMIT ?
    )
"""

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

_REST = "UPDATE inbox SET ready_at = ready_at + ?, reason = ? WHERE seq = ?"


def void(db: Connection, holders: Collection[int] | None = None) -> int:
    """Release the deliveries in hand at the end of these processes, or, if there can be no other process, all of them;
    return their number. A delivery in hand for the first time may have led those behind it: they are handled alone from
    now on, to find the cause of the end. A poison candidate rests from the end of its lease on."""
    those, values = ("", ()) if holders is None else (_OF_THESE, (json.dumps([*holders]),))
    released = f"{_RELEASE} {those} RETURNING agent, owner, fence, seq, crashes, ready_at > 0"
    found = db.execute(released, values).fetchall()
    for agent, owner, fence, seq, crashes, rests in found:
        inbox.note_free(db, agent)
        if fence == 1 and crashes:
            db.execute(_MAY_HAVE_BEEN_IN_HAND, (agent, owner, LONGEST_RUN - 1))
        if rests:
            reason = f"in hand at {crashes} ends of a process"
            db.execute(_REST, (pause_after_crash(crashes).total_seconds(), reason, seq))
    return len(found)


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
