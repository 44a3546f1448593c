"""Questions of a plan to others: requests to agents, goals for planners, questions to people."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.effects import PlanChange, Publish, Spend
from soorma_ai.kernel.domain.events import CLIENT, EventTopic, ReplyAddress, completion_of
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.people import AnswerDecision, Ask, Proposal
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.replies import ExpectedReply
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import Json, JsonObject, digest
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.waits.gates import question_about
from soorma_ai.kernel.rules.waits.opening import ExpectationSpec, Moment, Waiter, keys_of_wait, open_expectation

_ANSWERS_OF_A_WAIT = (AnswerDecision.APPROVE, AnswerDecision.REJECT, AnswerDecision.RESPOND)


def waiter_of(plan: PlanRecord) -> Waiter:
    return Waiter(plan.agent, plan.lineage, plan.deadline, plan_id=plan.plan_id)


class PlanRequest(Struct, frozen=True):
    """Question to an agent, or to the planner `target`. Its answer is `reply`."""

    event_type: str
    data: JsonObject
    reply: ExpectedReply
    definition: EventDefinition | None
    target: str | None = None


def publish_or_hold(
    plan: PlanRecord,
    judged: AcceptedDecision,
    moment: Moment,
    *,
    fingerprint: str | None = None,
    reply: ExpectedReply | None = None,
) -> PlanChange:
    """Publish a request or a goal and expect its answer; where a person must approve it, ask them first.

    Raises LocalProtocolError for a decision that is neither.
    """
    request = _request_of(judged, reply)
    if judged.approval:
        return _hold(plan, request, judged.approval, reply, moment, fingerprint)
    return _publish(plan, request, moment, fingerprint)


def _request_of(judged: AcceptedDecision, reply: ExpectedReply | None) -> PlanRequest:
    match judged.decision.next_action:
        case PublishAction(event_type=name, data=data):
            target = None
        case DelegateAction(goal_event=name, goal_data=data, target_planner=target):
            pass
        case (PublishAllAction() | WaitAction() | CompleteAction()) as other:
            raise LocalProtocolError(f"a request or a goal is asked of an agent, and {other.action!r} is neither")
    return PlanRequest(name, data, reply or ExpectedReply(completion_of(name)), judged.definition, target)


def decision_of(event_type: str, data: JsonObject, target: str | None) -> PlannerDecision:
    """The decision to publish this request; with a `target`, to delegate this goal to that planner."""
    if target is None:
        return PlannerDecision(next_action=PublishAction(event_type=event_type, data=data))
    return PlannerDecision(next_action=DelegateAction(target_planner=target, goal_event=event_type, goal_data=data))


def _publish(plan: PlanRecord, request: PlanRequest, moment: Moment, fingerprint: str | None) -> PlanChange:
    """A child's plan draws on the budget of this one's root."""
    event_id = moment.event_id(request.event_type)
    event = moment.event(
        plan.lineage,
        EventTopic.ACTION_REQUESTS,
        request.event_type,
        request.data,
        event_id=event_id,
        reply_to=ReplyAddress(event_id, request.reply.event_type),
        dataschema=request.definition.dataschema if request.definition else None,
        target=request.target,
    )
    spec = ExpectationSpec(
        event_id,
        ExpectationKind.CHILD if request.target else ExpectationKind.REPLY,
        request.reply.event_type,
        subject=request.event_type,
        timeout=request.reply.timeout,
        others=request.reply.others,
        dataschema=event.dataschema,
    )
    stepped = append_step(
        plan,
        StepKind.DELEGATED if request.target else StepKind.PUBLISHED,
        moment,
        name=request.event_type,
        data=request.data,
        event_id=event_id,
        expectation_id=event_id,
        fingerprint=fingerprint,
    )
    spend = Spend(plan.root_plan_id, 1, plan.limits.max_actions)
    opened = open_expectation(waiter_of(plan), spec, moment)
    going = move(stepped.plan, StatusTrigger.GO, moment.now)
    return PlanChange(going, (*stepped.effects, spend, Publish(event, is_cleared=True), *opened))


def _hold(
    plan: PlanRecord,
    request: PlanRequest,
    approval: Approval,
    reply: ExpectedReply | None,
    moment: Moment,
    fingerprint: str | None,
) -> PlanChange:
    """The publish becomes a question to a person, bound to exactly this payload."""
    name, data = request.event_type, request.data
    proposal = Proposal(
        event_type=name,
        data=data,
        digest=digest(data),
        payload_schema=request.definition.payload_schema if request.definition else ANY_OBJECT,
        reply=reply,
        target=request.target,
    )
    gate = ExpectationSpec(
        moment.expectation_id("wait"),
        ExpectationKind.GATE,
        name,
        topic=EventTopic.NOTIFICATION_EVENTS,
        timeout=approval.timeout,
        ask=question_about(proposal, approval),
    )
    return ask_people(plan, gate, data, moment, fingerprint=fingerprint)


def wait(
    plan: PlanRecord, judged: AcceptedDecision, action: WaitAction, moment: Moment, fingerprint: str
) -> PlanChange:
    """A model's WAIT: answered by a person, or by the event itself from one of its producers."""
    definition = judged.definition
    ask = Ask(
        reason=action.reason or "input_required",
        message=action.message or action.reason,
        response_schema=definition.payload_schema if definition else ANY_OBJECT,
        allowed_decisions=_ANSWERS_OF_A_WAIT,
        approvers=action.approvers,
        reminders=action.reminders,
        escalate_after=action.escalate_after,
        escalate_to=action.escalate_to,
    )
    wait_id = moment.expectation_id("wait")
    spec = ExpectationSpec(
        wait_id,
        ExpectationKind.WAIT,
        action.expected_event,
        topic=definition.topic if definition else EventTopic.NOTIFICATION_EVENTS,
        timeout=timedelta(seconds=action.timeout_seconds) if action.timeout_seconds else None,
        keys=(*keys_of_wait(plan, wait_id, definition), f"reply:{plan.plan_id}") if definition else (),
        producers=judged.producers if definition else (),
        ask=ask,
    )
    return ask_people(plan, spec, ask.message, moment, fingerprint=fingerprint)


