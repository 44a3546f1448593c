"""Part of a long plan, for a page: the cost of a read depends on the part, and not on the plan."""

from datetime import timedelta

from msgspec import Struct

from soorma_ai.features.tracking.lines import ARRIVALS
from soorma_ai.features.tracking.ports import PLAN_LISTS, WantedPart
from soorma_ai.features.tracking.trace import Trace, trace_of_part
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, plan_id_of
from soorma_ai.kernel.ports import PartRows
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views.plans import details_of, tree_plans, untaken_of_tree

# A plan, or a tree, beyond these is shown by parts.
LONG_STEPS = 150
LONG_PLANS = 30
LONG_EVENTS = 500
# Steps of a part, and how far before it the turn may have begun that its first step belongs to.
STEPS = 45
LEAD = 20
CHILD_STEPS = 15
MOST_CHILDREN = 10
MOST_ROWS = 300


class ShownPart(Struct, frozen=True):
    """Shown steps of a plan, counted from 0, with the number of all. `decisions_before` counts the earlier decisions,
    `begins` is the moment of the first of them, from the plan's beginning on."""

    trace: Trace
    first: int
    last: int
    count: int
    decisions_before: int
    lasted: timedelta
    begins: timedelta


async def is_long(services: Services, plan: PlanRecord) -> bool:
    """Tell whether a plan is shown by parts: itself, or its tree, is long."""
    if plan.steps > LONG_STEPS:
        return True
    tenant_id, root = plan.lineage.tenant_id, plan.root_plan_id
    if len(await tree_plans(services, tenant_id, root, LONG_PLANS + 1)) > LONG_PLANS:
        return True
    log = services.store.events
    return len(await log.events(tenant_id=tenant_id, root_plan_id=root, limit=LONG_EVENTS + 1)) > LONG_EVENTS


async def show_part(services: Services, plan: PlanRecord, wanted: int | None) -> ShownPart:
    """Return a part of a plan: from this step on, or the last ones."""
    first = max(0, plan.steps - STEPS) if wanted is None else min(wanted, max(0, plan.steps - 1))
    last = min(first + STEPS, plan.steps)
    now = services.clock.now()
    steps = await _steps_between(services, plan.plan_id, first, last)
    rows = await _rows(services, plan, steps, last)
    children = [await _child(services, child) for child in await _child_plans(services, plan, rows.events)]
    begin = steps[0].at if steps else plan.created_at
    ended = plan.updated_at if plan.status.is_final else now
    end = ended if last >= plan.steps else steps[-1].at
    untaken = await untaken_of_tree(services, plan.lineage.tenant_id, plan.root_plan_id)
    details = await details_of(services, plan, steps, rows, untaken)
    part = (begin, max(begin, end))
    return ShownPart(
        trace=trace_of_part(details, children, rows.events, part, now),
        first=steps[0].ordinal if steps else 0,
        last=last,
        count=plan.steps,
        decisions_before=rows.decisions_before,
        lasted=ended - plan.created_at,
        begins=begin - plan.created_at,
    )


async def _steps_between(services: Services, plan_id: str, first: int, last: int) -> list[Step]:
    """Return these steps, with the earlier ones of the first one's turn."""
    lead = max(0, first - LEAD)
    steps = await services.store.plans.steps_at(plan_id, range(lead, last))
    begun = [step.ordinal for step in steps if step.kind in ARRIVALS and step.ordinal <= first]
    begins = max(begun, default=first)
    return [step for step in steps if step.ordinal >= begins]


async def _rows(services: Services, plan: PlanRecord, steps: list[Step], last: int) -> PartRows:
    following = await services.store.plans.steps_at(plan.plan_id, range(last, last + LEAD))
    wanted = WantedPart(
        causes=tuple(dict.fromkeys(step.event_id for step in steps if step.kind in ARRIVALS and step.event_id)),
        expectations=tuple(dict.fromkeys(step.expectation_id for step in steps if step.expectation_id)),
        until=next((step.event_id for step in following if step.kind in ARRIVALS), None),
        is_first=not steps or steps[0].ordinal == 0,
        is_last=last >= plan.steps,
        most=MOST_ROWS,
    )
    return await services.store.part(PLAN_LISTS).rows_of_part(plan, wanted)


async def _child_plans(services: Services, plan: PlanRecord, events: tuple[EventEnvelope, ...]) -> list[PlanRecord]:
    """Return child plans of this part of the plan, a few of them."""
    goals = [e for e in events if e.topic is EventTopic.ACTION_REQUESTS and e.target and e.plan_id == plan.plan_id]
    ids = [plan_id_of(goal.id, goal.target or "") for goal in goals][:MOST_CHILDREN]
    found = [await services.store.plans.plan(plan_id) for plan_id in ids]
    return [one for one in found if one is not None and one.plan_id != plan.plan_id]


async def _child(services: Services, child: PlanRecord) -> PlanDetails:
    """Return a child with its last steps alone: its own page has the others."""
    steps = await _steps_between(services, child.plan_id, max(0, child.steps - CHILD_STEPS), child.steps)
    rows = await _rows(services, child, steps, child.steps)
    return await details_of(services, child, steps, rows, ())
