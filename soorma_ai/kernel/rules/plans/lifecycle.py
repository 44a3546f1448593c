"""Begin and end of a plan: the goal's row, and the one answer its caller gets."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count

from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, LimitExceeded, LocalProtocolError
from soorma_ai.kernel.domain.effects import Close, Effect, PlanChange, Publish, Schedule, Unschedule
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage, completion_of
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.plans import Fork, PlanRecord, PlanStatus, plan_id_of, pursuit_of
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.breaker import begin_lineage
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.waits.opening import Moment, earliest
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, DEADLINE_REACHED, wake_for, wake_plan

# The timer of a plan's deadline is called so, with the plan's id behind it.
PLAN_DEADLINE = "deadline:"
NO_NEXT_STEP = "no_next_step"
PARENT_CANCELLED = "the plan that it was for is cancelled"


def begin(
    goal: EventEnvelope, parent: PlanRecord | None, limits: Limits, version: str, moment: Moment, *, prompt: str = ""
) -> PlanChange:
    """Return the plan of a goal. A child uses its root's limits and cannot outlive its parent; a pause since the goal's
    sending may have prolonged the parent's time."""
    plan_id = plan_id_of(goal.id, moment.agent)
    root_plan_id = parent.root_plan_id if parent else plan_id
    limits = parent.limits if parent else limits
    own = moment.now + limits.deadline if limits.deadline and not parent else None
    is_prolonged = parent and goal.deadline and (parent.deadline is None or goal.deadline <= moment.now)
    deadline = earliest(own, None if is_prolonged else goal.deadline, parent.deadline if parent else None)
    lineage = begin_lineage(goal.lineage, plan_id, None if parent else limits)
    plan = PlanRecord(
        plan_id=plan_id,
        agent=moment.agent,
        agent_version=version,
        status=PlanStatus.PENDING,
        goal_id=goal.id,
        goal_event=goal.type,
        goal_data=goal.data,
        lineage=replace(lineage, goal_id=goal.id, plan_id=plan_id, root_plan_id=root_plan_id, deadline=deadline),
        limits=limits,
        created_at=moment.now,
        updated_at=moment.now,
        root_plan_id=root_plan_id,
        ancestry=(*(parent.ancestry if parent else ()), pursuit_of(moment.agent, goal.type, goal.data)),
        parent_plan_id=parent.plan_id if parent else None,
        depth=(parent.depth if parent else goal.depth or 0) + 1,
        answer_key=goal.correlation_id or goal.id,
        answer_event=goal.response_event or completion_of(goal.type),
        answer_topic=goal.response_topic or EventTopic.ACTION_RESULTS,
        deadline=deadline,
        prompt=prompt,
    )
    timer = [Schedule(timer_of(plan), deadline, wake_plan(DEADLINE_REACHED, plan, deadline))] if deadline else []
    stepped = append_step(plan, StepKind.GOAL, moment, name=goal.type, data=goal.data)
    return PlanChange(move(stepped.plan, StatusTrigger.GO, moment.now), (*stepped.effects, *timer))


def fork_plan(origin: PlanRecord, fork: Fork, plan_id: str, now: datetime) -> PlanRecord:
    """Return the row of a new root of the same user, in no session: nothing of it is told to later plans there."""
    deadline = now + origin.limits.deadline if origin.limits.deadline else None
    lineage = begin_lineage(replace(origin.lineage, origin=None, session_id=None), plan_id, origin.limits)
    forked = replace(
        origin,
        plan_id=plan_id,
        root_plan_id=plan_id,
        status=PlanStatus.PENDING,
        created_at=now,
        updated_at=now,
        lineage=replace(lineage, plan_id=plan_id, root_plan_id=plan_id, deadline=deadline),
        parent_plan_id=None,
        answer_key=plan_id,
        deadline=deadline,
        steps=fork.last + 1,
        version=0,
        fork=fork,
        current_state="",
        cancel_requested=None,
        result=None,
        reason=None,
        is_due=False,
        awaits=None,
        failure=None,
        next_call=None,
        paused=None,
        blocked=None,
    )
    return move(forked, StatusTrigger.GO, now)


def lineage_of_child(parent: PlanRecord, session_id: str | None) -> Lineage:
    """Return the lineage of a goal that is a part of this plan. Raise IllegalTransition for a plan that has ended,
    LimitExceeded for one that lies too deep, and LocalProtocolError for another session."""
    lineage, deepest, nested = parent.lineage, parent.limits.max_depth, parent.lineage.nesting_left
    if parent.status.is_final:
        raise IllegalTransition(f"plan {parent.plan_id} is {parent.status}, and no other can be a part of it")
    if session_id not in (None, lineage.session_id):
        raise LocalProtocolError(f"plan {parent.plan_id} belongs to session {lineage.session_id!r}, not {session_id!r}")
    if deepest is not None and parent.depth >= deepest:
        raise LimitExceeded("max_depth", f"plan {parent.plan_id} has depth {parent.depth}, and {deepest} is the most")
    if nested == 0:
        raise LimitExceeded("max_nesting", f"no request may lie within those of plan {parent.plan_id}")
    return replace(lineage, share=None, nesting_left=None if nested is None else nested - 1)


