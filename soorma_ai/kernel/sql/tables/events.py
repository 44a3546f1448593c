"""The log of all events, once each; and the outbox, those of them that a bus still has to carry."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import ValidationError
from typing_extensions import Unpack

from soorma_ai.errors import LocalProtocolError, RemoteProtocolError
from soorma_ai.kernel.domain.dead_letters import NOBODY
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.values import clip, compact
from soorma_ai.kernel.ports import EventPage, StoredEvent
from soorma_ai.kernel.ports.conditions import LogConditions
from soorma_ai.kernel.sql.codec import add_row, behind, epoch, moment
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.rests import event_columns

_LOG = logging.getLogger("soorma_ai.store")

UNREADABLE = "unreadable"
MOST_OF_A_REASON = 500
# Of all events of a tenant, for one page of those that are one user's.
MOST_LOOKED_AT = 5_000
# Whose an event is, NULL of one that cannot be read. An event that does not say it has the user of the envelope.
USER = f"""CASE
    WHEN json_valid(event.rest) THEN coalesce(json_extract(event.rest, '$.userid'), '{Lineage().user_id}')
END"""


def publish(db: Connection, event: EventEnvelope) -> bool:
    """Write it into the log, and let it arrive in this transaction, or stand in the outbox; False if it was there
    before. Raise LocalProtocolError for the same id with other content."""
    seq = _insert(db, event)
    if seq is not None:
        _go(db, seq, event)
        return True
    place, digest = _place_of(db, event.id)
    if digest == _digest(event):
        return False
    raise LocalProtocolError(_difference(to_show(db, place, _body(db, place)), event))


def publish_once(db: Connection, event: EventEnvelope) -> None:
    """Publish a mere wake-up event: the first one stands."""
    seq = _insert(db, event)
    if seq is not None:
        _go(db, seq, event)


def record(db: Reader, event: EventEnvelope) -> tuple[int, EventEnvelope]:
    """An event that came in, as it was stored first."""
    seq = _insert(db, event)
    if seq is not None:
        return seq, event
    place, digest = _place_of(db, event.id)
    if digest == _digest(event):
        return place, event
    _LOG.warning("event id used twice with different content", extra={"event_id": event.id, "event_type": event.type})
    return place, _event(db, place)


def event_by_id(db: Reader, event_id: str) -> EventEnvelope | None:
    row = db.execute("SELECT CAST(event.body AS BLOB) FROM event WHERE id = ?", (event_id,)).fetchone()
    return EventEnvelope.from_json(row[0]) if row else None


def events_beginning(db: Reader, tenant_id: str, letters: str, limit: int) -> list[EventEnvelope]:
    values = {"first": letters, "behind": behind(letters), "tenant": tenant_id, "limit": limit}
    return [one.event for one in _read_events(db, _BEGINNING, values)]


def tenants_of(db: Reader, event_ids: Sequence[str]) -> dict[str, str]:
    found = db.execute(
        "SELECT id, tenant FROM event WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(event_ids)),)
    )
    return dict(found.fetchall())


def is_known(db: Reader, event_id: str) -> bool:
    return _find(db, event_id) is not None


def readable(db: Reader, seq: int) -> EventEnvelope | None:
    try:
        return _event(db, seq)
    except RemoteProtocolError as error:
        unreadable(error, event_seq=seq)
        return None


def readable_named(db: Reader, event_id: str) -> EventEnvelope | None:
    stored = _find(db, event_id)
    return readable(db, stored[0]) if stored else None


def to_show(db: Reader, seq: int, body: bytes) -> EventEnvelope:
    """Return events for display: an unreadable one is replaced by a stand-in."""
    try:
        return EventEnvelope.from_json(body)
    except RemoteProtocolError as error:
        return stand_in(db, seq, why_unreadable(error))


def stand_in(db: Reader, seq: int, why: str) -> EventEnvelope:
    """Return an event made of its columns, never delivered; an unknown topic stands in the data."""
    id, tenant, type, topic, plan_id, root_plan_id, time = db.execute(
        "SELECT id, tenant, type, topic, plan_id, root_plan_id, time FROM event WHERE seq = ?", (seq,)
    ).fetchone()
    is_known = topic in set(EventTopic)
    told = {UNREADABLE: why.removeprefix(f"{UNREADABLE}: ")}
    return EventEnvelope(
        id=id,
        source=UNREADABLE,
        type=type,
        topic=EventTopic(topic) if is_known else EventTopic.SYSTEM_EVENTS,
        time=moment(time),
        data={**told} if is_known else {**told, "topic": topic},
        tenant_id=tenant,
        user_id=NO_USER,
        plan_id=plan_id,
        root_plan_id=root_plan_id,
    )


def why_unreadable(error: RemoteProtocolError) -> str:
    """Return the places and the faults, without the values."""
    cause = error.__cause__
    if not isinstance(cause, ValidationError):
        return f"{UNREADABLE}: {error}"
    faults = cause.errors(include_url=False, include_context=False, include_input=False)
    told = (": ".join((*map(str, fault["loc"]), fault["msg"])) for fault in faults)
    return clip(f"{UNREADABLE}: {'; '.join(told)}", MOST_OF_A_REASON)


def unreadable(error: RemoteProtocolError, **fields: object) -> str:
    """The reason, which the log is told as well."""
    reason = why_unreadable(error)
    told = " ".join(f"{name}={value}" for name, value in fields.items())
    _LOG.warning("event_unreadable %s reason=%s", told, reason, extra={"fields": {**fields, "reason": reason}})
    return reason


def keep(db: Reader, event: EventEnvelope) -> int:
    """Return the place of the event with this id, with any content; without one, it is written."""
    seq = _insert(db, event)
    return _place_of(db, event.id)[0] if seq is None else seq


def events(
    db: Reader,
    *,
    after: int = 0,
    tenant_id: str | None = None,
    root_plan_id: str | None = None,
    limit: int = 500,
    newest: bool = False,
) -> list[StoredEvent]:
    direction = "DESC" if newest else "ASC"
    if root_plan_id is not None:
        select = _TREE.format(direction=direction, behind=">")
    else:
        select = (
            f"{_SELECT} WHERE {'tenant = :tenant AND' if tenant_id is not None else ''} seq > :after AND seq <= :end"
        )
    end = _LAST_PLACE if db.log_end is None else db.log_end
    values = {"after": after, "tenant": tenant_id, "root": root_plan_id, "limit": limit, "end": end}
    found = _read_events(db, f"{select} ORDER BY seq {direction} LIMIT :limit", values)
    if newest:
        found.reverse()
    return found


def page(
    db: Reader,
    tenant_id: str,
    after: int,
    limit: int,
    *,
    user_id: str | None = None,
    **conditions: Unpack[LogConditions],
) -> EventPage:
    root_plan_id = conditions.get("root_plan_id")
    way, place = (_BACK, after or _LAST_PLACE) if conditions.get("newest") else (_ON, after)
    values = {"tenant": tenant_id, "after": place, "user": user_id, "root": root_plan_id, "limit": limit}
    if user_id is None:
        select = _OF_TENANT if root_plan_id is None else f"{_TREE} ORDER BY seq {{direction}} LIMIT :limit"
        read = _read_events(db, select.format(**way), values)
        found = read if root_plan_id is not None or way is _BACK else _settled(db, read)
        return EventPage(tuple(found), found[-1].seq if found else after, is_end=len(found) < limit)
    looked, last = db.execute(_LOOKED_AT.format(**way), {**values, "most": MOST_LOOKED_AT}).fetchone()
    if last is not None and db.log_end is not None and way is _ON:
        last = max(after, min(last, db.log_end))
    found = _read_events(db, _OWN.format(**way), {**values, "last": last})
    if len(found) == limit:
        return EventPage(tuple(found), found[-1].seq, is_end=False)
    return EventPage(tuple(found), last or after, is_end=looked < MOST_LOOKED_AT)


def _settled(db: Reader, found: list[StoredEvent]) -> list[StoredEvent]:
    """Return the events before which none is to come any more. Those of one tree come in order, and newest first there
    is no reading on."""
    end = db.log_end
    return found if end is None else [one for one in found if one.seq <= end]


def _read_events(db: Reader, select: str, values: Mapping[str, object]) -> list[StoredEvent]:
    return [StoredEvent(seq, to_show(db, seq, body)) for seq, body in db.execute(select, values).fetchall()]


def unsent(db: Reader, limit: int) -> tuple[list[StoredEvent], dict[int, RemoteProtocolError]]:
    """Return the events, and the rows with an unreadable one."""
    found: list[StoredEvent] = []
    broken: dict[int, RemoteProtocolError] = {}
    for seq, body, redriven in db.execute(UNSENT, {"limit": limit, "nobody": NOBODY}).fetchall():
        try:
            found.append(StoredEvent(seq, EventEnvelope.from_json(body), redriven))
        except RemoteProtocolError as error:
            broken[seq] = error
    return found, broken


def mark_sent(db: Reader, seqs: Sequence[int], now: datetime) -> None:
    """Mark events as accepted by the bus. Those that have arrived by now have left the outbox."""
    db.execute(
        "UPDATE outbox SET sent_at = ? WHERE event_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
        (epoch(now), json.dumps(list(seqs))),
    )


def leave_outbox(db: Reader, seq: int) -> None:
    db.execute("DELETE FROM outbox WHERE event_seq = ?", (seq,))


def send_again(db: Connection, sent_before: datetime) -> int:
    """Put into the outbox again events accepted by the bus, and not brought since."""
    count = db.execute("UPDATE outbox SET sent_at = NULL WHERE sent_at <= ?", (epoch(sent_before),)).rowcount
    db.is_leaving |= count > 0
    return count


def leave(db: Connection, seq: int) -> None:
    """Put an event into the outbox, for the relay to send."""
    add_row(db, "outbox", event_seq=seq)
    db.is_leaving = True


# Bytes: a body that is no UTF-8 would else keep the whole statement from being read.
UNSENT = """
    SELECT event.seq, CAST(event.body AS BLOB), coalesce(
        (SELECT redriven FROM inbox WHERE inbox.event_seq = event.seq AND inbox.agent = :nobody), 0
    )
    FROM outbox JOIN event ON event.seq = outbox.event_seq
    WHERE outbox.sent_at IS NULL
    ORDER BY outbox.event_seq LIMIT :limit
