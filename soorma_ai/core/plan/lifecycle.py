"""How a plan begins and how it ends: the goal's row, and the one answer its caller gets."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count

from soorma_ai.core.expecting.opening import Moment
from soorma_ai.core.expecting.wakeups import ABANDONED, DEADLINE_REACHED, wake_for, wake_plan
from soorma_ai.core.plan.outcome import Outcome, step
from soorma_ai.core.plan.requests import unfinished
from soorma_ai.core.plan.status import moved
from soorma_ai.domain.effects import Close, Effect, Publish, Schedule, Unschedule
from soorma_ai.domain.events import EventEnvelope, completion_of, new_event
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.history import StepKind
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.plans import PlanRecord, PlanStatus, plan_id_of, pursuit_of
from soorma_ai.domain.replies import Failure
from soorma_ai.domain.values import Json

# The timer of a plan's deadline is called so, with the plan's id behind it.
PLAN_DEADLINE = "deadline:"
PARENT_CANCELLED = "the plan that it was for is cancelled"


def begin(
    goal: EventEnvelope,
    parent: PlanRecord | None,
    limits: Limits,
    version: str,
    moment: Moment,
    *,
    prompt: str = "",
) -> Outcome:
    """The plan of a goal. A child lives on its root's limits and cannot outlive its parent."""
    plan_id = plan_id_of(goal.id, moment.agent)
    root_plan_id = parent.root_plan_id if parent else plan_id
    limits = parent.limits if parent else limits
    own = moment.now + limits.deadline if limits.deadline and not parent else None
    inherited = [d for d in (own, goal.deadline, parent.deadline if parent else None) if d]
    deadline = min(inherited, default=None)
    plan = PlanRecord(
        plan_id=plan_id,
        agent=moment.agent,
        agent_version=version,
        status=PlanStatus.PENDING,
        goal_id=goal.id,
        goal_event=goal.type,
        goal_data=goal.data,
        lineage=replace(goal.lineage, goal_id=goal.id, plan_id=plan_id, root_plan_id=root_plan_id, deadline=deadline),
        limits=limits,
        created_at=moment.now,
        updated_at=moment.now,
        root_plan_id=root_plan_id,
        ancestry=(*(parent.ancestry if parent else ()), pursuit_of(moment.agent, goal.type, goal.data)),
        parent_plan_id=parent.plan_id if parent else None,
        depth=parent.depth + 1 if parent else 1,
        answer_key=goal.correlation_id or goal.id,
        answer_event=goal.response_event or completion_of(goal.type),
        answer_topic=goal.response_topic or PlanRecord.answer_topic,
        deadline=deadline,
        prompt=prompt,
    )
    effects: tuple[Effect, ...] = ()
    if deadline:
        effects = (Schedule(_timer_of(plan), deadline, wake_plan(DEADLINE_REACHED, plan, deadline)),)
    stepped = step(plan, StepKind.GOAL, moment, name=goal.type, data=goal.data)
    return Outcome(moved(stepped.plan, PlanStatus.RUNNING, moment.now), stepped.effects + effects)


def before_it_began(goal: EventEnvelope, agent: str) -> PlanRecord:
    """A plan as it looks between the arrival of its goal and its first decision. Its limits are not known yet."""
    unlimited = Limits(None, None, None, None, None, None, None, None)
    begun = begin(goal, None, unlimited, "", Moment(goal, agent, goal.time, count())).plan
    return replace(begun, status=PlanStatus.PENDING, steps=0, deadline=None)


def complete(plan: PlanRecord, result: Json, open_now: Sequence[Expectation], moment: Moment) -> Outcome:
    stepped = step(plan, StepKind.COMPLETED, moment, data=result)
    ended = replace(moved(stepped.plan, PlanStatus.COMPLETED, moment.now), result=result)
    return Outcome(plan, stepped.effects).then(_ended(ended, {"result": result}, open_now, moment))


def fail(plan: PlanRecord, failure: Failure, open_now: Sequence[Expectation], moment: Moment) -> Outcome:
    stepped = step(plan, StepKind.FAILED, moment, note=failure.message)
    ended = replace(moved(stepped.plan, PlanStatus.FAILED, moment.now), reason=failure.message)
    answer: dict[str, Json] = {"error": {"code": failure.code, "message": failure.message}}
    return (
        Outcome(plan, stepped.effects)
        .then(_ended(ended, answer, open_now, moment))
        .then(_abandoned(ended, open_now, moment))
    )


def cancel(
    plan: PlanRecord, reason: str, open_now: Sequence[Expectation], moment: Moment, *, done: Sequence[str] = ()
) -> Outcome:
    """Says what is done, what is unknown (asked of an agent, no answer yet) and what never started (held back). Those
    who were asked are told to stop."""
    unknown, held = unfinished(open_now)
    told = reason
    if done:
        told += f"; done: {', '.join(done)}"
    if unknown:
        told += f"; asked and not answered, so unknown: {', '.join(unknown)}"
    if held:
        told += f"; not started: {', '.join(held)}"
    stepped = step(plan, StepKind.CANCELLED, moment, note=told)
    ended = replace(moved(stepped.plan, PlanStatus.CANCELLED, moment.now), reason=told)
    answer: dict[str, Json] = {"error": {"code": "cancelled", "message": told}}
    return (
        Outcome(plan, stepped.effects)
        .then(_ended(ended, answer, open_now, moment))
        .then(_abandoned(ended, open_now, moment))
    )


def is_overdue(plan: PlanRecord, now: datetime) -> bool:
    return plan.deadline is not None and now >= plan.deadline


def _ended(plan: PlanRecord, answer: dict[str, Json], open_now: Sequence[Expectation], moment: Moment) -> Outcome:
    closed = [Close(expectation.id, ExpectationStatus.CLOSED, moment.now) for expectation in open_now]
    type = plan.answer_event or completion_of(plan.goal_event)
    event = new_event(
        plan.lineage,
        event_id=moment.event_id(type),
        source=moment.agent,
        topic=plan.answer_topic,
        type=type,
        data={
            "request_id": plan.answer_key,
            "plan_id": plan.plan_id,
            "success": plan.status is PlanStatus.COMPLETED,
            "status": plan.status,
            **answer,
        },
        time=moment.now,
        correlation_id=plan.answer_key,
        causation_id=moment.cause.id,
    )
    return Outcome(plan, (*closed, Unschedule(_timer_of(plan)), Publish(event)))


def _abandoned(plan: PlanRecord, open_now: Sequence[Expectation], moment: Moment) -> Outcome:
    """Workers that were asked are told to stop; planners are by `Close`, whatever the end."""
    asked = [e for e in open_now if e.kind is ExpectationKind.REPLY]
    return Outcome(plan, tuple(Publish(wake_for(ABANDONED, expectation, moment.now)) for expectation in asked))


def _timer_of(plan: PlanRecord) -> str:
    return f"{PLAN_DEADLINE}{plan.plan_id}"
