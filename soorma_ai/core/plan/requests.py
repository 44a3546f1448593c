"""What a plan asks of others: requests to agents, goals for planners, questions to people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from soorma_ai.core.expecting.keys import keys_of_wait
from soorma_ai.core.expecting.opening import Moment, announcement, deadline_timer, earlier
from soorma_ai.core.expecting.reminders import ladder
from soorma_ai.core.plan.outcome import Outcome, step
from soorma_ai.core.plan.status import moved
from soorma_ai.domain.decisions import DelegateAction, PublishAction, WaitAction
from soorma_ai.domain.effects import Expect, Publish, Spend
from soorma_ai.domain.events import EventTopic, ReplyAddress, completion_of, new_event
from soorma_ai.domain.expectations import Expectation, ExpectationKind
from soorma_ai.domain.history import StepKind
from soorma_ai.domain.people import AnswerDecision, Ask, Proposal
from soorma_ai.domain.plans import PlanRecord, PlanStatus
from soorma_ai.domain.registry import Approval, EventDefinition
from soorma_ai.domain.replies import ExpectedReply
from soorma_ai.domain.schemas import ANY_OBJECT
from soorma_ai.domain.values import Json, JsonObject, derived_id, digest

APPROVAL_ANSWER: JsonObject = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["approved"],
}


def request(
    plan: PlanRecord,
    action: PublishAction,
    definition: EventDefinition | None,
    moment: Moment,
    *,
    mark: str | None = None,
    reply: ExpectedReply | None = None,
) -> Outcome:
    """Publish to whoever takes the event, and expect a reply."""
    type = action.event_type
    reply = reply or ExpectedReply(completion_of(type))
    return _asked_of_an_agent(
        plan, type, action.data, moment, kind=ExpectationKind.REPLY, reply=reply, definition=definition, mark=mark
    )


def delegate(
    plan: PlanRecord,
    action: DelegateAction,
    definition: EventDefinition | None,
    moment: Moment,
    *,
    mark: str | None = None,
    reply: ExpectedReply | None = None,
) -> Outcome:
    """A goal for another planner. Its plan draws on the budget of this one's root."""
    return _asked_of_an_agent(
        plan,
        action.goal_event,
        action.goal_data,
        moment,
        kind=ExpectationKind.CHILD,
        reply=reply or ExpectedReply(completion_of(action.goal_event)),
        definition=definition,
        mark=mark,
        target=action.target_planner,
    )


def _asked_of_an_agent(
    plan: PlanRecord,
    type: str,
    data: JsonObject,
    moment: Moment,
    *,
    kind: ExpectationKind,
    reply: ExpectedReply,
    definition: EventDefinition | None,
    mark: str | None,
    target: str | None = None,
) -> Outcome:
    event_id = moment.event_id(type)
    event = new_event(
        plan.lineage,
        event_id=event_id,
        source=moment.agent,
        topic=EventTopic.ACTION_REQUESTS,
        type=type,
        data=data,
        time=moment.now,
        causation_id=moment.cause.id,
        reply_to=ReplyAddress(event_id, reply.event_type),
        dataschema=definition.dataschema if definition else None,
        target=target,
    )
    expectation = replace(
        expecting(
            plan, event_id, kind, reply.event_type, moment, subject=type, deadline=_until(plan, reply.timeout, moment)
        ),
        others=reply.others,
    )
    step_kind = StepKind.PUBLISHED if kind is ExpectationKind.REPLY else StepKind.DELEGATED
    stepped = step(plan, step_kind, moment, name=type, data=data, event_id=event_id, expectation_id=event_id, mark=mark)
    spend = Spend(plan.root_plan_id, 1, plan.limits.max_actions)
    effects = (spend, Publish(event), Expect(expectation), *deadline_timer(plan, expectation))
    return Outcome(moved(stepped.plan, PlanStatus.RUNNING, moment.now), stepped.effects + effects)


def hold(
    plan: PlanRecord,
    action: PublishAction | DelegateAction,
    definition: EventDefinition | None,
    approval: Approval,
    moment: Moment,
    *,
    mark: str | None = None,
    reply: ExpectedReply | None = None,
) -> Outcome:
    """The publish becomes a question to a person, bound to exactly this payload."""
    match action:
        case PublishAction(event_type=name, data=data):
            target = None
        case DelegateAction(goal_event=name, goal_data=data, target_planner=target):
            pass
    proposal = Proposal(
        event_type=name,
        data=data,
        digest=digest(data),
        payload_schema=definition.payload_schema if definition else ANY_OBJECT,
        reply=reply,
        target=target,
    )
    ask = Ask(
        reason="confirmation",
        message=approval.message or f"May {name} be published?",
        response_schema=approval.response_schema or APPROVAL_ANSWER,
        allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.EDIT, AnswerDecision.REJECT),
        approvers=approval.approvers,
        on_expiry=AnswerDecision(approval.on_expiry),
        proposal=proposal,
        reminders=approval.reminders,
        escalate_after=approval.escalate_after,
        escalate_to=approval.escalate_to,
    )
    opened = _question(plan, ExpectationKind.GATE, name, ask, approval.timeout, moment)
    return _asking(plan, opened, StepKind.HELD, name, data, moment, mark=mark)


