"""Fan-out and fan-in: several requests published together, and the one moment of the plan's next decision.

A branch is counted by its step, with the join's name: handled branches count, in the order of handling. The join fires
once, by the branch with the full count or by its deadline, and leaves a step of its own. A branch after that step is
late.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.decisions import AcceptedDecision, PublishAllAction
from soorma_ai.kernel.domain.effects import AppendStep, Close, Effect, Expect, PlanChange, Publish, Spend
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, completion_of
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Join
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import ExpectedReply
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.requests import publish_or_hold, waiter_of
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.plans.triggers import Trigger, receive
from soorma_ai.kernel.rules.waits.opening import ExpectationSpec, Moment, open_expectation
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, wake_for

_WITHDRAWN = "withdrawn"
_GIVEN_UP = "given up"


def publish_together(
    plan: PlanRecord,
    action: PublishAllAction,
    judged: AcceptedDecision,
    moment: Moment,
    mark: str,
    reply_timeout: timedelta | None = None,
) -> PlanChange:
    """Publish a join's requests. All actions are reserved first, those of held requests too: one that is rejected stays
    spent. Where the join has no time of its own, each request has `reply_timeout` from when it is published."""
    timeout = None if action.timeout_seconds else reply_timeout
    join = join_of(action, moment)
    reserved = Spend(plan.root_plan_id, len(action.requests), plan.limits.max_actions)
    outcome = PlanChange(plan, (reserved, *open_expectation(waiter_of(plan), join, moment)))
    for place, part in enumerate(judged.parts):
        # The decision is counted once, however many requests it has.
        fingerprint = mark if place == 0 else None
        reply = ExpectedReply(completion_of(action.requests[place].event_type), timeout=timeout)
        asked = publish_or_hold(outcome.plan, part, moment, fingerprint=fingerprint, reply=reply)
        outcome = outcome.then(as_branch(asked, join.id, place))
    if all(part.approval for part in judged.parts):
        return outcome
    return replace(outcome, plan=move(outcome.plan, StatusTrigger.GO, moment.now))


def as_branch(asked: PlanChange, join_id: str, place: int) -> PlanChange:
    """Make a request the branch number `place` of a join; its actions are reserved already."""
    effects = tuple(
        Expect(replace(effect.expectation, branch_of=join_id, place=place)) if isinstance(effect, Expect) else effect
        for effect in asked.effects
        if not isinstance(effect, Spend)
    )
    return PlanChange(asked.plan, effects)


def receive_branch(
    plan: PlanRecord, met: Expectation, event: EventEnvelope, moment: Moment, *, fired: Step | None
) -> tuple[PlanChange, Trigger]:
    """A step of the history and no more; a branch that a person let go has not come yet, it is on its way. The plan is
    woken by nothing of it, so its status stays. `fired` is the step at which the plan decided again, if it has."""
    received, trigger = receive(plan, met, event, moment)
    if fired is not None and met.place in _withdrawn_at(fired):
        # Let go while the plan was deciding, and told that it never would be: a second one may be on its way by now.
        trigger = replace(trigger, released=None)
    appended = [effect.step for effect in received.effects if isinstance(effect, AppendStep)]
    steps = tuple(AppendStep(_mark(step, met, trigger, fired is not None)) for step in appended)
    return PlanChange(replace(plan, steps=received.plan.steps, updated_at=moment.now), steps), trigger


def branches_left_behind(
    join_id: str, open_now: Iterable[Expectation], in_tree: Iterable[Expectation]
) -> frozenset[str]:
    """Return the branches that a join leaves behind while a person is asked for their sake: by the worker that has one
    in hand, or by one that this asked."""
    tasks, asking = dict[str, str](), list[str]()
    for one in in_tree:
        if one.task_id is not None and one.kind in (ExpectationKind.WAIT, ExpectationKind.GATE):
            asking.append(one.task_id)
        elif one.task_id is not None:
            tasks[one.id] = one.task_id
    vain: set[str] = set()
    for task in asking:
        above: str | None = task
        while above is not None and above not in vain:
            vain.add(above)
            above = tasks.get(above)
    return frozenset(
        one.id for one in open_now if one.branch_of == join_id and one.kind is ExpectationKind.REPLY and one.id in vain
    )


def fire(
    plan: PlanRecord,
    join: Expectation,
    came: Sequence[Step],
    open_now: Sequence[Expectation],
    moment: Moment,
    vain: Collection[str] = (),
) -> tuple[PlanChange, Trigger]:
    """Fire the join. `came` are the steps of the branches in time. Held branches are withdrawn, and so are the branches
    `vain`."""
    asked = _what_was_asked(join)
    given_up = [e for e in open_now if e.id in vain]
    withdrawn = [e for e in open_now if e.branch_of == join.id and e.kind is ExpectationKind.GATE]
    overdue = join.status is ExpectationStatus.EXPIRED
    text = _describe(len(came), asked.need, len(asked.asked))
    kind = StepKind.EXPIRED if overdue else StepKind.JOINED
    name = join.subject if overdue else ""
    running = move(plan, StatusTrigger.GO, moment.now)
    left = ((_WITHDRAWN, withdrawn), (_GIVEN_UP, given_up))
    places: JsonObject = {name: [e.place for e in found] for name, found in left if found}
    data = places or None
    stepped = append_step(
        running, kind, moment, name=name, data=data, note=text, expectation_id=join.id, join_id=join.id, fires=True
    )
    closed: list[Effect] = [Close(e.id, ExpectationStatus.CLOSED, moment.now) for e in (*withdrawn, *given_up)]
    closed += [Publish(wake_for(ABANDONED, e, moment.now)) for e in given_up]
    if not overdue:
        closed.append(Close(join.id, ExpectationStatus.MET, moment.now))
    results = _results(asked, came, {e.place for e in withdrawn}, {e.place for e in given_up})
    return PlanChange(stepped.plan, (*stepped.effects, *closed)), Trigger(
        text, [*results], join_id=join.id, outcome="joined"
    )


def tell_results(join: Expectation, came: Sequence[Step], fired: Step) -> Sequence[JsonObject]:
    """Return the results shown to the plan when the join `fired`."""
    withdrawn, given_up = (
        {place for place in _withdrawn_at(fired, name) if isinstance(place, int)} for name in (_WITHDRAWN, _GIVEN_UP)
    )
    return _results(_what_was_asked(join), came, withdrawn, given_up)


def _withdrawn_at(fired: Step, name: str = _WITHDRAWN) -> Sequence[Json]:
    places = fired.data.get(name) if isinstance(fired.data, dict) else None
    return places if isinstance(places, list) else ()


def join_of(action: PublishAllAction, moment: Moment) -> ExpectationSpec:
    """Return the join of requests published together."""
    asked = tuple((request.event_type, request.data) for request in action.requests)
    return ExpectationSpec(
        moment.expectation_id("join"),
        ExpectationKind.JOIN,
        "",
        topic=EventTopic.PLAN_EVENTS,
        subject=f"a join of {len(asked)}",
        timeout=timedelta(seconds=action.timeout_seconds) if action.timeout_seconds else None,
        join=Join(asked, action.need or len(asked)),
    )


def _mark(step: Step, met: Expectation, trigger: Trigger, fired: bool) -> Step:
    if trigger.released:
        return step
    if not fired:
        return replace(step, join_id=met.branch_of, place=met.place)
    return replace(step, kind=StepKind.LATE, place=met.place)


def _what_was_asked(join: Expectation) -> Join:
    if join.join is None:
        raise LocalProtocolError(f"join {join.id} does not say what it asked for; its record is damaged")
    return join.join


def _describe(came: int, need: int, asked: int) -> str:
    if came == asked:
        return f"All {asked} requests that were published together have come to an end."
    if came >= need:
        return f"{came} of {asked} requests that were published together have come to an end; {need} were needed."
    return f"The time for {asked} requests that were published together is over; {came} have come to an end."


def _results(join: Join, came: Sequence[Step], withdrawn: set[int], given_up: set[int]) -> list[JsonObject]:
    """Return results in the order of asking, each with its request's data, to tell equal ones apart."""
    by_place = {step.place: step for step in came}
    results: list[JsonObject] = []
    for place, (event_type, data) in enumerate(join.asked):
        step = by_place.get(place)
        if step is not None:
            said = _answer_in(step)
        elif place in withdrawn:
            said = {"status": "not published: nobody approved it in time"}
        elif place in given_up:
            said = {"status": "given up: nobody answered its question in time"}
        else:
            said = {"status": "no answer yet"}
        results.append({"event": event_type, "data": data, **said})
    return results


def _answer_in(step: Step) -> JsonObject:
    match step.kind:
        case StepKind.REPLIED if step.note == "ok":
            return {"status": "ok", "result": step.data}
        case StepKind.REPLIED:
            return {"status": "failed", "error": step.data}
        case StepKind.ANSWERED:
            return {"status": "not published: a person rejected it", "answer": step.data}
        case _:
            return {"status": step.note}