"""

_SELECT = "SELECT seq, CAST(event.body AS BLOB) FROM event"
_BEGINNING = f"{_SELECT} WHERE id >= :first AND id < :behind AND tenant = :tenant ORDER BY id LIMIT :limit"

# In order of arrival, and in the other one.
_ON = {"direction": "ASC", "behind": ">", "until": "<=", "last": "max"}
_BACK = {"direction": "DESC", "behind": "<", "until": ">=", "last": "min"}
_LAST_PLACE = 2**63 - 1
_LOOKED_AT = """
    SELECT count(*), {last}(seq) FROM (
        SELECT seq FROM event WHERE tenant = :tenant AND seq {behind} :after ORDER BY seq {direction} LIMIT :most
    )
"""
_OWN = f"""
    {_SELECT} WHERE tenant = :tenant AND seq {{behind}} :after AND seq {{until}} :last
        AND {USER} = :user
    ORDER BY seq {{direction}} LIMIT :limit
"""
_OF_TENANT = f"{_SELECT} WHERE tenant = :tenant AND seq {{behind}} :after ORDER BY seq {{direction}} LIMIT :limit"

# The goal's event came before its plan had an id, so it does not carry it.
_TREE = """
    SELECT seq, CAST(event.body AS BLOB) FROM event WHERE seq IN (
        SELECT seq FROM (
            SELECT seq FROM event WHERE root_plan_id = :root AND seq {behind} :after
            ORDER BY seq {direction} LIMIT :limit
        )
        UNION
        SELECT event.seq FROM plan JOIN event ON event.id = plan.goal_id
        WHERE plan.plan_id = :root AND event.seq {behind} :after
    ) AND (CAST(:tenant AS TEXT) IS NULL OR tenant = :tenant)
