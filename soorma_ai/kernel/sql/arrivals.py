"""Incoming events: their rows in the tables, and their effects."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.errors import TransientError
from soorma_ai.kernel.domain.dead_letters import cannot_arrive
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Arrival, Expectation, ExpectationKind, Stray, Untaken
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.kernel.ports.conditions import UntakenConditions
from soorma_ai.kernel.rules.arrival import arrival, untaken
from soorma_ai.kernel.rules.arrival.arrival import EventTargets, Meaning, NamedRows
from soorma_ai.kernel.rules.arrival.effects import Effect, arrival_of
from soorma_ai.kernel.rules.arrival.matching import owner_of
from soorma_ai.kernel.rules.arrival.takers import Index
from soorma_ai.kernel.sql.apply import apply
from soorma_ai.kernel.sql.codec import moment
from soorma_ai.kernel.sql.commit_keys import key_of_expectation
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.tables import dead_letters as letters
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables import expectations, inbox, plans, receivers, registry, tasks
from soorma_ai.kernel.sql.tables import untaken as kept
from soorma_ai.kernel.sql.tables.registry import Routes

_LOG = logging.getLogger("soorma_ai.store")


def bring(db: Connection, events: Sequence[EventEnvelope]) -> None:
    """Let a bus's events arrive in this transaction; those of users about to be erased are dropped."""
    leaving = db.features.find_leaving(db)
    for came in events:
        if (came.tenant_id, came.user_id) in leaving:
            continue
        seq, event = log.record(db, came)
        log.leave_outbox(db, seq)
        db.brought.append(StoredEvent(seq, event))


def bring_untaken(db: Connection, routes: Routes, after: int, limit: int) -> int | None:
    """Deliver in this transaction requests without a taker so far to their present takers; return the place to continue
    from."""
    seqs = kept.places_of(db, routes.index(db).requests(), after, limit)
    waiting = ((seq, log.readable(db, seq)) for seq in seqs)
    db.untaken += [StoredEvent(seq, event) for seq, event in waiting if event is not None]
    return seqs[-1] if len(seqs) == limit else None


def arrive(db: Connection, routes: Routes, now: datetime) -> Arrival:
    """Take in the events published or brought by this transaction, with their consequences."""
    arriving = _ArrivalTransaction(db, routes, now)
    while db.untaken:
        arriving.offer_untaken(db.untaken.pop(0))
    while db.brought:
        arriving.take_in(db.brought.pop(0), is_new=False)
    while db.published:
        arriving.take_in(db.published.pop(0), is_new=True)
    return arriving.arrival()


