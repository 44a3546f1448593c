"""The status of a plan: the table is the code. Nothing else changes a status."""

from datetime import datetime
from enum import StrEnum

from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus

S = PlanStatus


class StatusTrigger(StrEnum):
    """Causes of a plan's status: `GO` for work (its goal, a request of its own, the end of a wait), `REST` for sleep (a
    question to people, a gate, an offer, an absent model), and the three ends."""

    GO = "go"
    REST = "rest"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"


T = StatusTrigger

TABLE: dict[StatusTrigger, dict[PlanStatus, PlanStatus]] = {
    T.GO: {S.PENDING: S.RUNNING, S.RUNNING: S.RUNNING, S.PAUSED: S.RUNNING},
    T.REST: {S.PENDING: S.PAUSED, S.RUNNING: S.PAUSED, S.PAUSED: S.PAUSED},
    T.COMPLETE: {S.RUNNING: S.COMPLETED},
    T.FAIL: {S.PENDING: S.FAILED, S.RUNNING: S.FAILED, S.PAUSED: S.FAILED},
    T.CANCEL: {S.PENDING: S.CANCELLED, S.RUNNING: S.CANCELLED, S.PAUSED: S.CANCELLED},
}


def move(plan: PlanRecord, trigger: StatusTrigger, now: datetime) -> PlanRecord:
    """The plan in its new status; one that has ended has no next call, and only one that rests may need an operator.
    Raises IllegalTransition, and then nothing has changed."""
    to = TABLE[trigger].get(plan.status)
    if to is None:
        legal = ", ".join(sorted(one for one in T if plan.status in TABLE[one])) or "nothing: it has ended"
        raise IllegalTransition(
            f"plan {plan.plan_id} is {plan.status}, and {trigger} is not possible; possible: {legal}"
        )
    blocked = plan.blocked if trigger is StatusTrigger.REST else None
    next_call = None if to.is_final else plan.next_call
    return replace(plan, status=to, updated_at=now, next_call=next_call, blocked=blocked)
