"""The meaning for its plan of an event that closed an expectation: a line of history, and whether to decide."""

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.decisions import rejection_of
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask, Proposal
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import content_of
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.kernel.domain.values import Json, JsonObject, compact, digest
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.pausing import start_clock
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.waits.opening import Moment


class Trigger(Struct, frozen=True, dict=True):
    """Description of the last event, without ids: a `text` of ours, the `name` of the event in it, its `outcome` in
    one word, and the words that a person `said`. `released` is a held request that a person let go: then there is
    nothing to decide, and no model is called. `join_id` is not told: it is the join with its results in the data, so
    that the history need not tell them again. `place` is not told either: it makes the same in another place news."""

    text: str = ""
    data: Json = None
    released: Proposal | None = None
    join_id: str | None = None
    place: str = ""
    name: str = ""
    outcome: str = ""
    said: str = ""

    @cached_property
    def facts(self) -> str:
        """Return the known facts of a decision, for the repeat limit."""
        return self.place + self.text + self.said + compact(self.data)


def receive(plan: PlanRecord, met: Expectation, event: EventEnvelope, moment: Moment) -> tuple[PlanChange, Trigger]:
    is_resumed = met.kind is ExpectationKind.WAIT and met.event_type == RESUMED
    clock = start_clock(plan, met.closed_at or moment.now) if is_resumed else PlanChange(plan)
    running = move(clock.plan, StatusTrigger.GO, moment.now)
    outcome, trigger = _receive(running, met, event, moment)
    return clock.then(outcome), trigger


def _receive(running: PlanRecord, met: Expectation, event: EventEnvelope, moment: Moment) -> tuple[PlanChange, Trigger]:
    match met.kind:
        case ExpectationKind.DOUBT | ExpectationKind.JOIN:
            raise LocalProtocolError(f"{met.kind} {met.id} of {met.agent} is nothing that a plan is told of by itself")
        case ExpectationKind.OFFER:
            outcome = append_step(running, StepKind.RESUMED, moment, note="the registry changed")
            return outcome, Trigger("The agents that can be asked have changed.")
        case _ if met.status is ExpectationStatus.EXPIRED:
            return _miss(running, met, moment)
        case ExpectationKind.REPLY | ExpectationKind.CHILD | ExpectationKind.CLIENT:
            return _take_reply(running, met, event, moment)
        case ExpectationKind.WAIT:
            return _take_event(running, met, event, moment)
        case ExpectationKind.GATE:
            return _take_verdict(running, met, moment)


def _take_reply(plan: PlanRecord, met: Expectation, event: EventEnvelope, moment: Moment) -> tuple[PlanChange, Trigger]:
    data = event.data
    worked = data.get("success") is not False
    said = content_of(data)
    note = "ok" if worked else "failed"
    outcome = append_step(plan, StepKind.REPLIED, moment, name=met.subject, data=said, note=note, expectation_id=met.id)
    text = f"{met.subject} {'was answered' if worked else 'failed'}."
    return outcome, Trigger(text, said, name=met.subject, outcome=note)


def _take_event(plan: PlanRecord, met: Expectation, event: EventEnvelope, moment: Moment) -> tuple[PlanChange, Trigger]:
    answer = met.answer
    if answer is None:
        outcome = append_step(plan, StepKind.RECEIVED, moment, name=event.type, data=event.data, expectation_id=met.id)
        return outcome, Trigger(f"{event.type} came.", event.data, name=event.type, outcome="came")
    outcome = _append_answer(plan, met, answer, moment)
    text = f"A person answered ({answer.decision}) for {met.event_type}."
    return outcome, Trigger(text, answer.payload, name=met.event_type, outcome=answer.decision, said=answer.note)


def _take_verdict(plan: PlanRecord, met: Expectation, moment: Moment) -> tuple[PlanChange, Trigger]:
    answer = met.answer
    if answer is None:
        raise LocalProtocolError(f"gate {met.id} is closed without a person's answer; only answer() opens a gate")
    proposal, name = _proposal(met), met.event_type
    refuses = answer.decision in (AnswerDecision.REJECT, AnswerDecision.RESPOND)
    mark = rejection_of(proposal.event_type, proposal.data, proposal.target) if refuses else None
    outcome = _append_answer(plan, met, answer, moment, mark)
    match answer.decision:
        case AnswerDecision.APPROVE:
            return outcome, Trigger(f"{name} was approved.", answer.payload, released=_intact(proposal))
        case AnswerDecision.EDIT:
            edited = answer.payload.get("data")
            data: JsonObject = edited if isinstance(edited, dict) else proposal.data
            changed = replace(proposal, data=data, digest=digest(data))
            return outcome, Trigger(f"{name} was changed and approved.", answer.payload, released=changed)
        case AnswerDecision.REJECT | AnswerDecision.RESPOND:
            text = f"A person rejected {name}; it was not published."
            return outcome, Trigger(text, answer.payload, name=name, outcome=answer.decision, said=answer.note)


def _miss(plan: PlanRecord, met: Expectation, moment: Moment) -> tuple[PlanChange, Trigger]:
    subject, released = met.event_type, None
    match met.kind:
        case ExpectationKind.GATE:
            approve = met.ask is not None and met.ask.on_expiry is AnswerDecision.APPROVE
            verdict = "a yes" if approve else "a no"
            text = f"Nobody decided about {subject} in time; by default that is {verdict}."
            released = _intact(_proposal(met)) if approve else None
        case ExpectationKind.WAIT:
            text = f"The wait for {subject} ended without an answer."
        case _:
            subject = met.subject
            text = f"No answer to {subject} came in time."
    outcome = append_step(plan, StepKind.EXPIRED, moment, name=subject, note=text, expectation_id=met.id)
    return outcome, Trigger(text, released=released, name=subject, outcome="expired")


def _append_answer(
    plan: PlanRecord, met: Expectation, answer: Answer, moment: Moment, mark: str | None = None
) -> PlanChange:
    who = f" ({answer.by})" if answer.for_user else ""
    note = f"{answer.decision}{who}: {answer.note}" if answer.note else f"{answer.decision}{who}"
    name = met.event_type
    return append_step(
        plan,
        StepKind.ANSWERED,
        moment,
        name=name,
        data=answer.payload,
        note=note,
        expectation_id=met.id,
        fingerprint=mark,
    )


def _proposal(met: Expectation) -> Proposal:
    ask: Ask | None = met.ask
    if ask is None or ask.proposal is None:
        raise LocalProtocolError(f"gate {met.id} holds no request; its record is damaged")
    return ask.proposal


def _intact(proposal: Proposal) -> Proposal:
    if digest(proposal.data) != proposal.digest:
        raise LocalProtocolError(f"the payload held for {proposal.event_type} is not the one that was approved")
    return proposal
