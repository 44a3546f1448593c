"""Everything stored about plans, put together for one person."""

import asyncio
from collections.abc import Sequence

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import Blocked, PlanDetails, PlanFacts, PlanRecord, PlanStatus, PlanValue, ValueKind
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import PartRows
from soorma_ai.kernel.rules.authority import SEE_PLAN, Right, check, only_user
from soorma_ai.kernel.rules.plans.lifecycle import before_it_began
from soorma_ai.kernel.rules.plans.waiting import time_of_people
from soorma_ai.kernel.runtime.handling.handling import Services

PAGE = 500
MOST_PLANS = 10_000
MOST_UNTAKEN = 1_000
ACTIVE = "active"
MOST_BLOCKED = 100


async def own_plan(services: Services, person: Person, plan_id: str, right: Right = SEE_PLAN) -> PlanRecord:
    """Return a plan, even one about to begin. Raises NotFound for a plan invisible to the person, and Forbidden for a
    visible one without this right."""
    plan = await services.store.plans.plan(plan_id)
    if plan is None and (found := await services.store.plans.goal_of(plan_id)):
        agent, goal = found
        plan = before_it_began(goal, agent)
    missing = f"no plan {plan_id} in tenant {person.tenant_id!r}; `soorma plans ls` lists them"
    if plan is None:
        raise NotFound(missing)
    check(person, right, plan.owner, missing)
    return plan


def statuses_of(status: PlanStatus | str | None) -> tuple[PlanStatus, ...]:
    """Return the statuses of a filter; none for all. Raise LocalProtocolError for an unknown status."""
    if status not in (None, ACTIVE, *PlanStatus):
        raise LocalProtocolError(f"{status!r} is no status of a plan; there are {', '.join(PlanStatus)} and {ACTIVE}")
    if status == ACTIVE:
        return tuple(one for one in PlanStatus if not one.is_final)
    return (PlanStatus(status),) if status else ()


async def plans(
    services: Services, person: Person, status: PlanStatus | str | None, session_id: str | None, limit: int
) -> list[PlanRecord]:
    """Return the plans visible to a person, newest first."""
    found: list[PlanRecord] = []
    for one in statuses_of(status) or (None,):
        found += await services.store.plans.plans(
            tenant_id=person.tenant_id,
            status=one,
            root_plan_id=None,
            limit=limit,
            session_id=session_id,
            user_id=only_user(person),
        )
    return sorted(found, key=lambda plan: plan.created_at, reverse=True)[:limit] if status == ACTIVE else found


async def plan_details(services: Services, person: Person, plan_id: str) -> PlanDetails:
    plan = await own_plan(services, person, plan_id)
    return await read_details(services, plan, await untaken_of_tree(services, person.tenant_id, plan.root_plan_id))


async def untaken_of_tree(services: Services, tenant_id: str, root_plan_id: str) -> list[Untaken]:
    """Return the requests of a tree without a taker, oldest first."""
    now = services.clock.now()
    return await services.store.events.untaken(tenant_id, now, limit=MOST_UNTAKEN, root_plan_id=root_plan_id)


async def read_details(services: Services, plan: PlanRecord, untaken: Sequence[Untaken]) -> PlanDetails:
    """Return the details of a plan; `untaken` are those of its tree."""
    store = services.store.plans
    rows = PartRows(
        decisions=tuple(await _decisions(services, plan.plan_id)),
        decisions_before=0,
        shown=await store.find_shown(plan.plan_id),
        expectations=tuple(await store.expectations(plan_id=plan.plan_id, only_open=False)),
        events=(),
    )
    return await details_of(services, plan, await _steps(services, plan), rows, untaken)


async def _steps(services: Services, plan: PlanRecord) -> list[Step]:
    """Return all steps of a plan, read in pages with turns of the loop between."""
    found: list[Step] = []
    whole = plan.steps - plan.steps % PAGE
    for first in range(0, whole, PAGE):
        found += await services.store.plans.steps_at(plan.plan_id, range(first, first + PAGE))
        await asyncio.sleep(0)
    return [*found, *await services.store.plans.steps(plan.plan_id, whole)]


async def _decisions(services: Services, plan_id: str) -> list[JournalEntry]:
    """Return all decisions of a plan, read in pages with turns of the loop between."""
    found: list[JournalEntry] = []
    while True:
        page = await services.store.plans.decisions(plan_id, len(found), PAGE)
        found += page
        if len(page) < PAGE:
            return found
        await asyncio.sleep(0)


async def details_of(
    services: Services, plan: PlanRecord, steps: Sequence[Step], rows: PartRows, untaken: Sequence[Untaken]
) -> PlanDetails:
    """Return the details of a plan, with these of its rows; `untaken` are those of its tree."""
    plan_id, store = plan.plan_id, services.store
    values = await store.plans.plan_values(plan_id)
    return PlanDetails(
        **{name: getattr(plan, name) for name in PlanFacts.__struct_fields__},
        result=plan.result,
        reason=plan.reason,
        deadline=plan.deadline,
        parent_plan_id=plan.parent_plan_id,
        tenant_id=plan.lineage.tenant_id,
        session_id=plan.lineage.session_id,
        steps=tuple(steps),
        decisions=rows.decisions,
        shown=rows.shown,
        expectations=rows.expectations,
        usage=await store.plans.read_spent(plan.root_plan_id),
        waiting_seconds=time_of_people(rows.expectations, services.clock.now()).total_seconds(),
        agent_version=plan.agent_version,
        prompt=plan.prompt,
        current_state=plan.current_state,
        results={value.key: value.value for value in values if value.kind is ValueKind.RESULT},
        phases={value.key: value.value for value in values if value.kind is ValueKind.PHASE},
        machine=_machine_in(values),
        blocked=await blocked_of(services, plan),
        rest=await store.queue.find_rest(plan.agent, plan_id, services.clock.now()),
        fork=plan.fork,
        untaken=tuple(one for one in untaken if one.plan_id == plan_id),
    )


async def blocked_of(services: Services, plan: PlanRecord) -> tuple[Blocked, ...]:
    """Return why a plan needs an operator, and of a root why those of its tree do; its own reason first."""
    own = (plan.blocked,) if plan.blocked else ()
    if plan.status.is_final or plan.parent_plan_id is not None:
        return own
    tree = await services.store.plans.blocked_in_tree(plan.root_plan_id, MOST_BLOCKED)
    return (*own, *(one.blocked for one in tree if one.blocked and one.plan_id != plan.plan_id))


def _machine_in(values: Sequence[PlanValue]) -> JsonObject:
    machine = next((value.value for value in values if value.kind is ValueKind.MACHINE), None)
    return machine if isinstance(machine, dict) else {}


async def tree_plans(services: Services, tenant_id: str, root_plan_id: str, most: int = MOST_PLANS) -> list[PlanRecord]:
    return await services.store.plans.plans(tenant_id=tenant_id, status=None, root_plan_id=root_plan_id, limit=most)