def wait(
    plan: PlanRecord,
    action: WaitAction,
    definition: EventDefinition | None,
    moment: Moment,
    *,
    producers: tuple[str, ...] = (),
    mark: str | None = None,
) -> Outcome:
    """Answered by a person, or by the event itself from one of its producers."""
    ask = Ask(
        reason=action.reason or "input_required",
        message=action.message or action.reason,
        response_schema=definition.payload_schema if definition else ANY_OBJECT,
        allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.REJECT, AnswerDecision.RESPOND),
        approvers=action.approvers,
        reminders=action.reminders,
        escalate_after=action.escalate_after,
        escalate_to=action.escalate_to,
    )
    timeout = timedelta(seconds=action.timeout_seconds) if action.timeout_seconds else None
    opened = _question(plan, ExpectationKind.WAIT, action.expected_event, ask, timeout, moment)
    if definition:
        keys = keys_of_wait(plan, opened.id, definition)
        opened = replace(opened, keys=keys, event_topic=definition.topic, producers=producers)
    return _asking(plan, opened, StepKind.ASKED, action.expected_event, ask.message, moment, mark=mark)


@dataclass(frozen=True)
class Question:
    """What people, or an event from outside, are to tell a plan. `about` is announced with it."""

    reply: ExpectedReply
    reason: str
    message: str
    definition: EventDefinition
    producers: tuple[str, ...] = ()
    about: JsonObject | None = None


def ask(plan: PlanRecord, question: Question, moment: Moment, *, mark: str | None = None) -> Outcome:
    """As `wait`, and also found by the plan's id or its goal's reply key as the reply key of the event."""
    asked = Ask(
        reason=question.reason,
        message=question.message,
        response_schema=question.definition.payload_schema,
        allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.REJECT, AnswerDecision.RESPOND),
    )
    name = question.reply.event_type
    opened = _question(plan, ExpectationKind.WAIT, name, asked, question.reply.timeout, moment)
    known_as = [plan.plan_id, *([plan.answer_key] if plan.answer_key else [])]
    opened = replace(
        opened,
        keys=(*keys_of_wait(plan, opened.id, question.definition), *(f"reply:{key}" for key in known_as)),
        producers=question.producers,
        others=question.reply.others,
    )
    return _asking(plan, opened, StepKind.ASKED, name, question.message, moment, mark=mark, about=question.about)


def park(plan: PlanRecord, moment: Moment, *event_types: str) -> Outcome:
    """Nobody offers anything, or any of these events: the plan sleeps until the registry changes, or its deadline."""
    event_type, *others = event_types or ("",)
    wait_id = derived_id("offer", moment.cause.id, moment.agent, str(next(moment.ordinals)))
    expectation = expecting(
        plan, wait_id, ExpectationKind.OFFER, event_type, moment, subject="a live agent", topic=EventTopic.PLAN_EVENTS
    )
    names = " or ".join(map(repr, event_types))
    wanted = f"no agent takes {names}" if names else "no live agent offers any event"
    stepped = step(plan, StepKind.PARKED, moment, name=event_type, note=wanted)
    return Outcome(
        moved(moved(stepped.plan, PlanStatus.RUNNING, moment.now), PlanStatus.PAUSED, moment.now),
        (*stepped.effects, Expect(replace(expectation, others=tuple(others)))),
    )


def unfinished(open_now: Sequence[Expectation]) -> tuple[list[str], list[str]]:
    """(asked of agents with no answer yet, held back and never published)"""
    unknown = [e.subject for e in open_now if e.kind in (ExpectationKind.REPLY, ExpectationKind.CHILD)]
    held = [e.subject for e in open_now if e.kind is ExpectationKind.GATE]
    return unknown, held


def _question(
    plan: PlanRecord, kind: ExpectationKind, event_type: str, ask: Ask, timeout: timedelta | None, moment: Moment
) -> Expectation:
    wait_id = derived_id("wait", moment.cause.id, moment.agent, str(next(moment.ordinals)))
    return expecting(
        plan,
        wait_id,
        kind,
        event_type,
        moment,
        subject=event_type,
        topic=EventTopic.NOTIFICATION_EVENTS,
        ask=ask,
        deadline=_until(plan, timeout, moment),
    )


def _asking(
    plan: PlanRecord,
    opened: Expectation,
    kind: StepKind,
    name: str,
    data: Json,
    moment: Moment,
    *,
    mark: str | None = None,
    about: JsonObject | None = None,
) -> Outcome:
    stepped = step(plan, kind, moment, name=name, data=data, expectation_id=opened.id, mark=mark)
    told = announcement(plan.lineage, opened, moment, about=about)
    timers = (*deadline_timer(plan, opened), *ladder(opened, told))
    paused = moved(moved(stepped.plan, PlanStatus.RUNNING, moment.now), PlanStatus.PAUSED, moment.now)
    return Outcome(paused, (*stepped.effects, Expect(opened), Publish(told), *timers))


def expecting(
    plan: PlanRecord,
    id: str,
    kind: ExpectationKind,
    event_type: str,
    moment: Moment,
    *,
    subject: str,
    topic: EventTopic = EventTopic.ACTION_RESULTS,
    ask: Ask | None = None,
    deadline: datetime | None = None,
) -> Expectation:
    return Expectation(
        id=id,
        kind=kind,
        agent=plan.agent,
        tenant_id=plan.lineage.tenant_id,
        plan_id=plan.plan_id,
        root_plan_id=plan.root_plan_id,
        event_type=event_type,
        event_topic=topic,
        opened_at=moment.now,
        deadline=deadline or plan.deadline,
        subject=subject,
        ask=ask,
    )


def _until(plan: PlanRecord, timeout: timedelta | None, moment: Moment) -> datetime | None:
    return earlier(plan.deadline, moment.now + timeout if timeout else None)