class _ArrivalTransaction:
    """Arrival of several events, each with the outcome of those before it; their consequences are applied."""

    def __init__(self, db: Connection, routes: Routes, now: datetime) -> None:
        self._db = db
        self._index = routes.index(db)
        self._registered = RequestDefinitions(db, now)
        self._now = now
        self._done: list[Effect] = []
        self._stops: set[str] = set()

    def take(self, came: StoredEvent, *, is_new: bool) -> None:
        """Apply the rules' effects of an event. One that `is_new` had no arrival before."""
        db, event = self._db, came.event
        if (stopped := arrival.plan_to_stop(event)) is not None:
            self._stops.add(stopped)
        heard = arrival.hear(event, self._index)
        found = _find_rows(db, self._index, event, heard)
        _must_hold(db, arrival.meaning_of(event, heard, found.expected), heard, found)
        if event.topic is EventTopic.ACTION_REQUESTS and not is_new:
            found = replace(found, was_untaken=kept.was_kept(db, came.seq))
        done = apply(db, arrival.arrive(heard, found, event, self._now), self._now, came)
        is_handed_over = heard.is_untaken and not found.was_untaken and self.offer_untaken(came)
        self._done += map(_as_handed_over, done) if is_handed_over else done

    def offer_untaken(self, waiting: StoredEvent) -> bool:
        """Deliver a request without a taker so far to its present takers; tell whether there are any."""
        db, request = self._db, waiting.event
        if not self._index.is_taken(request):
            return False
        takers = arrival.hear(request, self._index).takers
        plan = plans.plan(db, request.plan_id) if request.plan_id is not None else None
        context, defined = plan.goal_data if plan else None, self._registered.of(request.tenant_id, request.type)
        effects = untaken.offer_untaken(request, defined, _expectation_of(db, request), takers, self._now, context)
        self._done += apply(db, effects, self._now, waiting)
        return bool(effects)

    def take_in(self, came: StoredEvent, *, is_new: bool) -> None:
        if self._db.is_careful:
            self._take_apart(came, is_new=is_new)
        else:
            self._db.act_for(came.event.tenant_id)
            self.take(came, is_new=is_new)

    def arrival(self) -> Arrival:
        return arrival_of(self._done, self._db.take_queued(), self._stops)

    def _take_apart(self, came: StoredEvent, *, is_new: bool) -> None:
        """Take one without harm to the others: an event with a fault of its own is a dead letter, and its requester is
        told, unless that message cannot arrive either."""
        fault = self._apart(lambda: self.take(came, is_new=is_new), came.event)
        if fault is None:
            return
        event, reason = came.event, cannot_arrive(fault)
        _LOG.warning("event_set_aside", exc_info=fault, extra={"event_id": event.id, "reason": reason})
        letters.set_aside(self._db, event, reason, self._now)
        if told := arrival.refusal_of(event, reason, self._now):
            self._apart(lambda: self._tell(told), event)

    def _tell(self, told: EventEnvelope) -> None:
        log.publish_once(self._db, told)
        if self._db.published and self._db.published[-1].event is told:
            self.take(self._db.published.pop(), is_new=True)

    def _apart(self, act: Callable[[], None], event: EventEnvelope) -> Exception | None:
        """Return the fault, after an undo of everything."""
        db, waiting, opened = self._db, list(self._db.published), dict(self._db.opened)
        done, stops, place = len(self._done), set(self._stops), db.place()
        db.savepoint("event", event.tenant_id)
        fault: Exception | None = None
        try:
            with self._db.in_our_words():
                act()
        except TransientError:
            raise
        except Exception as error:
            fault = error
            db.execute("ROLLBACK TO event")
            db.published[:], db.opened = waiting, opened
            db.give_back_since(place)
            del self._done[done:]
            self._stops = stops
        db.execute("RELEASE event")
        return fault


class RequestDefinitions:
    """Definitions of requests by their takers, live ones, or without any, gone ones; looked up once for each type."""

    def __init__(self, db: Connection, now: datetime) -> None:
        self.now = now
        self._db = db
        self._known: dict[tuple[str, str], list[RegisteredEvent]] = {}

    def of(self, tenant_id: str, event_type: str) -> list[RegisteredEvent]:
        key = tenant_id, event_type
        if key not in self._known:
            live = _of_type(registry.live_events(self._db, tenant_id, self.now), event_type)
            self._known[key] = live or _of_type(registry.all_events(self._db, tenant_id), event_type)
        return self._known[key]


def _must_hold(db: Connection, meaning: Meaning, heard: EventTargets, found: NamedRows) -> None:
    """Raise MustBeAlone for an event with consequences beyond the keys of this commit."""
    match meaning:
        case Meaning.NOTHING if not heard.is_untaken:
            pass
        case Meaning.REPLY if found.expected is not None and not heard.is_untaken:
            db.must_hold(key_of_expectation(found.expected))
            db.must_hold(owner_of(found.expected))
        case Meaning.MAY_BE_AWAITED if not (heard.is_untaken or arrival.is_of_use(heard, found.waits)):
            pass
        case _:
            db.must_be_alone()


def _as_handed_over(effect: Effect) -> Effect:
    is_untaken = isinstance(effect, Stray) and effect.reason == "untaken"
    return replace(effect, reason="handed_over") if is_untaken else effect


def requests_without_taker(
    db: Reader,
    tenant_id: str,
    now: datetime,
    *,
    limit: int,
    user_id: str | None = None,
    **conditions: Unpack[UntakenConditions],
) -> list[Untaken]:
    found: list[Untaken] = []
    root_plan_id, task_id = conditions.get("root_plan_id"), conditions.get("task_id")
    for seq, expires in kept.places(db, tenant_id, now, root_plan_id, task_id, user_id):
        if len(found) == limit:
            break
        event = log.readable(db, seq)
        if event and (one := untaken.describe_waiting(event, _expectation_of(db, event), moment(expires), now)):
            found.append(one)
    return found


