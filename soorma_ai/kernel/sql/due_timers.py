"""Due timers: each goes, its guard expires, and its event is published."""

import json
from collections.abc import Sequence
from datetime import datetime

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.rules.arrival.endings import deadline_by_columns, plan_of_timer, remake_event
from soorma_ai.kernel.rules.arrival.hand_over import let_go
from soorma_ai.kernel.sql.apply import close
from soorma_ai.kernel.sql.arrivals import RequestDefinitions
from soorma_ai.kernel.sql.codec import FAR_AWAY, epoch, moment
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables import expectations, inbox, plans, timers

_NEXT_DUE = (
    f"SELECT min(at) FROM (SELECT min(due) AS at FROM timer WHERE due < {FAR_AWAY} UNION ALL {inbox.NEXT_DUE}) AS next"
)


def fire(db: Connection, now: datetime, limit: int) -> int:
    fired, defined = 0, RequestDefinitions(db, now)
    for timer_id, guards, series, body, due in timers.due(db, now, limit):
        is_left = timers.unschedule(db, timer_id)
        if series is not None and (not is_left or timers.is_overtaken(db, guards, series, now)):
            continue
        expires = guards if series is None else None
        plan_id = plan_of_timer(timer_id) if due is not None else None
        if plan_id is not None and due is not None:
            event = _deadline_of(db, plan_id, moment(due))
        else:
            event = _event(db, timer_id, expires, body, now)
        if event is None:
            continue
        if expires is not None and event.topic is EventTopic.ACTION_REQUESTS:
            event = let_go(expectations.find(db, expires), event, defined.of(event.tenant_id, event.type), now)
        if expires is None or close(db, expires, ExpectationStatus.EXPIRED, now, met_by=event.id):
            log.publish_once(db, event)
            fired += 1
    return fired


def next_due(db: Reader, agents: Sequence[str], after: datetime) -> datetime | None:
    """Return the moment of the next timer, or at which the first delayed or leased head may be claimed that might not
    have been at `after`."""
    (due,) = db.execute(_NEXT_DUE, {"after": epoch(after), "agents": json.dumps(list(agents))}).fetchone()
    return moment(due) if due is not None else None


def _deadline_of(db: Reader, plan_id: str, due: datetime) -> EventEnvelope | None:
    """Return the event of a plan's deadline; None without the plan. An unreadable plan is told by its columns."""
    plan = plans.readable(db, plan_id)
    if plan is not None:
        return remake_event(None, plan, due)
    columns = timers.plan_columns(db, plan_id)
    return deadline_by_columns(plan_id, columns, due) if columns else None


def _event(db: Connection, timer_id: str, expires: str | None, body: bytes, now: datetime) -> EventEnvelope | None:
    """A timer that cannot be read holds up no other."""
    try:
        return EventEnvelope.from_json(body)
    except RemoteProtocolError as error:
        log.unreadable(error, timer=timer_id)
        guarded = expectations.find(db, expires) if expires is not None else None
        plan_id = plan_of_timer(timer_id) if expires is None else None
        return remake_event(guarded, plans.plan(db, plan_id) if plan_id else None, now)
