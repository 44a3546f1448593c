"""Events that come in: what stands about them in the tables, and what is done with them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from soorma_ai.adapters.sqlite.consequences import apply
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import expectations, inbox, plans, registry, tasks
from soorma_ai.adapters.sqlite.tables.registry import Routes
from soorma_ai.core.arrival import arrival, untaken
from soorma_ai.core.arrival.arrival import Found, Heard, Meaning
from soorma_ai.core.arrival.effects import Effect, arrival_of
from soorma_ai.core.arrival.meeting import owner_of
from soorma_ai.core.arrival.takers import Index
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.expectations import Arrival, Expectation, ExpectationKind
from soorma_ai.domain.registry import RegisteredEvent


def arrive(db: sqlite3.Connection, routes: Routes, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
    """Apply what the rules say of events, each of which sees what became of those before it."""
    done: list[Effect] = []
    for came in events:
        seq, event = log.record(db, came)
        log.arrived(db, seq)
        heard = arrival.hear(event, routes.index(db))
        found = _found(db, routes.index(db), event, heard)
        if event.topic is EventTopic.ACTION_REQUESTS:
            found = replace(found, was_untaken=inbox.was_untaken(db, seq))
        done += apply(db, arrival.arrive(heard, found, event, now), now, seq)
    return arrival_of(done)


def hand_over(
    db: sqlite3.Connection, routes: Routes, after: int, limit: int, now: datetime
) -> tuple[Arrival, int | None]:
    """Hand over requests that nobody took, and somebody takes now: what came of it, and the place to go on from."""
    index, done, registered = routes.index(db), list[Effect](), dict[tuple[str, str], list[RegisteredEvent]]()
    seqs = inbox.untaken(db, index.requests(), after, limit)
    for seq in seqs:
        event = log.readable(db, seq)
        if event is None or not index.is_taken(event):
            continue
        key = event.tenant_id, event.type
        if key not in registered:
            registered[key] = _of_type(registry.live_events(db, event.tenant_id, now), event.type) or _of_type(
                registry.known_events(db, event.tenant_id), event.type
            )
        takers = arrival.hear(event, index).takers
        plan = plans.plan(db, event.plan_id) if event.plan_id is not None else None
        context = plan.goal_data if plan else None
        expected = expectations.find(db, event.correlation_id) if event.correlation_id is not None else None
        done += apply(db, untaken.hand_over(event, registered[key], expected, takers, now, context), now, seq)
    return arrival_of(done), seqs[-1] if len(seqs) == limit else None


def _of_type(registered: Sequence[RegisteredEvent], event_type: str) -> list[RegisteredEvent]:
    return [one for one in registered if one.definition.event_name == event_type]


def _replied(db: sqlite3.Connection, expected: Expectation | None) -> EventEnvelope | None:
    """What a client was answered before; one that cannot be read stands."""
    if expected is None or expected.kind is not ExpectationKind.CLIENT or expected.met_by is None:
        return None
    return log.readable_named(db, expected.met_by)


def _found(db: sqlite3.Connection, index: Index, event: EventEnvelope, heard: Heard) -> Found:
    expected = expectations.find(db, heard.expectation_id) if heard.expectation_id is not None else None
    match arrival.meaning_of(event, heard, expected):
        case Meaning.NOTHING | Meaning.WAKES_TASK:
            return Found(expected)
        case Meaning.REPLY:
            assert expected is not None
            takes = index.takes(event.source, expected.subject)
            was_handed = takes and inbox.was_handed(db, event.source, arrival.ids_of_request(expected))
            return Found(expected, was_handed=was_handed, replied=_replied(db, expected))
        case Meaning.WAKES_PLAN:
            assert heard.plan_id is not None
            return Found(planner=plans.planner_of(db, heard.plan_id))
        case Meaning.MAY_BE_AWAITED:
            waits = expectations.waiting(db, event.tenant_id, event.type, heard.keys)
            return Found(expected, has_met_wait=expectations.has_met_wait(db, event.id), waits=tuple(waits))
        case Meaning.GIVES_UP:
            assert expected is not None
            pursuing, working = inbox.plans_of(db, expected.id), tasks.agents_of(db, expected.id)
            return Found(expected, pursuing=tuple(pursuing), working=tuple(working))
        case Meaning.ENDS_DOUBT:
            assert expected is not None
            return Found(expected, resting=inbox.in_doubt(db, expected.agent, owner_of(expected)))
        case _ as unknown:
            assert_never(unknown)
