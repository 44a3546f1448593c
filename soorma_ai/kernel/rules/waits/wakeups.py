"""Wake-ups of plans. They carry nothing to be believed: the rows they point at are the truth, so a forged one opens no
gate and moves no plan."""

from datetime import datetime

from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage, new_event
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import derived_id

ANSWERED = "plan.wait.answered"
EXPIRED = "plan.expectation.expired"
OFFER_CHANGED = "plan.offer.changed"
CANCEL_REQUESTED = "plan.cancel.requested"
DEADLINE_REACHED = "plan.deadline.reached"
STRANDED = "plan.stranded"
PHASE_ENTERED = "plan.phase.entered"
FORKED = "plan.forked"
ABANDONED = "plan.request.abandoned"

WAKE_EVENTS = frozenset(
    {ANSWERED, EXPIRED, OFFER_CHANGED, CANCEL_REQUESTED, DEADLINE_REACHED, STRANDED, PHASE_ENTERED, FORKED, ABANDONED}
)


def wake_for(type: str, expectation: Expectation, now: datetime, *, causation_id: str | None = None) -> EventEnvelope:
    """Return a wake-up: ANSWERED, EXPIRED or OFFER_CHANGED for the waiting one, ABANDONED for the asked one; `subject`
    is the expectation."""
    return EventEnvelope(
        id=derived_id("wake", type, expectation.id),
        source=SYSTEM,
        type=type,
        topic=EventTopic.PLAN_EVENTS,
        time=now,
        subject=expectation.id,
        causation_id=causation_id,
        tenant_id=expectation.tenant_id,
        user_id=expectation.user_id,
        plan_id=expectation.plan_id,
        root_plan_id=expectation.root_plan_id,
    )


def wake_plan(type: str, plan: PlanRecord, now: datetime) -> EventEnvelope:
    """CANCEL_REQUESTED, which comes once, DEADLINE_REACHED, once for each deadline (`now`), STRANDED or PHASE_ENTERED,
    once for each version, FORKED, once for each number of steps."""
    version = (str(plan.version),)
    once = {STRANDED: version, PHASE_ENTERED: version, FORKED: (str(plan.steps),)}.get(type, ())
    if type == DEADLINE_REACHED:
        return deadline_of_plan(plan.plan_id, plan.goal_id, plan.owner, now)
    return _wake(type, plan.plan_id, plan.goal_id, plan.owner, now, once)


def deadline_of_plan(plan_id: str, goal_id: str, lineage: Lineage, due: datetime) -> EventEnvelope:
    """DEADLINE_REACHED of a plan, whose row may be unreadable."""
    return _wake(DEADLINE_REACHED, plan_id, goal_id, lineage, due, (due.isoformat(),))


def _wake(
    type: str, plan_id: str, goal_id: str, lineage: Lineage, now: datetime, once: tuple[str, ...]
) -> EventEnvelope:
    return new_event(
        lineage,
        event_id=derived_id("wake", type, plan_id, *once),
        source=SYSTEM,
        topic=EventTopic.PLAN_EVENTS,
        type=type,
        data={},
        time=now,
        causation_id=goal_id,
        subject=plan_id,
    )
