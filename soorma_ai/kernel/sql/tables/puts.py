"""New deliveries: a row for each agent of an event, leased in the transaction of its arrival if a hand is free."""

from datetime import datetime
from functools import partial

from msgspec.structs import replace

from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.ports import Delivery, StoredEvent
from soorma_ai.kernel.rules.arrival.effects import Put
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.tables import budget
from soorma_ai.kernel.sql.tables.inbox import IS_HEAD

_HEAD = f"SELECT 1 FROM inbox WHERE agent = ? AND owner = ? AND {IS_HEAD} LIMIT 1"
# Blocked behind the head of its line; else a head, and leased where a hand is free.
_PUT = f"""
    INSERT INTO inbox (agent, event_seq, owner, priority, state, ready_at, attempt, fence, holder)
    SELECT :agent, :event, :owner, :priority, place.state,
        CASE WHEN place.state = 'leased' THEN :until ELSE 0.0 END,
        CASE WHEN place.state = 'leased' THEN 1 ELSE 0 END,
        CASE WHEN place.state = 'leased' THEN 1 ELSE 0 END,
        CASE WHEN place.state = 'leased' THEN :holder ELSE 0 END
    FROM (
        SELECT CASE
            WHEN EXISTS (SELECT 1 FROM inbox WHERE agent = :agent AND owner = :owner AND {IS_HEAD}) THEN 'blocked'
            ELSE :first
        END AS state
    ) AS place
    WHERE true
    ON CONFLICT (agent, event_seq) DO NOTHING RETURNING seq, state
"""
# The next call of the plan of a line, for a leased row.
_PUT_FOR_PLAN = f"""{_PUT.rstrip()},
    CASE WHEN state = 'leased' THEN ({budget.NEXT_CALL.format("next_call", ":owner")}) END,
    CASE WHEN state = 'leased' THEN ({budget.NEXT_CALL.format("limits", ":owner")}) END
"""


def put(db: Connection, about: StoredEvent, wanted: Put, now: datetime, *, copies: int = 1) -> bool:
    """Return False if this agent got this event before. A row is born claimed that stands first in the line of its
    owner, when there is a free hand for it. So many `copies` of the event are put."""
    agent, owner, event = wanted.agent, wanted.owner, about.event
    is_own_line = owner == event.id
    has_hand = _may_be_first(db, wanted, is_own_line=is_own_line) and db.take_hand(agent)
    values = {"agent": agent, "event": about.seq, "owner": owner, "priority": wanted.priority, "holder": db.holder}
    values |= {"first": "leased" if has_hand else "queued", "until": epoch(now + db.lease)}
    rows = db.execute(_PUT if is_own_line else _PUT_FOR_PLAN, values).fetchall()
    for seq, state, *plan in rows:
        if state == "leased":
            db.taken.append(Delivery(seq, agent, owner, event, 1, 1, copies=copies))
            if plan:
                next_call, limits = plan
                budget.hold_beside(db, next_call, limits, partial(_note_hold, db.taken, len(db.taken) - 1))
            return True
        if state == "queued":
            db.leave_queued(agent)
    if has_hand:
        db.give_back_hand(agent)
    return bool(rows)


def _note_hold(taken: list[Delivery], number: int, held: Charge) -> None:
    taken[number] = replace(taken[number], hold=held)


def _may_be_first(db: Connection, wanted: Put, *, is_own_line: bool) -> bool:
    """Tell whether a hand is worth asking for. Where its thread has to be waited for, the line is looked at before."""
    if is_own_line or db.hands is None or not db.is_far_from_hands:
        return True
    return db.execute(_HEAD, (wanted.agent, wanted.owner)).fetchone() is None
