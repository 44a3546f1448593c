"""Reading everything that a plan's trace is made of."""

from soorma_ai.cli.view.render import Printer
from soorma_ai.cli.view.story import print_story
from soorma_ai.core.report.trace import Trace
from soorma_ai.errors import NotFound
from soorma_ai.runtime.client.client import Client
from soorma_ai.runtime.views import plans as reading


async def trace_of(client: Client, plan_id: str) -> Trace:
    """Raises NotFound."""
    return await reading.trace_of(client.services, client.person.tenant_id, plan_id)


async def print_trace(client: Client, plan_id: str) -> None:
    """To stdout, as `soorma plans show` does. Raises NotFound."""
    print_story(await trace_of(client, plan_id), Printer())


async def trace_begun(client: Client, plan_id: str) -> Trace | None:
    """None while no planner has taken the goal."""
    try:
        return await trace_of(client, plan_id)
    except NotFound:
        return None
