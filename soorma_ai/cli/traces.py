"""Reading everything that a plan's trace is made of."""

from soorma_ai.cli.render import Printer
from soorma_ai.cli.story import print_story
from soorma_ai.core.trace import Trace, trace
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.errors import NotFound
from soorma_ai.runtime.client import Client

PAGE = 500
MOST_PLANS = 10_000


async def trace_of(client: Client, plan_id: str) -> Trace:
    """Raises NotFound."""
    plan = await client.plan(plan_id)
    tree = await client.services.store.plans(
        tenant_id=client.person.tenant_id, status=None, root_plan_id=plan.root_plan_id, limit=MOST_PLANS
    )
    others = [await client.plan(record.plan_id) for record in tree if record.plan_id != plan_id]
    events = await _events(client, plan.root_plan_id)
    return trace(plan, others, events, client.services.clock.now())


async def print_trace(client: Client, plan_id: str) -> None:
    """To stdout, as `soorma plans show` does. Raises NotFound."""
    print_story(await trace_of(client, plan_id), Printer())


async def trace_begun(client: Client, plan_id: str) -> Trace | None:
    """None while no planner has taken the goal."""
    try:
        return await trace_of(client, plan_id)
    except NotFound:
        return None


async def _events(client: Client, root_plan_id: str) -> list[EventEnvelope]:
    events: list[EventEnvelope] = []
    last = 0
    while True:
        page = await client.services.store.events(
            after=last, tenant_id=client.person.tenant_id, root_plan_id=root_plan_id, limit=PAGE
        )
        events += [row.event for row in page]
        if len(page) < PAGE:
            return events
        last = page[-1].seq
