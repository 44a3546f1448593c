"""Forks: the one place for the effects that may leave a fork, its approvals, its recorded replies, and its triggers."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.conditions import ALWAYS
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
    requests_in,
)
from soorma_ai.kernel.domain.effects import (
    AppendStep,
    Close,
    Declare,
    DropValue,
    Effect,
    EndTask,
    Expect,
    FeatureEffect,
    PlanChange,
    Postpone,
    Publish,
    SavePlan,
    SaveSubTask,
    SaveTask,
    SaveValue,
    Schedule,
    Spend,
    Unschedule,
)
from soorma_ai.kernel.domain.events import SYSTEM, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.memory import AppendMemory, DropMemory, IncrementMemory, OpenSession, StoreMemory
from soorma_ai.kernel.domain.people import NO_USER, AnswerDecision, Proposal, Role
from soorma_ai.kernel.domain.plans import Fork, PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact
from soorma_ai.kernel.rules.plans.give_up import failure_of, words_of
from soorma_ai.kernel.rules.plans.history import StepFields, append_step
from soorma_ai.kernel.rules.plans.joins import fire, join_of, tell_results
from soorma_ai.kernel.rules.plans.lifecycle import complete, fail
from soorma_ai.kernel.rules.plans.requests import waiter_of
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.waits.opening import Moment, first_opened, open_expectation
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, FORKED, WAKE_EVENTS, wake_plan

STOPPED = "fork_stopped"
NOT_FORKABLE = "not_forkable"
# Approvers where an event names none.
MANAGERS = (str(Role.OPERATOR),)
SENT = (StepKind.PUBLISHED, StepKind.DELEGATED)
SHOWN_CHARS = 300


def gate_of_fork(fork: Fork, definition: EventDefinition) -> Approval | None:
    """Return the approval for a request of a fork: always needed, and never given by silence. A dry fork asks nobody:
    its requests have recorded replies."""
    if fork.is_dry:
        return None
    own = definition.approval or Approval()
    question = own.message or f"May {definition.event_name} be published?"
    effect = "" if fork.acts else " Nothing is sent."
    message = f"Fork of plan {fork.plan_id}: {question}{effect}"
    return replace(own, when=ALWAYS, on_expiry="reject", message=message)


def refuse_to_send(plan: PlanRecord, released: Proposal) -> Failure | None:
    """Return the end of a fork with an approved request that is not sent."""
    if plan.fork is None or plan.fork.acts:
        return None
    return Failure(STOPPED, f"{released.event_type} was approved, and not sent: this fork does not act; fork with act")


def stay_in_fork(plan: PlanRecord, effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Return the effects without those that may not leave a fork; of any other plan, all."""
    if plan.fork is None:
        return (*effects,)
    found = (_stay(plan, plan.fork, effect) for effect in effects)
    return tuple(effect for effect in found if effect is not None)


def _stay(plan: PlanRecord, fork: Fork, effect: Effect) -> Effect | None:
    """Rows of the plan stay, and wake-ups of it. A wait has no keys: no event meets it, only a manager's answer. Of an
    acting fork, approved requests leave, and the word that a sent one is given up. All else is dropped: announcements
    and reminders to people, the goal's answer, memory, tasks, effects of features."""
    match effect:
        case SavePlan() | AppendStep() | Close() | Spend() | Unschedule() | Postpone() | SaveValue() | DropValue():
            return effect
        case Expect(expectation):
            return Expect(_for_managers(expectation))
        case Schedule(series=series):
            return effect if series is None else None
        case Publish(event, is_cleared):
            if event.source == SYSTEM and event.type in WAKE_EVENTS and event.type != ABANDONED:
                return effect if event.plan_id == plan.plan_id else None
            is_request = is_cleared and event.topic is EventTopic.ACTION_REQUESTS
            return effect if fork.acts and (is_request or event.type == ABANDONED) else None
        case StoreMemory() | DropMemory() | IncrementMemory() | AppendMemory() | OpenSession():
            return None
        case SaveTask() | SaveSubTask() | EndTask() | Declare() | FeatureEffect():
            return None


def _for_managers(asked: Expectation) -> Expectation:
    """Return an expectation of a fork without keys. A question is of no user, and for operators where it names no
    approvers."""
    ask = asked.ask
    if ask is None:
        return replace(asked, keys=()) if asked.keys else asked
    if not ask.approvers:
        ask = replace(ask, approvers=MANAGERS, escalate_after=None, escalate_to=())
    return replace(asked, keys=(), user_id=NO_USER, ask=ask)


