"""Events that come in: what stands about them in the tables, and what is done with them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from soorma_ai.adapters.sqlite.codec import moment
from soorma_ai.adapters.sqlite.consequences import apply
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import expectations, inbox, plans, registry, tasks
from soorma_ai.adapters.sqlite.tables.registry import Routes
from soorma_ai.core.arrival import arrival, untaken
from soorma_ai.core.arrival.arrival import Heard, Meaning, NamedRows
from soorma_ai.core.arrival.effects import Effect, arrival_of
from soorma_ai.core.arrival.meeting import owner_of
from soorma_ai.core.arrival.takers import Index
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.expectations import Arrival, Expectation, ExpectationKind, Untaken
from soorma_ai.domain.registry import RegisteredEvent


def arrive(db: sqlite3.Connection, routes: Routes, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
    """Apply what the rules say of events, each of which sees what became of those before it."""
    index, done, registered = routes.index(db), list[Effect](), _Registered(db, now)
    for came in events:
        seq, event = log.record(db, came)
        log.arrived(db, seq)
        heard = arrival.hear(event, index)
        found = _found(db, index, event, heard)
        if event.topic is EventTopic.ACTION_REQUESTS:
            found = replace(found, was_untaken=inbox.was_untaken(db, seq))
        done += apply(db, arrival.arrive(heard, found, event, now), now, seq)
        if heard.is_untaken and not found.was_untaken and index.is_taken(event):
            done += _hand_over(db, index, seq, event, registered)
    return arrival_of(done)


def hand_over(
    db: sqlite3.Connection, routes: Routes, after: int, limit: int, now: datetime
) -> tuple[Arrival, int | None]:
    """Hand over requests that nobody took, and somebody takes now: what came of it, and the place to go on from."""
    index, done, registered = routes.index(db), list[Effect](), _Registered(db, now)
    seqs = inbox.untaken(db, index.requests(), after, limit)
    for seq in seqs:
        event = log.readable(db, seq)
        if event is not None and index.is_taken(event):
            done += _hand_over(db, index, seq, event, registered)
    return arrival_of(done), seqs[-1] if len(seqs) == limit else None


class _Registered:
    """Definitions of requests by those who take them, live ones, or where none lives, those that are gone; looked up
    once for each type."""

    def __init__(self, db: sqlite3.Connection, now: datetime) -> None:
        self.now = now
        self._db = db
        self._known: dict[tuple[str, str], list[RegisteredEvent]] = {}

    def of(self, tenant_id: str, event_type: str) -> list[RegisteredEvent]:
        key = tenant_id, event_type
        if key not in self._known:
            live = _of_type(registry.live_events(self._db, tenant_id, self.now), event_type)
            self._known[key] = live or _of_type(registry.known_events(self._db, tenant_id), event_type)
        return self._known[key]


def _hand_over(
    db: sqlite3.Connection, index: Index, seq: int, request: EventEnvelope, registered: _Registered
) -> list[Effect]:
    takers = arrival.hear(request, index).takers
    plan = plans.plan(db, request.plan_id) if request.plan_id is not None else None
    context, defined = plan.goal_data if plan else None, registered.of(request.tenant_id, request.type)
    effects = untaken.hand_over(request, defined, _expected(db, request), takers, registered.now, context)
    return apply(db, effects, registered.now, seq)


def waiting_for_takers(
    db: sqlite3.Connection,
    tenant_id: str,
    now: datetime,
    *,
    limit: int,
    root_plan_id: str | None = None,
    task_id: str | None = None,
) -> list[Untaken]:
    found: list[Untaken] = []
    for seq, expires in inbox.kept_untaken(db, tenant_id, now, root_plan_id, task_id):
        if len(found) == limit:
            break
        event = log.readable(db, seq)
        if event and (one := untaken.describe_waiting(event, _expected(db, event), moment(expires), now)):
            found.append(one)
    return found


def _expected(db: sqlite3.Connection, request: EventEnvelope) -> Expectation | None:
    return expectations.find(db, request.correlation_id) if request.correlation_id is not None else None


def _of_type(registered: Sequence[RegisteredEvent], event_type: str) -> list[RegisteredEvent]:
    return [one for one in registered if one.definition.event_name == event_type]


def _let_go(db: sqlite3.Connection, expected: Expectation) -> tuple[str, ...]:
    return arrival.ids_when_let_go(expected.id, lambda id: log.is_known(db, id))


def _replied(db: sqlite3.Connection, expected: Expectation | None) -> EventEnvelope | None:
    """What a client was answered before; one that cannot be read stands."""
    if expected is None or expected.kind is not ExpectationKind.CLIENT or expected.met_by is None:
        return None
    return log.readable_named(db, expected.met_by)


def _found(db: sqlite3.Connection, index: Index, event: EventEnvelope, heard: Heard) -> NamedRows:
    expected = expectations.find(db, heard.expectation_id) if heard.expectation_id is not None else None
    match arrival.meaning_of(event, heard, expected):
        case Meaning.NOTHING | Meaning.WAKES_TASK:
            return NamedRows(expected)
        case Meaning.REPLY:
            assert expected is not None
            let_go = _let_go(db, expected) if event.answers != expected.id else ()
            takes = index.takes(event.source, expected.subject)
            was_handed = takes and inbox.was_handed(db, event.source, (expected.id, *let_go))
            return NamedRows(expected, let_go, was_handed=was_handed, replied=_replied(db, expected))
        case Meaning.WAKES_PLAN:
            assert heard.plan_id is not None
            return NamedRows(planner=plans.planner_of(db, heard.plan_id))
        case Meaning.MAY_BE_AWAITED:
            waits = expectations.waiting(db, event.tenant_id, event.type, heard.keys)
            return NamedRows(expected, has_met_wait=expectations.has_met_wait(db, event.id), waits=tuple(waits))
        case Meaning.GIVES_UP:
            assert expected is not None
            ids = (expected.id, *_let_go(db, expected))
            pursuing = tuple(plan_id for id in ids for plan_id in inbox.plans_of(db, id))
            working = tuple((agent, id) for id in ids for agent in tasks.agents_of(db, id))
            return NamedRows(expected, pursuing=pursuing, working=working)
        case Meaning.ENDS_DOUBT:
            assert expected is not None
            return NamedRows(expected, resting=inbox.in_doubt(db, expected.agent, owner_of(expected)))
        case _ as unknown:
            assert_never(unknown)
