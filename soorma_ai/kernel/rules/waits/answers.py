"""Answers: their validity (the first valid one counts; every other gets the reason), and their effects."""

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.people import (
    ACCEPTED,
    DUPLICATE,
    INVALID,
    LATE,
    SUPERSEDED,
    Answer,
    AnswerDecision,
    AnswerOutcome,
    Person,
)
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.domain.values import JsonObject, digest
from soorma_ai.kernel.rules.waits.replies import refuse
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, EXPIRED, wake_for

REJECTED = "rejected"


def judge_answer(
    expectation: Expectation, answer: Answer, person: Person, now: datetime, definition: EventDefinition | None = None
) -> AnswerOutcome:
    """`expectation` is one that asks people. `definition` is the present one of its held request: data off this cannot
    be approved, and an edit must fit it."""
    earlier = expectation.answer
    if earlier is not None:
        if _is_said_again(answer, earlier):
            return AnswerOutcome(ACCEPTED, "this answer was recorded before")
        when = earlier.answered_at.isoformat(timespec="seconds")
        return AnswerOutcome(DUPLICATE, f"{earlier.by} was first: {earlier.decision} at {when}")
    deadline = expectation.deadline
    match expectation.status:
        case ExpectationStatus.MET:
            return AnswerOutcome(DUPLICATE, f"the event {expectation.event_type!r} came before this answer")
        case ExpectationStatus.CLOSED:
            return AnswerOutcome(SUPERSEDED, "the question no longer stands: the plan has moved on or ended")
        case ExpectationStatus.OPEN if deadline is None or now < deadline:
            fault = _fault(expectation, answer, person, now) or _held_fault(expectation, answer, definition)
            return AnswerOutcome(INVALID, fault) if fault else AnswerOutcome(ACCEPTED)
        case ExpectationStatus.EXPIRED | ExpectationStatus.OPEN:
            until = deadline.isoformat(timespec="seconds") if deadline else "its deadline"
            return AnswerOutcome(LATE, f"an answer was possible until {until}")


def event_of_answer(asked: Expectation, answer: Answer, now: datetime) -> EventEnvelope:
    """Return the event of an answer: it wakes the asker; for a held request without a deciding plan, it is that
    request, or the message of its rejection to the requester."""
    held = _request_of_proposal(asked)
    if held is None:
        return wake_for(ANSWERED, asked, now)
    match answer.decision:
        case AnswerDecision.APPROVE:
            return held
        case AnswerDecision.EDIT:
            return held.model_copy(update={"data": answer.payload.get("data", held.data)})
        case AnswerDecision.REJECT | AnswerDecision.RESPOND:
            said = answer.note or answer.payload.get("note")
            words = f"; {answer.by} says: {said}" if said else ""
            return refuse(held, REJECTED, f"a person rejected {held.type!r}, so it was not published{words}", now)


def event_of_expiry(asked: Expectation, due: datetime) -> EventEnvelope:
    """The event that comes at the deadline, in the place of an answer."""
    held = _request_of_proposal(asked)
    if held is None:
        return wake_for(EXPIRED, asked, due)
    if asked.ask is not None and asked.ask.on_expiry is AnswerDecision.APPROVE:
        return held
    return refuse(held, REJECTED, f"nobody approved {held.type!r} in time, so it was not published", due)


def may_meet(wait: Expectation, event: EventEnvelope) -> bool:
    """Tell whether an event can meet the wait: one of its producers', or anybody's without declared ones. An event has
    no roles, so none meets a wait for certain roles; nor does another user's, without the right to steer that."""
    if wait.ask is not None and wait.ask.approvers:
        return False
    if event.own and event.user_id != wait.user_id:
        return False
    return not wait.producers or event.source in wait.producers


def is_undeclared(wait: Expectation, event: EventEnvelope) -> bool:
    """Tell whether an agent answers a question that it could meet if it declared the event."""
    is_an_agents = event.source not in (CLIENT, SYSTEM)
    return is_an_agents and not may_meet(wait, event) and may_meet(replace(wait, producers=()), event)


def may_answer(asked: Expectation, person: Person, now: datetime) -> bool:
    """Tell whether a person of the tenant has the right to answer: an approver, or anybody without named ones. Neither
    ownership nor a role with the right to steer counts."""
    approvers = asked.ask.approvers_at(asked.opened_at, now) if asked.ask else ()
    return not approvers or person.roles is None or not person.roles.isdisjoint(approvers)