class Recording(Struct, frozen=True):
    """Steps for a dry fork: the `recorded` ones of its origin behind the copied ones, and its `own`."""

    recorded: Sequence[Step]
    own: Sequence[Step]


class _Rehearsed(Struct, frozen=True):
    """Request of a dry fork with its recorded reply; None for a recorded request without one."""

    name: str
    data: JsonObject
    kind: StepKind
    reply: Step | None


def rehearse(plan: PlanRecord, judged: AcceptedDecision, mark: str, recording: Recording, moment: Moment) -> PlanChange:
    """Return the effects of a decision in a dry fork: each request has its recorded reply at once, and a request
    without one stops the fork."""
    match judged.decision.next_action:
        case CompleteAction(outcome="achieved", result=result):
            return complete(plan, result, (), moment)
        case CompleteAction() as action:
            return fail(plan, failure_of(words_of(action)), (), moment)
        case WaitAction(expected_event=name):
            return _stop(plan, f"a wait for {name}", recording, moment)
        case PublishAction() | DelegateAction() | PublishAllAction() as action:
            found = _find_replies(judged, recording)
            if isinstance(found, str):
                return _stop(plan, found, recording, moment)
            if isinstance(action, PublishAllAction):
                return _reply_together(plan, action, found, mark, moment)
            return _reply(plan, found[0], mark, moment)


def _find_replies(judged: AcceptedDecision, recording: Recording) -> list[_Rehearsed] | str:
    """Return the requests with their replies; or in words the first one that lacks it. Of several equal requests, each
    has the reply to the recorded one in the same place. A join may lack as many as it does not need."""
    found, left = list[_Rehearsed](), _recorded_requests(recording.recorded)
    for one in recording.own:
        if one.kind in SENT:
            _take(left, one.kind, one.name, one.data)
    action, spare = judged.decision.next_action, 0
    if isinstance(action, PublishAllAction) and action.need:
        spare = len(action.requests) - action.need
    for name, data, target in requests_in(judged.decision):
        kind = StepKind.DELEGATED if target else StepKind.PUBLISHED
        sent = _take(left, kind, name, data)
        reply = _reply_to(sent, recording.recorded) if sent else None
        spare -= reply is None
        if sent is None or spare < 0:
            return f"{name} with {clip(compact(data), SHOWN_CHARS)}"
        found.append(_Rehearsed(name, data, kind, reply))
    return found


class _RecordedRequest(Struct, frozen=True):
    """Request of the origin: its step, and the data of its decision before a person's edit."""

    sent: Step
    decided: Json


def _recorded_requests(recorded: Sequence[Step]) -> list[_RecordedRequest]:
    """Return the sent requests in order, each with the data of its decision."""
    held = {one.expectation_id: one for one in recorded if one.kind is StepKind.HELD}
    found, edited = list[_RecordedRequest](), list[tuple[str, Json, Json]]()
    for one in recorded:
        if one.kind is StepKind.ANSWERED and one.note.startswith(AnswerDecision.EDIT) and one.expectation_id in held:
            request = held[one.expectation_id]
            changed = one.data.get("data", request.data) if isinstance(one.data, dict) else request.data
            edited.append((request.name, changed, request.data))
        elif one.kind in SENT:
            before = next((edit for edit in edited if edit[:2] == (one.name, one.data)), None)
            if before is not None:
                edited.remove(before)
            found.append(_RecordedRequest(one, before[2] if before else one.data))
    return found


def _take(left: list[_RecordedRequest], kind: StepKind, name: str, data: Json) -> Step | None:
    """Remove the first recorded request equal to this one, as it was decided or else as it was sent."""
    same = [one for one in left if (one.sent.kind, one.sent.name) == (kind, name)]
    equal = [one for one in same if one.decided == data] or [one for one in same if one.sent.data == data]
    if not equal:
        return None
    left.remove(equal[0])
    return equal[0].sent


def _reply_to(sent: Step, recorded: Sequence[Step]) -> Step | None:
    """Return the step of a reply, in time or late."""
    kinds = (StepKind.REPLIED, StepKind.LATE)
    return next(
        (one for one in recorded if one.kind in kinds and one.expectation_id == sent.expectation_id and one.note), None
    )


def _reply(plan: PlanRecord, asked: _Rehearsed, mark: str, moment: Moment) -> PlanChange:
    request_id, spent = moment.event_id(asked.name), Spend(plan.root_plan_id, 1, plan.limits.max_actions)
    sent = append_step(
        plan, asked.kind, moment, name=asked.name, data=asked.data, expectation_id=request_id, fingerprint=mark
    )
    done = sent.then(_replied(sent.plan, asked, request_id, moment))
    return _wake(replace(done, effects=(spent, *done.effects)), moment)


