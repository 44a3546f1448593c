"""Opening of expectations: the deadline, the keys of an outside event, and the announcement of a question."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Unpack

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Effect, Expect, Publish, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope, EventFields, EventTopic, Lineage, caused_id, new_event
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, Join
from soorma_ai.kernel.domain.people import Ask
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.states import HUMAN_INPUT, WAIT_ESCALATED, WAIT_REMINDED
from soorma_ai.kernel.domain.stores import Home
from soorma_ai.kernel.domain.values import Json, JsonObject, compact, derived_id, value_at
from soorma_ai.kernel.rules.breaker import must_be_small
from soorma_ai.kernel.rules.waits.answers import event_of_expiry

# For whoever names no deadline: nothing may be waited for without end.
LONGEST_WAIT = timedelta(days=7)
# Series of the timer of an escalation.
ESCALATION = "escalation"
# A redriven delivery makes other events than before it died: its requester was told of the failure under the first
# ordinal then, and one id may not stand for two contents.
ORDINALS_APART = 2**32


class Moment(Struct, frozen=True):
    """Cause, maker and time of new records. Ids derive from the cause, so a repetition makes the same."""

    cause: EventEnvelope
    agent: str
    now: datetime
    ordinals: Iterator[int]

    def event_id(self, type: str) -> str:
        return caused_id(self.cause.id, self.agent, next(self.ordinals), type)

    def event(
        self,
        lineage: Lineage,
        topic: EventTopic,
        type: str,
        data: JsonObject,
        *,
        event_id: str | None = None,
        **fields: Unpack[EventFields],
    ) -> EventEnvelope:
        """Make an event of this agent, now and for this cause; see `new_event`. Raise LimitExceeded for one too big."""
        must_be_small(type, data)
        return new_event(
            lineage,
            event_id=event_id or self.event_id(type),
            source=self.agent,
            topic=topic,
            type=type,
            data=data,
            time=self.now,
            causation_id=self.cause.id,
            **fields,
        )

    def expectation_id(self, what: str) -> str:
        """The id of one that is opened without an event of its own: a wait, a join, an offer."""
        return derived_id(what, self.cause.id, self.agent, str(next(self.ordinals)))


class Waiter(Struct, frozen=True):
    """A plan, a task, a delivery in doubt or a client that waits.

    Nothing is waited for beyond `deadline`, nor longer than `longest` where nothing else is said.
    """

    agent: str
    lineage: Lineage
    deadline: datetime | None
    plan_id: str | None = None
    task_id: str | None = None
    longest: timedelta | None = None


class ExpectationSpec(Struct, frozen=True):
    """Description of an expected event; `Expectation` explains the fields. `timeout` counts from the opening."""

    id: str
    kind: ExpectationKind
    event_type: str
    topic: EventTopic = EventTopic.ACTION_RESULTS
    subject: str = ""
    timeout: timedelta | None = None
    others: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    producers: tuple[str, ...] = ()
    ask: Ask | None = None
    join: Join | None = None
    group_id: str | None = None
    place: int = 0
    dataschema: str | None = None
    home: Home | None = None


def expectation_of(waiter: Waiter, spec: ExpectationSpec, now: datetime) -> Expectation:
    # A span that is too short for a clock to tell is none at all, and not the longest.
    span = waiter.longest if spec.timeout is None else spec.timeout
    return Expectation(
        id=spec.id,
        kind=spec.kind,
        agent=waiter.agent,
        tenant_id=waiter.lineage.tenant_id,
        plan_id=waiter.plan_id,
        root_plan_id=waiter.lineage.root_plan_id,
        task_id=waiter.task_id,
        event_type=spec.event_type,
        event_topic=spec.topic,
        opened_at=now,
        deadline=earliest(waiter.deadline, None if span is None else now + span),
        subject=spec.subject or spec.event_type,
        others=spec.others,
        keys=spec.keys,
        producers=spec.producers,
        ask=spec.ask,
        join=spec.join,
        group_id=spec.group_id,
        place=spec.place,
        dataschema=spec.dataschema,
        user_id=waiter.lineage.user_id,
        home=spec.home,
    )


def open_expectation(
    waiter: Waiter, spec: ExpectationSpec, moment: Moment, *, about: JsonObject | None = None
) -> tuple[Effect, ...]:
    """The expectation, the timer of its deadline, and for a question the announcement (with `about`) and reminders."""
    opened, ask = expectation_of(waiter, spec, moment.now), spec.ask
    timer = _deadline_timer(waiter, opened)
    if ask is None:
        return (Expect(opened), *timer)
    announced = _announcement(replace(waiter.lineage, share=None), opened, ask, moment, about)
    return (Expect(opened), Publish(announced), *timer, *_reminders(opened, ask, announced))


def first_opened(effects: Iterable[Effect]) -> Expectation:
    """The first expectation that these open."""
    return next(effect.expectation for effect in effects if isinstance(effect, Expect))


def _announcement(
    lineage: Lineage, opened: Expectation, ask: Ask, moment: Moment, about: JsonObject | None
) -> EventEnvelope:
    """Return the event about a question to people, for programs outside. `about` is the asker's own addition. An event
    under the announcement's correlation id answers the question, too."""
    decisions: list[Json] = list(ask.allowed_decisions)
    task_id, request_id = opened.asking_task, opened.request_asked_about
    owner: JsonObject = {"plan_id": opened.plan_id, "task_id": task_id, "request_id": request_id}
    data: JsonObject = {
        **(about or {}),
        "question": ask.message,
        "reason": ask.reason,
        "wait_id": opened.id,
        "kind": opened.kind,
        **owner,
        "response_event": opened.event_type,
        "response_schema": ask.response_schema,
        "allowed_decisions": decisions,
        "deadline": opened.deadline.isoformat() if opened.deadline else None,
        "digest": ask.proposal.digest if ask.proposal else None,
    }
    topic, event_id = EventTopic.NOTIFICATION_EVENTS, derived_id("announced", opened.id)
    key = opened.plan_id or task_id or request_id
    return moment.event(lineage, topic, HUMAN_INPUT, data, event_id=event_id, subject=opened.id, correlation_id=key)


def earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment), default=None)


def _deadline_timer(waiter: Waiter, opened: Expectation) -> tuple[Schedule, ...]:
    """Return the timer of its deadline; none for an end with its plan, with a timer of its own."""
    due = opened.deadline
    if due is None or (waiter.plan_id is not None and waiter.deadline is not None and due >= waiter.deadline):
        return ()
    return (Schedule(f"deadline:{opened.id}", due, event_of_expiry(opened, due), guards=opened.id),)


def _reminders(asked: Expectation, ask: Ask, announced: EventEnvelope) -> tuple[Schedule, ...]:
    """Return the timers of reminders and of the escalation of an unanswered question; those due at its deadline or
    later are dropped. Their events change nothing: the right to answer follows from the question's record and the time,
    with a fired timer or without."""
    timers = [
        Schedule(
            f"remind:{asked.id}:{number}",
            asked.opened_at + after,
            _reminder(announced, WAIT_REMINDED, asked, asked.opened_at + after, {"reminder": number}),
            guards=asked.id,
            series="reminder",
        )
        for number, after in enumerate(sorted(ask.reminders), 1)
    ]
    if ask.escalate_after is not None:
        due = asked.opened_at + ask.escalate_after
        roles: list[Json] = [*ask.escalate_to]
        event = _reminder(announced, WAIT_ESCALATED, asked, due, {"escalated_to": roles})
        timers.append(Schedule(f"escalate:{asked.id}", due, event, guards=asked.id, series=ESCALATION))
    return tuple(timer for timer in timers if asked.deadline is None or timer.due < asked.deadline)


def _reminder(
    announced: EventEnvelope, type: str, asked: Expectation, due: datetime, more: JsonObject
) -> EventEnvelope:
    id, data = derived_id(type, asked.id, due.isoformat()), {**announced.data, **more}
    return announced.model_copy(update={"id": id, "type": type, "time": due, "data": data})


def keys_of_event(event: EventEnvelope, definitions: Iterable[EventDefinition]) -> tuple[str, ...]:
    """Return the keys of its plan, its reply key, and the correlations of its type's definitions."""
    keys: list[str] = []
    if event.plan_id:
        keys.append(f"plan:{event.plan_id}")
    if event.correlation_id:
        keys.append(f"reply:{event.correlation_id}")
    for definition in definitions:
        if definition.correlate:
            found = {path: value_at(event.data, pointer) for pointer, path in definition.correlate.items()}
            keys += _data_key(event.type, found)
    return tuple(dict.fromkeys(keys))


def keys_of_wait(plan: PlanRecord, expectation_id: str, definition: EventDefinition) -> tuple[str, ...]:
    keys = [f"plan:{plan.plan_id}", f"reply:{expectation_id}"]
    if definition.correlate:
        view: dict[str, Json] = {"goal_data": plan.goal_data, "plan_id": plan.plan_id, "goal_id": plan.goal_id}
        keys += _data_key(definition.event_name, {path: value_at(view, path) for path in definition.correlate.values()})
    return tuple(keys)


def _data_key(event_type: str, found: dict[str, Json]) -> list[str]:
    """Return no key where a value is missing: an absent id must not match another absent id."""
    return [] if None in found.values() else [f"data:{event_type}:{compact(found)}"]