"""


def _go(db: Connection, seq: int, event: EventEnvelope) -> None:
    if db.hands is None:
        leave(db, seq)
    else:
        db.published.append(StoredEvent(seq, event))


def _digest(event: EventEnvelope) -> bytes:
    return hashlib.sha256(compact([event.type, event.topic, event.data]).encode()).digest()


def _find(db: Reader, event_id: str) -> tuple[int, bytes] | None:
    return db.execute("SELECT seq, digest FROM event WHERE id = ?", (event_id,)).fetchone()


def _place_of(db: Reader, event_id: str) -> tuple[int, bytes]:
    """Return place and digest of an event that is there."""
    found = _find(db, event_id)
    assert found is not None
    return found


def _event(db: Reader, seq: int) -> EventEnvelope:
    return EventEnvelope.from_json(_body(db, seq))


def _body(db: Reader, seq: int) -> bytes:
    return db.execute("SELECT CAST(event.body AS BLOB) FROM event WHERE seq = ?", (seq,)).fetchone()[0]


def _insert(db: Reader, event: EventEnvelope) -> int | None:
    """Return its place in the log; None where there is an event of its id."""
    rest, time, same, cause_id, version = event_columns(event)
    done = add_row(
        db,
        "event",
        "ON CONFLICT (id) DO NOTHING RETURNING seq",
        id=event.id,
        tenant=event.tenant_id,
        type=event.type,
        topic=str(event.topic),
        plan_id=event.plan_id,
        root_plan_id=event.root_plan_id,
        digest=_digest(event),
        rest=rest,
        time=time,
        same=same,
        cause_id=cause_id,
        schema_version=version,
    ).fetchall()
    return done[0][0] if done else None


def _difference(stored: EventEnvelope, event: EventEnvelope) -> str:
    def spell(one: EventEnvelope) -> str:
        return f"{one.type} on {one.topic} with {clip(compact(one.data), 200)}"

    return (
        f"event {event.id} exists with other content: stored is {spell(stored)}, "
        f"given is {spell(event)}; another event needs another id or idempotency key"
    )
