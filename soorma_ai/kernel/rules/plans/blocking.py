"""A plan that needs an operator: its model refuses the set-up, and it rests with its deadline until it is resumed."""

from datetime import datetime

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import PlanChange, Publish
from soorma_ai.kernel.domain.events import SYSTEM, EventTopic, new_event
from soorma_ai.kernel.domain.plans import Blocked, PlanRecord
from soorma_ai.kernel.domain.states import OPERATOR_NEEDED
from soorma_ai.kernel.domain.values import JsonObject, clip, derived_id
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.waits.opening import Moment

LONGEST_REASON = 500


def block(plan: PlanRecord, reason: str, moment: Moment) -> PlanChange:
    """Let the plan rest until an operator resumes it, and tell operators; again where it was resumed in vain."""
    since = plan.blocked.since if plan.blocked else moment.now
    blocked = Blocked(plan.plan_id, clip(reason, LONGEST_REASON), since)
    resting = replace(move(plan, StatusTrigger.REST, moment.now), blocked=blocked)
    data: JsonObject = {
        "plan_id": plan.plan_id,
        "root_plan_id": plan.root_plan_id,
        "goal_event": plan.goal_event,
        "agent": plan.agent,
        "reason": blocked.reason,
        "since": since.isoformat(),
        "deadline": plan.deadline.isoformat() if plan.deadline else None,
    }
    told = new_event(
        plan.lineage,
        event_id=derived_id("operator needed", plan.plan_id, str(plan.version), moment.cause.id),
        source=SYSTEM,
        topic=EventTopic.NOTIFICATION_EVENTS,
        type=OPERATOR_NEEDED,
        data=data,
        time=moment.now,
        causation_id=moment.cause.id,
        subject=plan.plan_id,
    )
    return PlanChange(resting, (Publish(told),))


def unblock(plan: PlanRecord, now: datetime) -> PlanRecord:
    """Let the plan rest without an operator: its model is away."""
    return replace(move(plan, StatusTrigger.REST, now), blocked=None)


def ask_again(plan: PlanRecord, now: datetime) -> PlanRecord:
    """Note that the plan was resumed. It needs the operator still, as far as is known, until its model has answered."""
    blocked = replace(plan.blocked, resumed_at=now) if plan.blocked else None
    return replace(plan, blocked=blocked, version=plan.version + 1, updated_at=now)
