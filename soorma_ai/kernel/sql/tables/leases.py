"""Leases that end with a process."""

import json
from collections.abc import Collection

from soorma_ai.kernel.ports import LONGEST_RUN
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
