"""Deliveries: a row per agent and event, one lease per owner. A row is claimed from the store, or at its arrival, see
`puts`."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, assert_never

from soorma_ai.errors import LeaseLost, RemoteProtocolError
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Disposition, Hold, InDoubt, RetryAfter
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import SUSPECTS
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.plans import Rest
from soorma_ai.kernel.domain.registry import Backlog
from soorma_ai.kernel.domain.stores import MAILBOX
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.rules.arrival.poison import POISON_FROM
from soorma_ai.kernel.sql.codec import FAR_AWAY, behind, epoch, moment
from soorma_ai.kernel.sql.connection import Connection, Reader, Rows
from soorma_ai.kernel.sql.tables import budget
from soorma_ai.kernel.sql.tables import events as log

PUT_BACK = timedelta(minutes=1)  # a clock behind by more was put back

COPIES = "(SELECT count(*) FROM inbox AS copy WHERE copy.event_seq = inbox.event_seq)"

CLAIM = f"""
    SELECT inbox.seq, inbox.agent, inbox.owner, inbox.attempt + 1, inbox.fence + 1, inbox.started, inbox.redriven,
        CAST(event.body AS BLOB), {COPIES}
    FROM inbox JOIN event ON event.seq = inbox.event_seq
"""

NO_SUSPECT = f"inbox.crashes < {POISON_FROM}"

CLAIMABLE = f"""{CLAIM}
    WHERE inbox.agent = ? AND inbox.state IN ('queued', 'leased') AND {NO_SUSPECT} AND inbox.ready_at <= ?
        AND (inbox.state = 'queued' OR inbox.seq NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?)))
    ORDER BY inbox.priority, inbox.seq LIMIT ?
"""

_CLAIM_ONE = f"{CLAIM} WHERE inbox.seq = ? AND inbox.state = 'queued' AND {NO_SUSPECT} AND inbox.ready_at <= ?"

# To the letter as the index inbox_suspect has it, which is asked instead of that of the agents: few are suspects.
IS_SUSPECT = f"inbox.state IN ('queued', 'leased') AND inbox.crashes > {POISON_FROM - 1}"
SUSPECT = f"""{CLAIM}
    WHERE {IS_SUSPECT} AND inbox.ready_at <= ?
        AND (inbox.agent || '') IN (SELECT value FROM json_each(?))
        AND (inbox.state = 'queued' OR inbox.seq NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?)))
    ORDER BY inbox.crashes, inbox.seq LIMIT 1
"""

# For each agent of a list, by the index of its inbox.
NEXT_DUE = f"""
    SELECT (
        SELECT min(ready_at) FROM inbox WHERE agent = value AND state IN ('queued', 'leased')
            AND ready_at > 0 AND ready_at > :after AND ready_at < {FAR_AWAY}
    ) FROM json_each(:agents)
"""

# Whoever lets a lease run out has come to an end, or to a stop.
_LEASE = (
    "UPDATE inbox SET state = 'leased', ready_at = ?, attempt = attempt + 1, fence = fence + 1, "
    "crashes = crashes + CASE WHEN state = 'leased' AND holder > 0 THEN 1 ELSE 0 END, holder = ? "
    "WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
)

NEXT_IN_LINE = "SELECT min(seq) FROM inbox WHERE agent = ? AND owner = ? AND state = 'blocked'"

# With whether anything stands behind it, so that nobody has to look where nothing does.
_DISPOSE = """
    UPDATE inbox SET state = ?, ready_at = ?, reason = ?, ended_at = ?, outcome = ?,
        started = CASE WHEN ? THEN 0 ELSE started END, attempt = attempt - CASE WHEN ? THEN 0 ELSE 1 END
    WHERE seq = ? AND state = 'leased' AND fence = ?
    RETURNING EXISTS (SELECT 1 FROM inbox AS behind WHERE agent = ? AND owner = ? AND state = 'blocked')
"""

# Of a delivery that waits, `ended_at` is the end of its last try.
_BRING_NEAR = f"""
    UPDATE inbox SET ready_at = :now + (ready_at - ended_at), ended_at = :now
    WHERE state IN ('queued', 'leased') AND ready_at > 0 AND state = 'queued'
        AND ready_at > :late AND ready_at < {FAR_AWAY} AND ended_at > :late
"""

_RENEW = """
    UPDATE inbox SET ready_at = ?
    WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND state = 'leased'
        AND (seq || ':' || fence) IN (SELECT value FROM json_each(?))
    RETURNING seq