def _expectation_of(db: Reader, request: EventEnvelope) -> Expectation | None:
    return expectations.find(db, request.correlation_id) if request.correlation_id is not None else None


def _of_type(registered: Sequence[RegisteredEvent], event_type: str) -> list[RegisteredEvent]:
    return [one for one in registered if one.definition.event_name == event_type]


def _let_go(db: Connection, expected: Expectation) -> tuple[str, ...]:
    return arrival.ids_when_let_go(expected.id, lambda id: log.is_known(db, id))


def _earlier_reply(db: Connection, expected: Expectation | None) -> EventEnvelope | None:
    """Return the client's earlier reply; an unreadable one stands."""
    if expected is None or expected.kind is not ExpectationKind.CLIENT or expected.met_by is None:
        return None
    return log.readable_named(db, expected.met_by)


def _expectation_named_by(
    db: Connection, index: Index, event: EventEnvelope, heard: EventTargets
) -> tuple[Expectation | None, bool]:
    """Return the expectation referred to by an event, and whether its request was handed to the event's source. A
    request with a taker refers to one by its own reply key, so this matters only for replies expected among
    requests."""
    expectation_id, topic = heard.expectation_id, None
    if expectation_id is None:
        return None, False
    if event.topic is EventTopic.ACTION_REQUESTS and not heard.is_untaken:
        topic = event.topic
        if db.opened.get(expectation_id, topic) is not topic:
            return None, False
    return expectations.find_with_receipt(db, expectation_id, index.inbox_of(event.source), topic) or (None, False)


def _awaited_by_plan(db: Connection, event: EventEnvelope) -> Expectation | None:
    """Return the wait of the state machine of an outside event's plan."""
    plan_id = arrival.plan_named_by(event)
    plan = plans.readable(db, plan_id) if plan_id is not None else None
    awaited = arrival.awaited_by(plan, event) if plan is not None else None
    return expectations.find(db, awaited) if awaited is not None else None


def _find_rows(db: Connection, index: Index, event: EventEnvelope, heard: EventTargets) -> NamedRows:
    expected, has_receipt = _expectation_named_by(db, index, event, heard)
    match arrival.meaning_of(event, heard, expected):
        case Meaning.NOTHING | Meaning.WAKES_TASK:
            return NamedRows(expected)
        case Meaning.REPLY:
            assert expected is not None
            let_go = _let_go(db, expected) if event.answers != expected.id else ()
            was_handed = index.may_answer(event.source, expected.subject) and (
                has_receipt or (bool(let_go) and inbox.was_handed(db, index.inbox_of(event.source), let_go))
            )
            return NamedRows(expected, let_go, was_handed=was_handed, replied=_earlier_reply(db, expected))
        case Meaning.WAKES_PLAN:
            assert heard.plan_id is not None
            return NamedRows(planner=plans.planner_of(db, heard.plan_id))
        case Meaning.MAY_BE_AWAITED:
            waits = tuple(expectations.open_waits(db, event.tenant_id, event.type, heard.keys))
            has_met_wait = arrival.is_of_use(heard, waits) and expectations.has_met_wait(db, event.id)
            awaited = None if expected or waits or has_met_wait else _awaited_by_plan(db, event)
            return NamedRows(expected, has_met_wait=has_met_wait, waits=waits, awaited=awaited)
        case Meaning.GIVES_UP:
            assert expected is not None
            ids = (expected.id, *_let_go(db, expected))
            pursuing = tuple(plan_id for id in ids for plan_id in receivers.plans_of(db, id))
            working = tuple((agent, id) for id in ids for agent in tasks.agents_of(db, id))
            return NamedRows(expected, pursuing=pursuing, working=working)
        case Meaning.ENDS_DOUBT:
            assert expected is not None
            return NamedRows(expected, resting=inbox.in_doubt(db, expected.agent, owner_of(expected)))
        case _ as unknown:
            assert_never(unknown)
