"""Rules for linked endings: the child of an abandoned request, the children of a cancelled plan, a plan asked to stop;
and for the restart of plans otherwise without an end."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.errors import NotFound, VersionConflict
from soorma_ai.kernel.domain.effects import Postpone, SavePlan, SaveTask, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.rules.arrival.effects import Effect, Forbid, Hasten, Stop, Wake
from soorma_ai.kernel.rules.plans import blocking, pausing
from soorma_ai.kernel.rules.plans.lifecycle import PARENT_CANCELLED, PLAN_DEADLINE, before_it_began
from soorma_ai.kernel.rules.waits import wakeups

# What the bus took and has not brought by then is sent again.
ARRIVES_WITHIN = timedelta(seconds=30)

_Goal = tuple[str, EventEnvelope]


def gives_up_child(kind: ExpectationKind, status: ExpectationStatus) -> bool:
    """Tell whether this close of an expectation leaves an agent at work without a requester."""
    return kind is ExpectationKind.CHILD and status is not ExpectationStatus.MET


def abandon(closed: Expectation, now: datetime) -> tuple[Effect, ...]:
    """Inform the asked agents, at the end of the wait and only once: no race leaves a child behind."""
    return (Wake(wakeups.wake_for(wakeups.ABANDONED, closed, now)),)


def stop(plan_id: str, found: PlanRecord | _Goal | None, reason: str, now: datetime) -> tuple[Effect, ...] | None:
    """Ask a plan to stop; None: it has ended. Before it is begun there is the planner and its goal. Raises NotFound."""
    if found is None:
        raise NotFound(f"there is no plan {plan_id}")
    if not isinstance(found, PlanRecord):
        agent, goal = found
        before = before_it_began(goal, agent)
        return Forbid(plan_id, reason), Wake(wakeups.wake_plan(wakeups.CANCEL_REQUESTED, before, now))
    if found.status.is_final:
        return None
    if found.cancel_requested is not None:
        return ()
    asked = replace(found, cancel_requested=reason, version=found.version + 1, updated_at=now)
    return SavePlan(asked, found.version), Wake(wakeups.wake_plan(wakeups.CANCEL_REQUESTED, asked, now))


def resume(held: PlanRecord, now: datetime) -> tuple[Effect, ...]:
    """Let a plan that rests until an operator resumes it ask its model again."""
    return SavePlan(blocking.ask_again(held, now), held.version), Hasten(held.agent, held.plan_id)


def takes_children_along(plan: PlanRecord) -> bool:
    return plan.status is PlanStatus.CANCELLED


def stop_children(plan_ids: Iterable[str]) -> tuple[Effect, ...]:
    """Stop the live children of a cancelled plan. Those too that it did not delegate itself: a goal that one of its
    tools or workers made is made for it."""
    return tuple(Stop(plan_id, PARENT_CANCELLED) for plan_id in plan_ids)


def is_postponed(deadline: datetime | None, asked: Postpone) -> bool:
    """Tell whether the end moves with a plan that gets more time; an end of its own stays."""
    return deadline in (None, asked.before) and deadline != asked.later


def postpone_plan(child: PlanRecord, asked: Postpone) -> tuple[Effect, ...]:
    if not is_postponed(child.deadline, asked):
        return ()
    moved, timer = pausing.postpone(child, asked.later)
    return SavePlan(replace(moved, version=child.version + 1), child.version), timer


def postpone_task(task: TaskRecord, asked: Postpone) -> tuple[SaveTask, ...]:
    if not is_postponed(task.lineage.deadline, asked):
        return ()
    moved = replace(task, lineage=replace(task.lineage, deadline=asked.later), version=task.version + 1)
    return (SaveTask(moved, task.version),)


def check_beginning(plan: PlanRecord, forbidden: str | None, parent: PlanStatus | None) -> None:
    """Raise VersionConflict for one that was cancelled, or its parent, while it was being begun."""
    is_cancelled = forbidden is not None or parent is PlanStatus.CANCELLED
    if plan.cancel_requested is None and is_cancelled:
        raise VersionConflict(f"plan {plan.plan_id} was cancelled while it was being begun; look again")


def timer_of_plan(plan_id: str) -> str:
    """Return the id of the timer of a plan's deadline."""
    return f"{PLAN_DEADLINE}{plan_id}"


def plan_of_timer(timer_id: str) -> str | None:
    """Return the plan with this timer as its deadline."""
    return timer_id.removeprefix(PLAN_DEADLINE) if timer_id.startswith(PLAN_DEADLINE) else None


def is_made_of_plan(timer: Schedule) -> bool:
    """Tell whether the plan's row makes the event of a timer again: it is that of the plan's deadline."""
    is_deadline = timer.event.type == wakeups.DEADLINE_REACHED and timer.event.time == timer.due
    return is_deadline and plan_of_timer(timer.id) == timer.event.plan_id


def deadline_by_columns(plan_id: str, columns: tuple[str, str, str, str], due: datetime) -> EventEnvelope:
    """Return the event of the deadline of an unreadable plan, with its tenant, user, root plan and goal."""
    tenant_id, user_id, root_plan_id, goal_id = columns
    lineage = Lineage(tenant_id, user_id, goal_id=goal_id, plan_id=plan_id, root_plan_id=root_plan_id)
    return wakeups.deadline_of_plan(plan_id, goal_id, lineage, due)


def remake_event(guarded: Expectation | None, plan: PlanRecord | None, now: datetime) -> EventEnvelope | None:
    """Return the event of an unreadable timer. Its guard expires all the same, as at a plan's deadline."""
    if guarded is not None:
        return wakeups.wake_for(wakeups.EXPIRED, guarded, now)
    return wakeups.wake_plan(wakeups.DEADLINE_REACHED, plan, now) if plan is not None else None


def set_going(stranded: PlanRecord, now: datetime) -> Wake:
    """Wake a live plan that nothing is coming for."""
    return Wake(wakeups.wake_plan(wakeups.STRANDED, stranded, now))