"""

# To the letter as the index inbox_head has it: a state alone would not be found by it.
IS_HEAD = "state IN ('queued', 'leased', 'in_doubt')"

_BACKLOGS = """
    SELECT agent, count(*) FILTER (WHERE state <> 'leased'), count(*) FILTER (WHERE state = 'leased'), min(time)
    FROM (
        SELECT * FROM (
            SELECT agent, event_seq, state FROM inbox WHERE state IN ('queued', 'leased', 'in_doubt') LIMIT :most
        )
        UNION ALL SELECT * FROM (SELECT agent, event_seq, state FROM inbox WHERE state = 'blocked' LIMIT :most)
    ) CROSS JOIN event ON event.seq = event_seq
    WHERE tenant = :tenant
    GROUP BY agent ORDER BY agent
"""


def claim(
    db: Connection, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
) -> list[Delivery]:
    taken = take(db, CLAIMABLE, (agent, epoch(now), json.dumps(list(held)), limit), now, lease)
    db.note_claim(agent, len(taken))
    return taken


def claim_poison_candidate(
    db: Connection, agents: Sequence[str], now: datetime, lease: timedelta, held: Sequence[int] = ()
) -> Delivery | None:
    taken = take(db, SUSPECT, (epoch(now), json.dumps(list(agents)), json.dumps(list(held))), now, lease)
    return taken[0] if taken else None


def count_mail(db: Reader) -> dict[str, int]:
    kept = "agent >= ? AND agent < ? AND state IN ('queued', 'leased')"
    query = f"SELECT agent, count(*) FROM inbox WHERE {kept} GROUP BY agent"
    return dict(db.execute(query, (MAILBOX, behind(MAILBOX))).fetchall())


def begin(db: Reader, delivery: Delivery) -> None:
    query = "UPDATE inbox SET started = fence WHERE seq = ? AND state = 'leased' AND fence = ?"
    if db.execute(query, (delivery.seq, delivery.fence)).rowcount == 0:
        raise lease_lost(delivery)


def must_stand(db: Reader, delivery: Delivery) -> None:
    """Raise LeaseLost for a delivery that was removed, with all that it is about."""
    if db.execute("SELECT 1 FROM inbox WHERE seq = ?", (delivery.seq,)).fetchone() is None:
        raise lease_lost(delivery)


def note_free(db: Connection, agent: str) -> None:
    """Note that something may be claimed which was in hand before, and may be a suspect by now."""
    db.queued |= {agent, SUSPECTS}


def release(db: Connection, deliveries: Sequence[Delivery]) -> None:
    for delivery in deliveries:
        note_free(db, delivery.agent)
        released = db.execute(
            "UPDATE inbox SET state = 'queued', ready_at = 0, attempt = attempt - 1 "
            "WHERE seq = ? AND state = 'leased' AND fence = ?",
            (delivery.seq, delivery.fence),
        )
        if released.rowcount and delivery.hold is not None:
            budget.let_go(db, delivery.hold)


def has(db: Reader, agent: str, event_seq: int) -> bool:
    """Tell whether this agent got this event, handled or not."""
    query = "SELECT 1 FROM inbox WHERE agent = ? AND event_seq = ?"
    return db.execute(query, (agent, event_seq)).fetchone() is not None


def was_handed(db: Reader, agent: str, event_ids: Sequence[str]) -> bool:
    """Tell whether this agent got one of these events."""
    # CROSS: the events are looked up first, and not all that the agent ever got.
    found = db.execute(
        "SELECT 1 FROM event CROSS JOIN inbox ON inbox.event_seq = event.seq "
        "WHERE event.id IN (SELECT value FROM json_each(?)) AND inbox.agent = ?",
        (json.dumps(list(event_ids)), agent),
    ).fetchone()
    return found is not None


def in_doubt(db: Reader, agent: str, owner: str) -> tuple[str, int] | None:
    """The event of the delivery that rests in doubt, and the fence under which its handler began."""
    return db.execute(
        "SELECT event.id, inbox.started FROM inbox JOIN event ON event.seq = inbox.event_seq "
        "WHERE inbox.agent = ? AND inbox.owner = ? "
        f"AND {IS_HEAD} AND inbox.state = 'in_doubt'",
        (agent, owner),
    ).fetchone()


def resolve(db: Connection, agent: str, owner: str) -> None:
    """Resolve a doubt by a person's finding: the delivery goes on, with all its attempts."""
    db.queued.add(agent)
    db.execute(
        "UPDATE inbox SET state = 'queued', ready_at = 0, attempt = 0, crashes = 0 "
        f"WHERE agent = ? AND owner = ? AND {IS_HEAD} AND state = 'in_doubt'",
        (agent, owner),
    )


