"""Gates: a request in need of an approval waits as a question with exactly its payload.

A plan decides itself about its held request. Any other requester continues at the reply: the answer publishes the
request, or informs about its rejection.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.conditions import applies
from soorma_ai.kernel.domain.effects import Effect, Expect, Publish, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.people import AnswerDecision, Ask, Proposal
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject, derived_id, digest
from soorma_ai.kernel.rules.waits.opening import (
    ExpectationSpec,
    Moment,
    Waiter,
    earliest,
    first_opened,
    open_expectation,
)
from soorma_ai.kernel.rules.waits.sentences import fill_sentence

APPROVAL_ANSWER: JsonObject = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["approved"],
}


def approval_for(definition: EventDefinition, data: JsonObject, context: JsonObject | None) -> Approval | None:
    """Return the approval without which this request is not published. `context` is the data of the goal that it is
    asked for; where it is for none, a condition over that asks a person."""
    approval = definition.approval
    return approval if approval and applies(approval.when, data, context) else None


def question_about(proposal: Proposal, approval: Approval) -> Ask:
    return Ask(
        reason="confirmation",
        message=fill_sentence(approval.message, proposal.data) or f"May {proposal.event_type} be published?",
        response_schema=approval.response_schema or APPROVAL_ANSWER,
        allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.EDIT, AnswerDecision.REJECT),
        approvers=approval.approvers,
        on_expiry=AnswerDecision(approval.on_expiry),
        proposal=proposal,
        reminders=approval.reminders,
        escalate_after=approval.escalate_after,
        escalate_to=approval.escalate_to,
    )


def gate_id(request_id: str) -> str:
    """The gate of a request that no plan holds: asked again, it is the same."""
    return derived_id("gate", request_id)


def hold(
    request: EventEnvelope, definition: EventDefinition, approval: Approval, waiter: Waiter, moment: Moment
) -> tuple[Effect, ...]:
    """Ask people about a request instead of publishing it. The first of the effects opens the gate."""
    proposal = Proposal(
        event_type=request.type,
        data=request.data,
        digest=digest(request.data),
        payload_schema=definition.payload_schema,
        target=request.target,
        request=request,
    )
    spec = ExpectationSpec(
        gate_id(request.id),
        ExpectationKind.GATE,
        request.type,
        topic=EventTopic.NOTIFICATION_EVENTS,
        timeout=approval.timeout,
        ask=question_about(proposal, approval),
    )
    return open_expectation(waiter, spec, moment)


def hold_recorded(
    recorded: Sequence[Effect],
    request: EventEnvelope,
    definition: EventDefinition,
    approval: Approval,
    waiter: Waiter,
    moment: Moment,
) -> tuple[Effect, ...]:
    """Return the effects with this request held. The time for its reply begins when the gate's is over."""
    held = hold(request, definition, approval, waiter, moment)
    until = first_opened(held).deadline or moment.now
    return tuple(_put_off(recorded, request, held, until - moment.now, waiter.deadline))


def _put_off(
    recorded: Iterable[Effect],
    request: EventEnvelope,
    held: tuple[Effect, ...],
    span: timedelta,
    at_most: datetime | None,
) -> Iterable[Effect]:
    for effect in recorded:
        match effect:
            case Publish(event) if event.id == request.id:
                yield from held
            case Expect(reply) if reply.id == request.id and reply.deadline:
                yield Expect(replace(reply, deadline=earliest(at_most, reply.deadline + span)))
            case Schedule(guards=guards, due=due) if guards == request.id:
                later = earliest(at_most, due + span) or due
                yield replace(effect, due=later, event=effect.event.model_copy(update={"time": later}))
            case _:
                yield effect