def role_fault(asked: Expectation, person: Person, now: datetime) -> str:
    """Return the reason against a person's answer; empty for none."""
    if may_answer(asked, person, now):
        return ""
    has = ", ".join(sorted(person.roles or ())) or "no role"
    approvers = asked.ask.approvers_at(asked.opened_at, now) if asked.ask else ()
    return f"{person.user_id} has {has}; one of {', '.join(approvers)} must answer"


def _is_said_again(answer: Answer, earlier: Answer) -> bool:
    """Tell whether it repeats the earlier answer. Its id is the caller's choice: two people may choose the same, and
    one person may give two answers under it."""
    return _act(answer) == _act(earlier)


def _act(answer: Answer) -> tuple[str, str, AnswerDecision, JsonObject]:
    return answer.answer_id, answer.user_id, answer.decision, answer.payload


def _request_of_proposal(asked: Expectation) -> EventEnvelope | None:
    held = asked.ask.proposal if asked.ask else None
    if held is None or held.request is None:
        return None
    if digest(held.request.data) != held.digest:
        raise LocalProtocolError(f"the payload held for {held.event_type} is not the one that people were shown")
    return held.request


def _fault(expectation: Expectation, answer: Answer, person: Person, now: datetime) -> str:
    ask = expectation.ask
    if ask is None:
        return "this is no question to a person"
    if fault := role_fault(expectation, person, now):
        return fault
    approved = answer.payload.get("approved")
    if answer.decision not in ask.allowed_decisions:
        if answer.decision is AnswerDecision.RESPOND and approved is not None:
            return f"approved={approved!r} in the payload is neither true nor false"
        return f"decision '{answer.decision}' is not among {', '.join(ask.allowed_decisions)}"
    said_yes_or_no = isinstance(approved, bool) and answer.decision is not AnswerDecision.RESPOND
    if said_yes_or_no and approved is (answer.decision is AnswerDecision.REJECT):
        return f"the payload says approved={approved} and the decision says {answer.decision}"
    if answer.decision is AnswerDecision.EDIT:
        is_edit = ask.proposal is not None and isinstance(answer.payload.get("data"), dict)
        return "" if is_edit else "an edit gives the new payload of the held event, as an object in 'data'"
    faults = violations(ask.response_schema, answer.payload)
    return f"the answer is off its schema: {describe(faults)}" if faults else ""


def _held_fault(expectation: Expectation, answer: Answer, definition: EventDefinition | None) -> str:
    """Return the fault of the payload let go by an answer. Without a present definition, an edit must fit that of the
    question."""
    proposal = expectation.ask.proposal if expectation.ask else None
    edited = answer.payload.get("data")
    if proposal is None or answer.decision not in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        return ""
    if answer.decision is AnswerDecision.EDIT and isinstance(edited, dict):
        schema = definition.payload_schema if definition else proposal.payload_schema
        faults = violations(schema, edited)
        return f"the edited payload is off the schema of {proposal.event_type!r}: {describe(faults)}" if faults else ""
    fault = held_fault(proposal.data, definition) if definition else ""
    return f"{fault}; edit the payload, or reject it" if fault else ""


def held_fault(data: JsonObject, definition: EventDefinition) -> str:
    """Return the fault of held data under its present definition; empty for good data."""
    faults = violations(definition.payload_schema, data)
    name = definition.event_name
    return f"the payload does not fit {name!r} as it is defined now: {describe(faults)}" if faults else ""


def say_approved(decision: str | None, payload: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the payload with a yes or no as `approved`, unless it has one, or the question's schema has no place for
    it."""
    if decision not in (AnswerDecision.APPROVE, AnswerDecision.REJECT) or "approved" in payload:
        return payload
    complete: JsonObject = {"approved": decision == AnswerDecision.APPROVE, **payload}
    return payload if violations(schema, complete) and not violations(schema, payload) else complete


def decision_meant(decision: str | None, payload: Mapping[str, object]) -> AnswerDecision:
    """Return the decision of an answer without an explicit one: a yes, a no, or words."""
    if decision is not None:
        try:
            return AnswerDecision(decision)
        except ValueError as error:
            raise LocalProtocolError(f"{decision!r} is no decision; there are {', '.join(AnswerDecision)}") from error
    match payload.get("approved"):
        case True:
            return AnswerDecision.APPROVE
        case False:
            return AnswerDecision.REJECT
        case _:
            return AnswerDecision.RESPOND