def hasten(db: Connection, agent: str, owner: str) -> None:
    """Let delayed deliveries be claimed at once."""
    note_free(db, agent)
    db.execute(
        "UPDATE inbox SET ready_at = 0 "
        f"WHERE agent = ? AND owner = ? AND {IS_HEAD} AND state = 'queued' AND ready_at > 0",
        (agent, owner),
    )


def find_rest(db: Reader, agent: str, owner: str, now: datetime) -> Rest | None:
    row = db.execute(
        f"SELECT state = 'queued' AND ready_at > ?, ready_at, reason FROM inbox "
        f"WHERE agent = ? AND owner = ? AND {IS_HEAD} AND ready_at < {FAR_AWAY}",
        (epoch(now), agent, owner),
    ).fetchone()
    if row is None:
        return None
    sleeps, ready_at, reason = row
    if sleeps:
        return Rest(moment(ready_at), reason or "")
    # While it is tried again, the reason of the last try stands.
    return Rest(None, reason) if reason else None


def is_held(db: Reader, agent: str, owner: str) -> bool:
    """Tell whether the first delivery in this line waits for an operator."""
    query = f"SELECT 1 FROM inbox WHERE agent = ? AND owner = ? AND {IS_HEAD} AND ready_at >= {FAR_AWAY}"
    return db.execute(query, (agent, owner)).fetchone() is not None


def renew(db: Reader, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
    fences = json.dumps([f"{delivery.seq}:{delivery.fence}" for delivery in deliveries])
    renewed = {seq for (seq,) in db.execute(_RENEW, (epoch(until), seqs(deliveries), fences)).fetchall()}
    return [delivery for delivery in deliveries if delivery.seq in renewed]


def dispose(
    db: Connection, delivery: Delivery, disposition: Disposition, now: datetime, outcome: str | None = None
) -> Callable[[], bool]:
    """End the lease of a delivery. Return a function that tells whether anything stands behind it, for `move_up`. It,
    or the next statement, raises LeaseLost for another's lease."""
    undone, counts = False, True
    match disposition:
        case Ack():
            state, ready_at, reason, ended_at = "done", 0.0, None, epoch(now)
        case RetryAfter(delay=delay, reason=reason, undone=undone, counts=counts):
            state, ready_at, ended_at = "queued", epoch(now + delay), epoch(now)
        case Hold(reason=reason):
            state, ready_at, ended_at, counts = "queued", FAR_AWAY, None, False
        case DeadLetter(reason=reason, undone=undone):
            state, ready_at, ended_at = "dead", 0.0, epoch(now)
        case InDoubt(reason=reason):
            state, ready_at, ended_at = "in_doubt", 0.0, None
        case _:
            assert_never(disposition)
    ended = (state, ready_at, reason, ended_at, outcome, undone, counts, delivery.seq, delivery.fence)
    has_following: bool | None = None

    def check(rows: Rows) -> None:
        nonlocal has_following
        changed = rows.fetchall()
        if not changed:
            raise lease_lost(delivery)
        has_following = bool(changed[0][0])

    def tell() -> bool:
        if has_following is None:
            db.send()
        return bool(has_following)

    db.write(_DISPOSE, (*ended, delivery.agent, delivery.owner), check)
    if isinstance(disposition, RetryAfter) and ready_at <= epoch(now):
        note_free(db, delivery.agent)
    return tell


def bring_near(db: Reader, now: datetime) -> None:
    """Let retries wait as long as they were put off, from now on, where the clock was put back since."""
    db.execute(_BRING_NEAR, {"now": epoch(now), "late": epoch(now + PUT_BACK)})


def count_pending(db: Reader, agent: str, owner: str) -> int:
    heads = db.execute(
        f"SELECT count(*) FROM inbox WHERE agent = ? AND owner = ? AND {IS_HEAD}", (agent, owner)
    ).fetchone()[0]
    behind = db.execute(
        "SELECT count(*) FROM inbox WHERE agent = ? AND owner = ? AND state = 'blocked'", (agent, owner)
    ).fetchone()[0]
    return heads + behind


def unblock(db: Reader) -> int:
    """Deliveries behind no other, which no end of another would ever move up."""
    return db.execute(
        "UPDATE inbox SET state = 'queued' WHERE seq IN (SELECT min(seq) FROM inbox AS behind WHERE state = 'blocked' "
        "AND NOT EXISTS (SELECT 1 FROM inbox AS head WHERE head.agent = behind.agent AND head.owner = behind.owner "
        "AND head.state IN ('queued', 'leased', 'in_doubt')) GROUP BY agent, owner)"
    ).rowcount


def backlog(db: Reader, at_most: int) -> int:
    heads, behind = db.execute(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE {IS_HEAD} LIMIT :most)), "
        "(SELECT count(*) FROM (SELECT 1 FROM inbox WHERE state = 'blocked' LIMIT :most))",
        {"most": at_most},
    ).fetchone()
    return min(heads + behind, at_most)


