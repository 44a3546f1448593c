"""Records for tables over pure functions: a plan, its expectations, its events."""

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from msgspec.structs import replace

from soorma_ai.kernel.domain.decisions import AcceptedDecision, PlannerDecision
from soorma_ai.kernel.domain.effects import AppendStep, Expect, PlanChange, Publish
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask, Proposal
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.replies import ExpectedReply, failure_reply, success_reply
from soorma_ai.kernel.domain.values import digest
from soorma_ai.kernel.rules.arrival.effects import Put
from soorma_ai.kernel.rules.arrival.takers import Index
from soorma_ai.kernel.rules.waits.gates import APPROVAL_ANSWER
from soorma_ai.kernel.rules.waits.opening import Moment

E = TypeVar("E")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
END = NOW + timedelta(days=7)
LINEAGE = Lineage("acme", "ada", "s-1", "goal", "p-1", "p-0", END, "00-1-2-01")


def event(type: str, /, **given: Any) -> EventEnvelope:
    """An event; keywords that are no field of an envelope become its data."""
    known = {name: given.pop(name) for name in [*given] if name in EventEnvelope.model_fields}
    made = {"id": "e-1", "source": "parts", "topic": EventTopic.ACTION_RESULTS, "time": NOW, "data": given}
    return EventEnvelope(type=type, **(made | known))


GOAL = event("order.received", id="goal", source="client", topic="action-requests", order_id="A1")


def moment(cause: EventEnvelope = GOAL, now: datetime = NOW) -> Moment:
    return Moment(cause, "orders", now, itertools.count())


def plan(status: str = "running", **changes: Any) -> PlanRecord:
    ids, goal = ("p-1", "goal", PlanStatus(status)), ("order.received", {"order_id": "A1"}, "orders")
    facts = (*ids, *goal, NOW, NOW, "p-0", Limits())
    made = PlanRecord(*facts, "1", LINEAGE, answer_key="key", deadline=END, steps=4)
    return replace(made, **changes)


def expectation(kind: str = "reply", status: str = "open", **changes: Any) -> Expectation:
    made = Expectation(
        *("x-1", ExpectationKind(kind), "orders", "acme", "p-1", "p-0", "part.completed", EventTopic.ACTION_RESULTS),
        *(NOW, END, "part"),
        status=ExpectationStatus(status),
    )
    return replace(made, **changes)


def gate(status: str = "met", answer: Answer | None = None, on_expiry: str = "reject", **changes: Any) -> Expectation:
    """A gate for a payment of 9. `target` is the planner of a delegated goal."""
    data = changes.pop("data", {"amount": 9})
    reply, target = ExpectedReply("paid", ("lost",)), changes.pop("target", None)
    proposal = Proposal("pay", data, digest({"amount": 9}), {}, reply, target)
    allowed = (AnswerDecision.APPROVE, AnswerDecision.EDIT, AnswerDecision.REJECT)
    ask = Ask("confirmation", "?", APPROVAL_ANSWER, allowed, on_expiry=AnswerDecision(on_expiry), proposal=proposal)
    named = {"event_type": "pay", "subject": "pay", "answer": answer, "ask": ask}
    return expectation("gate", status, **(named | changes))


def answer(decision: str, note: str = "", **payload: Any) -> Answer:
    return Answer("a-1", payload, AnswerDecision(decision), "mia", NOW, note)


def accepted_decision(action: Any, **changes: Any) -> AcceptedDecision:
    return AcceptedDecision(PlannerDecision(next_action=action), **changes)


def success_event(type: str = "part.completed", result: Any = 7, **changes: Any) -> EventEnvelope:
    return event(type, **changes, data=success_reply(result))


def failure_event(type: str = "part.completed", code: str = "network", message: str = "down") -> EventEnvelope:
    return event(type, data=failure_reply(code, message))


def of_kind(kind: type[E], effects: Iterable[object] | PlanChange) -> list[E]:
    found = effects.effects if isinstance(effects, PlanChange) else effects
    return [effect for effect in found if isinstance(effect, kind)]


def steps(effects: Iterable[object] | PlanChange) -> list[Step]:
    return [effect.step for effect in of_kind(AppendStep, effects)]


def expectations_in(effects: Iterable[object] | PlanChange) -> list[Expectation]:
    return [effect.expectation for effect in of_kind(Expect, effects)]


def events_in(effects: Iterable[object] | PlanChange) -> list[EventEnvelope]:
    return [effect.event for effect in of_kind(Publish, effects)]


def puts_of(index: Index, event: EventEnvelope) -> tuple[tuple[Put, ...], tuple[Put, ...]]:
    """Return the inboxes of an event, of takers and of listeners."""
    return index.kind_of(event).puts(event)