def _replied(plan: PlanRecord, asked: _Rehearsed, request_id: str, moment: Moment) -> PlanChange:
    said, note = (asked.reply.data, asked.reply.note) if asked.reply else (None, "")
    return append_step(plan, StepKind.REPLIED, moment, name=asked.name, data=said, note=note, expectation_id=request_id)


def _reply_together(
    plan: PlanRecord, action: PublishAllAction, asked: Sequence[_Rehearsed], mark: str, moment: Moment
) -> PlanChange:
    """Fire a join by as many replies as it needs, in their recorded order."""
    opened = open_expectation(waiter_of(plan), join_of(action, moment), moment)
    join, request_ids = first_opened(opened), [moment.event_id(one.name) for one in asked]
    reserved = Spend(plan.root_plan_id, len(asked), plan.limits.max_actions)
    done = PlanChange(plan, (reserved, *opened))
    for place, one in enumerate(asked):
        fields = StepFields(name=one.name, data=one.data, expectation_id=request_ids[place])
        fields["fingerprint"] = None if place else mark
        done = done.then(append_step(done.plan, one.kind, moment, **fields))
    came, order = list[Step](), {place: one.reply.ordinal for place, one in enumerate(asked) if one.reply}
    for place in sorted(order, key=order.__getitem__)[: action.need or len(asked)]:
        replied = _replied(done.plan, asked[place], request_ids[place], moment)
        steps = [
            replace(one.step, join_id=join.id, place=place) for one in replied.effects if isinstance(one, AppendStep)
        ]
        came += steps
        done = done.then(PlanChange(replied.plan, tuple(map(AppendStep, steps))))
    fired, _ = fire(done.plan, join, came, (), moment)
    return _wake(done.then(fired), moment)


def _wake(done: PlanChange, moment: Moment) -> PlanChange:
    return PlanChange(done.plan, (*done.effects, Publish(wake_plan(FORKED, done.plan, moment.now))))


def _stop(plan: PlanRecord, wanted: str, recording: Recording, moment: Moment) -> PlanChange:
    """End a dry fork at its first difference."""
    done = [one for one in recording.own if one.kind in SENT]
    told = [one for one in recording.recorded if one.kind in _DECISIONS]
    then = _describe(told[len(done)]) if len(done) < len(told) else "nothing"
    reason = f"the first difference: {wanted} in the fork has no recorded reply; recorded then: {then}"
    return fail(plan, Failure(STOPPED, reason), (), moment)


_DECISIONS = (*SENT, StepKind.ASKED, StepKind.COMPLETED, StepKind.FAILED, StepKind.CANCELLED)


def _describe(step: Step) -> str:
    name = step.name or f"the plan's end ({step.kind})"
    return name if step.data is None else f"{name} with {clip(compact(step.data), SHOWN_CHARS)}"


def trigger_of_fork(plan: PlanRecord, last: Step, join: Expectation | None, came: Sequence[Step]) -> Trigger:
    """Return the trigger of a fork's next question: the recorded one, then that of its last step. `came` are the
    branches of its `join`."""
    fork, is_first = plan.fork, plan.fork is not None and plan.steps == plan.fork.last + 1
    text = fork.text if fork and is_first else last.note if last.fires else _text_of(last)
    said = fork.said if fork and is_first else ""
    join_id = join_id_of(plan, last)
    if join_id is not None:
        results: Json = [*tell_results(join, came, last)] if join else None
        return Trigger(text, results, join_id=join_id, outcome="joined", said=said)
    name = "" if last.kind is StepKind.GOAL else last.name
    return Trigger(text, _data_of(last), name=name, outcome=_outcome_of(last), said=said)


def join_id_of(plan: PlanRecord, last: Step) -> str | None:
    """Return the join that the next question tells of."""
    if plan.fork is not None and plan.steps == plan.fork.last + 1:
        return plan.fork.join_id
    return last.join_id if last.fires else None


def _text_of(step: Step) -> str:
    return f"{step.name} {'was answered' if step.note == 'ok' else 'failed'}."


def _data_of(step: Step) -> Json:
    """Return the data of a step as its trigger had them: a goal and a missed reply bring none."""
    return step.data if step.kind in (StepKind.REPLIED, StepKind.RECEIVED, StepKind.ANSWERED) else None


def _outcome_of(step: Step) -> str:
    match step.kind:
        case StepKind.REPLIED:
            return step.note
        case StepKind.RECEIVED:
            return "came"
        case StepKind.ANSWERED:
            return step.note.partition(":")[0].partition(" ")[0]
        case StepKind.EXPIRED:
            return "expired"
        case _:
            return ""