def backlogs(db: Reader, tenant_id: str, at_most: int) -> list[Backlog]:
    found = db.execute(_BACKLOGS, {"tenant": tenant_id, "most": at_most}).fetchall()
    return [Backlog(agent, waiting, in_hand, moment(since)) for agent, waiting, in_hand, since in found]


def take(db: Connection, query: str, values: tuple[object, ...], now: datetime, lease: timedelta) -> list[Delivery]:
    """Read a row. One that cannot be read is set aside, and whatever stands behind it moves up."""
    while found := db.execute(f"{query} {db.taking}", values).fetchall():
        if taken := [delivery for row in found if (delivery := _delivery(db, row, now)) is not None]:
            db.write(_LEASE, (epoch(now + lease), db.holder, seqs(taken)))
            return taken
    return []


def _delivery(db: Connection, row: tuple[Any, ...], now: datetime) -> Delivery | None:
    seq, agent, owner, attempt, fence, started, redriven, body, copies = row
    try:
        event = EventEnvelope.from_json(body)
    except RemoteProtocolError as error:
        db.must_be_alone()
        reason = log.unreadable(error, agent=agent, delivery=seq)
        db.execute("UPDATE inbox SET state = 'dead', reason = ?, ended_at = ? WHERE seq = ?", (reason, epoch(now), seq))
        _queue_next(db, agent, owner)
        return None
    # What was held for an attempt that nobody saw end may have been spent.
    hold = _hold(db, event, owner) if attempt == 1 else None
    return Delivery(seq, agent, owner, event, attempt, fence, started, redriven, hold, copies)


def _hold(db: Connection, event: EventEnvelope, owner: str) -> Charge | None:
    """Hold the next call of the plan that this event is for; one in a line of its own is for none."""
    return budget.hold(db, owner) if owner != event.id else None


def move_up(db: Connection, ended: Delivery, disposition: Disposition, now: datetime) -> None:
    """Let the next in line be first. The hand that has become free takes it, if there is nothing older for it."""
    if not isinstance(disposition, Ack | DeadLetter):
        return
    agent, seq = ended.agent, _next_in_line(db, ended.agent, ended.owner)
    if seq is None:
        return
    db.execute("UPDATE inbox SET state = 'queued' WHERE seq = ?", (seq,))
    if not db.take_hand(agent, freed=True):
        db.leave_queued(agent)
        return
    taken = take(db, _CLAIM_ONE, (seq, epoch(now)), now, db.lease)
    db.taken += taken
    if not taken:
        # It is not due yet; or it could not be read, and another stands first by now.
        db.give_back_hand(agent)
        db.queued.add(agent)


def _queue_next(db: Reader, agent: str, owner: str) -> None:
    seq = _next_in_line(db, agent, owner)
    if seq is not None:
        db.execute("UPDATE inbox SET state = 'queued' WHERE seq = ?", (seq,))


def seqs(deliveries: Sequence[Delivery]) -> str:
    return json.dumps([delivery.seq for delivery in deliveries])


def _next_in_line(db: Reader, agent: str, owner: str) -> int | None:
    return db.execute(NEXT_IN_LINE, (agent, owner)).fetchone()[0]


def lease_lost(delivery: Delivery) -> LeaseLost:
    held = f"{delivery.agent} holds delivery {delivery.seq} by fence {delivery.fence} no more"
    return LeaseLost(f"{held}: its lease ran out and another claim took it, or it is done, or was removed")
