"""What becomes of an event that comes in: whose inbox it goes to, and what it meets."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from soorma_ai.adapters.sqlite.codec import epoch
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import expectations, inbox, plans, tasks
from soorma_ai.adapters.sqlite.tables.registry import Routes
from soorma_ai.core.delivery.doubts import doubt_id
from soorma_ai.core.expecting.keys import keys_of_event
from soorma_ai.core.expecting.wakeups import ABANDONED, WAKE_EVENTS
from soorma_ai.domain.arrivals import Arrival, Stray
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.plans import plan_id_of

KEPT_EARLY = timedelta(hours=24)

_MET_BY_REPLY = (ExpectationKind.REPLY, ExpectationKind.CHILD, ExpectationKind.CLIENT)
StrayReason = Literal["early", "late", "surplus", "ambiguous", "invalid"]

_FROM_INSIDE = (EventTopic.ACTION_REQUESTS, EventTopic.PLAN_EVENTS)


def arrive(db: sqlite3.Connection, routes: Routes, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
    arriving = _Arriving(db, routes, now)
    for event in events:
        arriving.take(event)
    return Arrival(frozenset(arriving.agents), frozenset(arriving.answered), tuple(arriving.strays))


class _Arriving:
    def __init__(self, db: sqlite3.Connection, routes: Routes, now: datetime) -> None:
        self._db = db
        self._routes = routes
        self._now = now
        self.agents: set[str] = set()
        self.answered: set[str] = set()
        self.strays: list[Stray] = []

    def take(self, came: EventEnvelope) -> None:
        seq, event = log.record(self._db, came)
        log.arrived(self._db, seq)
        recipients: dict[str, tuple[str, int]] = {}
        for agent, as_goal in self._routes.takers(self._db, event):
            recipients[agent] = (plan_id_of(event.id, agent), inbox.LAST) if as_goal else (event.id, inbox.FIRST)
        waiting = self._plan_it_is_for(seq, event)
        if waiting is not None:
            # Over a subscription of the same agent: a plan that waits must not be left waiting.
            recipients[waiting[0]] = (waiting[1], inbox.FIRST)
        for agent, (owner, priority) in recipients.items():
            if inbox.put(self._db, agent, seq, owner, priority):
                self.agents.add(agent)

    def _plan_it_is_for(self, seq: int, event: EventEnvelope) -> tuple[str, str] | None:
        """Agent and owner key."""
        if event.topic is EventTopic.PLAN_EVENTS and event.type in WAKE_EVENTS:
            return self._woken(seq, event)
        replied_to = self._replied_to(event)
        if replied_to is not None:
            return self._meet_reply(replied_to, event)
        return None if event.topic in _FROM_INSIDE else self._meet_wait(seq, event)

    def _woken(self, seq: int, event: EventEnvelope) -> tuple[str, str] | None:
        if event.type == ABANDONED:
            self._abandon(seq, event)
            return None
        if event.plan_id is None:
            return self._woken_without_plan(event)
        return self._db.execute(
            "SELECT agent, plan_id FROM plan WHERE plan_id = ? AND tenant = ?", (event.plan_id, event.tenant_id)
        ).fetchone()

    def _abandon(self, seq: int, event: EventEnvelope) -> None:
        """Those who were asked stop: plans that pursue it as their goal, and workers that have it as their task."""
        closed = expectations.find(self._db, event.subject) if event.subject else None
        if closed is None or closed.tenant_id != event.tenant_id:
            return
        if closed.status is not ExpectationStatus.CLOSED and not closed.is_child_given_up:
            return
        for plan_id in inbox.plans_of(self._db, closed.id):
            plans.cancel(self._db, plan_id, "whoever delegated it waits for it no more", self._now)
        for agent in tasks.agents_of(self._db, closed.id):
            if inbox.put(self._db, agent, seq, closed.id):
                self.agents.add(agent)

    def _woken_without_plan(self, event: EventEnvelope) -> tuple[str, str] | None:
        """A task, or a delivery in doubt; what it waited for is closed, or this wakes nobody."""
        closed = expectations.find(self._db, event.subject) if event.subject else None
        if closed is None or closed.status is ExpectationStatus.OPEN or closed.tenant_id != event.tenant_id:
            return None
        if closed.kind is ExpectationKind.DOUBT:
            self._resolve(closed)
            return None
        return (closed.agent, closed.task_id) if closed.task_id else None

    def _resolve(self, question: Expectation) -> None:
        """Only the question about the present doubt: one that was answered before may be told again."""
        owner = expectations.owner_of(question)
        resting = inbox.in_doubt(self._db, question.agent, owner)
        if resting is not None and doubt_id(question.agent, *resting) == question.id:
            inbox.resolve(self._db, question.agent, owner)
            self.agents.add(question.agent)

    def _replied_to(self, event: EventEnvelope) -> Expectation | None:
        if event.correlation_id is None:
            return None
        expected = expectations.find(self._db, event.correlation_id)
        if (
            expected is None
            or expected.kind not in _MET_BY_REPLY
            or (expected.tenant_id, expected.event_topic) != (event.tenant_id, event.topic)
            or event.type not in expected.event_types
        ):
            return None
        return expected

    def _meet_reply(self, expected: Expectation, event: EventEnvelope) -> tuple[str, str] | None:
        if not self._meets(expected, event):
            self._stray(event, "surplus" if expected.status is ExpectationStatus.MET else "late", expected.id)
            return None
        if expected.kind is ExpectationKind.CLIENT:
            self.answered.add(expected.id)
            return None
        return expected.agent, expectations.owner_of(expected)

    def _meets(self, expected: Expectation, event: EventEnvelope) -> bool:
        """Now, or before: an event that comes again is still the one that met it."""
        if expected.status is ExpectationStatus.OPEN:
            return expectations.close(self._db, expected.id, ExpectationStatus.MET, self._now, met_by=event.id)
        return expected.status is ExpectationStatus.MET and expected.met_by == event.id

    def _meet_wait(self, seq: int, event: EventEnvelope) -> tuple[str, str] | None:
        if expectations.has_met_wait(self._db, event.id):
            return None
        keys = keys_of_event(event, self._routes.definitions(self._db, event.tenant_id, event.type))
        if not keys:
            return None
        named = expectations.waiting_for(self._db, event, keys)
        fitting: list[Expectation] = []
        for wait in named:
            if expectations.fits(wait, event):
                fitting.append(wait)
            else:
                self._stray(event, "invalid", wait.id)
        for wait in fitting[1:]:
            self._stray(event, "ambiguous", wait.id)
        if fitting:
            self._meets(fitting[0], event)
            return fitting[0].agent, expectations.owner_of(fitting[0])
        if not named and self._routes.is_awaited(self._db, event.tenant_id, event.type):
            self._keep_early(seq, event, keys)
        return None

    def _keep_early(self, seq: int, event: EventEnvelope, keys: Sequence[str]) -> None:
        expectations.drop_expired_early(self._db, self._now)
        if self._stray(event, "early", None):
            expectations.keep_early(self._db, event, seq, keys, self._now + KEPT_EARLY)

    def _stray(self, event: EventEnvelope, reason: StrayReason, expectation_id: str | None) -> bool:
        """Told once, however often the event comes."""
        done = self._db.execute(
            "INSERT OR IGNORE INTO stray (event_id, reason, expectation_id, event_type, at) VALUES (?, ?, ?, ?, ?)",
            (event.id, reason, expectation_id or "", event.type, epoch(self._now)),
        )
        if done.rowcount == 0:
            return False
        self.strays.append(Stray(event.id, event.type, reason, expectation_id))
        return True
