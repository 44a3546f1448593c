"""Traces of plans, and pages of a list of plans, as a person sees them."""

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from soorma_ai.context_parts.progress import PlanPage
from soorma_ai.features.tracking.ports import PLAN_LISTS, PlanFilter
from soorma_ai.features.tracking.progress import plan_line
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import Blocked
from soorma_ai.kernel.rules.authority import only_user
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views.plans import PAGE, own_plan, read_details, tree_plans, untaken_of_tree

if TYPE_CHECKING:
    from soorma_ai.features.tracking.trace import Trace, TurnRange

MOST_AWAITED = 4
MOST_HELD = 500


async def plan_page(services: Services, person: Person, wanted: PlanFilter, before: int, limit: int) -> PlanPage:
    """Return the plans visible to a person, newest first, with their spent amounts and their waits."""
    found = await services.store.part(PLAN_LISTS).plan_page(person.tenant_id, only_user(person), wanted, before, limit)
    going = [row.plan.plan_id for row in found.rows if not row.plan.status.is_final]
    awaited = defaultdict[str | None, list[Expectation]](list)
    for one in await services.store.part(PLAN_LISTS).first_awaited(going, MOST_AWAITED) if going else ():
        awaited[one.plan_id].append(one)
    blocked = await _blocked_by_plan(services, person) if going else {}
    lines = (
        plan_line(row.plan, row.spent, awaited[row.plan.plan_id], blocked.get(row.plan.plan_id)) for row in found.rows
    )
    return PlanPage(tuple(lines), found.before, found.is_end)


async def _blocked_by_plan(services: Services, person: Person) -> dict[str, Blocked]:
    """Return why plans need an operator, by their own ids and by those of their roots."""
    held = await services.store.plans.blocked_plans(MOST_HELD, tenant_id=person.tenant_id, user_id=only_user(person))
    by_root = {plan.root_plan_id: plan.blocked for plan in held if plan.blocked}
    return by_root | {plan.plan_id: plan.blocked for plan in held if plan.blocked}


async def trace_of(services: Services, person: Person, plan_id: str, part: "TurnRange | None" = None) -> "Trace":
    """Return the trace of a plan, with the lines of a part of it. Raises NotFound."""
    from soorma_ai.features.tracking.trace import trace  # most programs never look at one

    record, tenant_id = await own_plan(services, person, plan_id), person.tenant_id
    root, now = record.root_plan_id, services.clock.now()
    untaken = await untaken_of_tree(services, tenant_id, root)
    tree = [one for one in await tree_plans(services, tenant_id, root) if one.plan_id != plan_id]
    plan, *others = [await read_details(services, one, untaken) for one in (record, *tree)]
    events = await tree_events(services, tenant_id, root)
    if len(events) < PAGE:
        return trace(plan, others, events, now, part)
    return await asyncio.to_thread(trace, plan, others, events, now, part)


async def tree_events(services: Services, tenant_id: str, root_plan_id: str) -> list[EventEnvelope]:
    """Return all events of a tree, in order of arrival."""
    events: list[EventEnvelope] = []
    last = 0
    while True:
        page = await services.store.events.events(
            after=last, tenant_id=tenant_id, root_plan_id=root_plan_id, limit=PAGE
        )
        events += [row.event for row in page]
        if len(page) < PAGE:
            return events
        last = page[-1].seq
        await asyncio.sleep(0)