class PlanQuestion(Struct, frozen=True):
    """Question to people, or wait for an outside event. `schema` applies without a registered event; `about` is
    announced with it; `from_clients`: a producer of the event cannot answer. `reminders` come after these spans.
    `by_answer`: only a person's answer counts, of these `approvers` if there are any, and no event; `on_expiry` is the
    meaning of their silence."""

    reply: ExpectedReply
    reason: str
    message: str
    schema: JsonObject | None = None
    about: JsonObject | None = None
    from_clients: bool = False
    by_answer: bool = False
    approvers: tuple[str, ...] = ()
    on_expiry: AnswerDecision = AnswerDecision.REJECT
    reminders: tuple[timedelta, ...] = ()


def ask(
    plan: PlanRecord,
    question: PlanQuestion,
    known: Sequence[RegisteredEvent],
    moment: Moment,
    *,
    fingerprint: str | None = None,
) -> PlanChange:
    """Ask as `wait` does; the answer may also carry the plan's id, or its goal's reply key, as its reply key."""
    names = (question.reply.event_type, *question.reply.others)
    made = [e for e in known if e.role in (EventRole.MAKES, EventRole.AWAITS) and e.definition.event_name in names]
    definition = next((e.definition for e in made if e.definition.event_name == names[0]), None)
    definition = definition or EventDefinition(
        event_name=names[0], topic=EventTopic.NOTIFICATION_EVENTS, payload_schema=question.schema or ANY_OBJECT
    )
    makers = () if question.from_clients else (e.agent for e in made if e.role is EventRole.MAKES)
    known_as = [plan.plan_id, *([plan.answer_key] if plan.answer_key else [])]
    wait_id = moment.expectation_id("wait")
    keys = (*keys_of_wait(plan, wait_id, definition), *(f"reply:{key}" for key in known_as))
    asked = Ask(
        question.reason,
        question.message,
        definition.payload_schema,
        _ANSWERS_OF_A_WAIT,
        question.approvers,
        question.on_expiry,
        reminders=question.reminders,
    )
    spec = ExpectationSpec(
        wait_id,
        ExpectationKind.WAIT,
        question.reply.event_type,
        topic=EventTopic.NOTIFICATION_EVENTS,
        timeout=question.reply.timeout,
        others=question.reply.others,
        keys=() if question.by_answer else keys,
        producers=(CLIENT, *makers),
        ask=asked,
    )
    return ask_people(plan, spec, question.message, moment, fingerprint=fingerprint, about=question.about)


def park(plan: PlanRecord, moment: Moment, *event_types: str) -> PlanChange:
    """Let the plan sleep without an offer, or without an offer of these events, until a change of the registry, or its
    deadline."""
    event_type, *others = event_types or ("",)
    spec = ExpectationSpec(
        moment.expectation_id("offer"),
        ExpectationKind.OFFER,
        event_type,
        topic=EventTopic.PLAN_EVENTS,
        subject="a live agent",
        others=tuple(others),
    )
    names = " or ".join(map(repr, event_types))
    wanted = f"no agent takes {names}" if names else "no live agent offers any event"
    return _rest_on(spec, append_step(plan, StepKind.PARKED, moment, name=event_type, note=wanted), moment)


def ask_people(
    plan: PlanRecord,
    spec: ExpectationSpec,
    data: Json,
    moment: Moment,
    *,
    fingerprint: str | None,
    about: JsonObject | None = None,
) -> PlanChange:
    """Let the plan rest on a question to people."""
    kind = StepKind.HELD if spec.kind is ExpectationKind.GATE else StepKind.ASKED
    stepped = append_step(
        plan, kind, moment, name=spec.event_type, data=data, expectation_id=spec.id, fingerprint=fingerprint
    )
    return _rest_on(spec, stepped, moment, about)


def _rest_on(spec: ExpectationSpec, stepped: PlanChange, moment: Moment, about: JsonObject | None = None) -> PlanChange:
    resting = move(stepped.plan, StatusTrigger.REST, moment.now)
    return PlanChange(resting, (*stepped.effects, *open_expectation(waiter_of(resting), spec, moment, about=about)))
