"""The status of a plan: the table is the code."""

from dataclasses import replace
from datetime import datetime

from soorma_ai.domain.plans import PlanRecord, PlanStatus
from soorma_ai.errors import IllegalTransition

S = PlanStatus

LEGAL: dict[PlanStatus, frozenset[PlanStatus]] = {
    S.PENDING: frozenset({S.RUNNING, S.FAILED, S.CANCELLED}),
    S.RUNNING: frozenset({S.PAUSED, S.COMPLETED, S.FAILED, S.CANCELLED}),
    S.PAUSED: frozenset({S.RUNNING, S.FAILED, S.CANCELLED}),
    S.COMPLETED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}


def moved(plan: PlanRecord, to: PlanStatus, now: datetime) -> PlanRecord:
    """The plan in its new status; staying where it is is no move. Raises IllegalTransition, and nothing changed."""
    if to is plan.status:
        return replace(plan, updated_at=now)
    if to not in LEGAL[plan.status]:
        legal = ", ".join(sorted(LEGAL[plan.status])) or "nothing: it has ended"
        raise IllegalTransition(f"plan {plan.plan_id} is {plan.status} and cannot become {to}; possible is {legal}")
    return replace(plan, status=to, updated_at=now)
