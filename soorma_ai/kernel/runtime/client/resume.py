"""Resumption of plans, after a pause and after a fault of a model's set-up."""

from datetime import datetime

from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.authority import RESUME, may, only_user

MOST_RESUMED = 10_000


async def find_pause(store: Store, plan_id: str) -> str | None:
    """Return the question of a paused plan; its answer resumes the plan."""
    open_now = await store.plans.expectations(plan_id=plan_id)
    paused = (one for one in open_now if one.event_type == RESUMED and one.status is ExpectationStatus.OPEN)
    return next((one.id for one in paused if one.ask is not None), None)


async def resume_held(store: Store, plan: PlanRecord, now: datetime) -> bool:
    """Let a plan ask its model again; with a root, all plans of its tree. False without need of an operator."""
    held = [plan.plan_id]
    if plan.parent_plan_id is None:
        held = [one.plan_id for one in await store.plans.blocked_in_tree(plan.root_plan_id, MOST_RESUMED)]
    return any([await store.plans.resume(plan_id, now) for plan_id in held])


async def resume_all(store: Store, person: Person, now: datetime, agent: str | None) -> list[str]:
    """Resume all held plans of a person at one moment, and return their ids. One of them asks its model first; the
    others follow its result."""
    tenant_id, user_id = person.tenant_id, only_user(person)
    held = await store.plans.blocked_plans(MOST_RESUMED, agent=agent, tenant_id=tenant_id, user_id=user_id)
    own = [plan.plan_id for plan in held if may(person, RESUME, plan.owner)]
    return [plan_id for plan_id in own if await store.plans.resume(plan_id, now)]