def before_it_began(goal: EventEnvelope, agent: str) -> PlanRecord:
    """A plan as it looks between the arrival of its goal and its first decision. Its limits are not known yet."""
    begun = begin(goal, None, Limits.off(), "", Moment(goal, agent, goal.time, count())).plan
    return replace(begun, status=PlanStatus.PENDING, steps=0, deadline=None)


def complete(plan: PlanRecord, result: Json, open_now: Sequence[Expectation], moment: Moment) -> PlanChange:
    stepped = append_step(plan, StepKind.COMPLETED, moment, data=result)
    ended = replace(move(stepped.plan, StatusTrigger.COMPLETE, moment.now), result=result)
    return PlanChange(ended, (*stepped.effects, *_answer({"result": result}, ended, open_now, moment)))


def fail(plan: PlanRecord, failure: Failure, open_now: Sequence[Expectation], moment: Moment) -> PlanChange:
    return _break_off(replace(plan, failure=failure.code), StatusTrigger.FAIL, failure, open_now, moment)


def cancel(
    plan: PlanRecord, reason: str, open_now: Sequence[Expectation], moment: Moment, *, done: Sequence[str] = ()
) -> PlanChange:
    """Return the effects of a cancellation. The reason lists the `done` requests, the unknown ones (asked, no answer
    yet), and those never started (held back)."""
    unknown = [e.subject for e in open_now if e.kind in (ExpectationKind.REPLY, ExpectationKind.CHILD)]
    held = [e.subject for e in open_now if e.kind is ExpectationKind.GATE]
    if done:
        reason += f"; done: {', '.join(done)}"
    if unknown:
        reason += f"; asked and not answered, so unknown: {', '.join(unknown)}"
    if held:
        reason += f"; not started: {', '.join(held)}"
    return _break_off(plan, StatusTrigger.CANCEL, Failure("cancelled", reason), open_now, moment)


def is_overdue(plan: PlanRecord, now: datetime) -> bool:
    return plan.deadline is not None and now >= plan.deadline


def has_something_to_come(open_now: Sequence[Expectation]) -> bool:
    """Tell whether anything that is open wakes the plan. A branch does not; its join does, while it is open."""
    return any(expectation.branch_of is None for expectation in open_now)


def must_go_on(plan: PlanRecord, open_now: Sequence[Expectation], *, has_more: bool, asked: Sequence[str] = ()) -> None:
    """Raise LocalProtocolError for a plan about to hang silently. `has_more`: further deliveries are in line. `asked`
    are requests published by the handler outside of the plan; their answers do not come to it."""
    if plan.status.is_final or has_something_to_come(open_now) or has_more:
        return
    advice = (
        f"; it asked {name!r} by the bus, whose answer is no plan's: use goal.dispatch({name!r}, data)"
        for name in asked[:1]
    )
    raise LocalProtocolError(
        f"{NO_NEXT_STEP}: the handler left the plan running with nothing to wait for{''.join(advice)}"
    )


def _break_off(
    plan: PlanRecord, trigger: StatusTrigger, failure: Failure, open_now: Sequence[Expectation], moment: Moment
) -> PlanChange:
    """Tell asked workers to stop; planners are told by `Close`, at any end."""
    kind = StepKind.FAILED if trigger is StatusTrigger.FAIL else StepKind.CANCELLED
    stepped = append_step(plan, kind, moment, note=failure.message)
    ended = replace(move(stepped.plan, trigger, moment.now), reason=failure.message)
    error: Json = {"code": failure.code, "message": failure.message}
    asked = [e for e in open_now if e.kind is ExpectationKind.REPLY]
    told = [Publish(wake_for(ABANDONED, expectation, moment.now)) for expectation in asked]
    return PlanChange(ended, (*stepped.effects, *_answer({"error": error}, ended, open_now, moment), *told))


def _answer(said: JsonObject, ended: PlanRecord, open_now: Sequence[Expectation], moment: Moment) -> tuple[Effect, ...]:
    """Answer the goal, once; open expectations are closed, and the deadline's timer with them."""
    closed = [Close(expectation.id, ExpectationStatus.CLOSED, moment.now) for expectation in open_now]
    type = ended.answer_event or completion_of(ended.goal_event)
    data: JsonObject = {
        "request_id": ended.answer_key,
        "plan_id": ended.plan_id,
        "success": ended.status is PlanStatus.COMPLETED,
        "status": ended.status,
        **said,
    }
    event = moment.event(
        ended.lineage, ended.answer_topic, type, data, correlation_id=ended.answer_key, answers=ended.goal_id
    )
    return (*closed, Unschedule(timer_of(ended)), Publish(event))


def timer_of(plan: PlanRecord) -> str:
    """The id of the timer of its deadline."""
    return f"{PLAN_DEADLINE}{plan.plan_id}"
