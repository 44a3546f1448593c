"""Routes that read plans for people: trace, prompts, progress. They are read only: agents report by events."""

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.features.tracking.service import CALLS, reader_of
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.features.tracking.tracker import CALLS as TRACKER_CALLS
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.parameters import Id

HANDLERS = CallTable()


@HANDLERS("GET /plans/{plan_id}/trace", CALLS["trace"], "show_trace")
async def show_trace(call: Call, plan_id: Id) -> Trace:
    """Return the causes of everything in a plan: each effect with its author, cause and time."""
    return await reader_of(call.client).trace(plan_id)


OPERATIONS = (
    *operations(HANDLERS, "plans"),
    *operations(CALLS, "plans", lambda call: reader_of(call.client)),
    *operations(TRACKER_CALLS, "tracker", lambda call: reader_of(call.client).tracker),
)
