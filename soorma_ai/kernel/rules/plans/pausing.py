"""Pause of a root plan until a person resumes it: its time stands still."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import PlanChange, Postpone, Schedule, Unschedule
from soorma_ai.kernel.domain.plans import Pause, PlanRecord
from soorma_ai.kernel.rules.plans.lifecycle import timer_of
from soorma_ai.kernel.rules.waits.wakeups import DEADLINE_REACHED, wake_plan

# After such a while people are reminded of what would else wait in silence.
REMINDERS = (timedelta(days=1), timedelta(days=7), timedelta(days=30))


def stop_clock(plan: PlanRecord, now: datetime) -> PlanChange:
    """Take its deadline from a root plan, and from everything in its tree with a cap by it; a child's pause ends with
    its parent's time."""
    if plan.parent_plan_id is not None or plan.deadline is None:
        return PlanChange(plan)
    held = replace(_until(plan, None), paused=Pause(plan.deadline, now))
    return PlanChange(held, (Unschedule(timer_of(plan)), Postpone(plan.root_plan_id, plan.deadline, None)))


def start_clock(plan: PlanRecord, now: datetime) -> PlanChange:
    """Give the plan its deadline back, and all that it capped, later by the length of the pause."""
    if plan.paused is None:
        return PlanChange(plan)
    later = deadline_if_resumed(plan.paused, now)
    going, timer = postpone(replace(plan, paused=None), later)
    return PlanChange(going, (timer, Postpone(plan.root_plan_id, plan.paused.deadline, later)))


def deadline_if_resumed(paused: Pause, now: datetime) -> datetime:
    """Return the deadline after a pause that ends now. A longer pause makes it later."""
    return paused.deadline + max(now - paused.since, timedelta(0))


def postpone(plan: PlanRecord, deadline: datetime | None) -> tuple[PlanRecord, Schedule | Unschedule]:
    """Return the plan with a later deadline, or None, and the change of its timer."""
    later = _until(plan, deadline)
    return later, _timer(later, deadline) if deadline else Unschedule(timer_of(plan))


def _until(plan: PlanRecord, deadline: datetime | None) -> PlanRecord:
    return replace(plan, deadline=deadline, lineage=replace(plan.lineage, deadline=deadline))


def _timer(plan: PlanRecord, due: datetime) -> Schedule:
    return Schedule(timer_of(plan), due, wake_plan(DEADLINE_REACHED, plan, due))
