"""Calls that read a plan for people, over HTTP."""

from soorma_ai.api.clients.messages import get
from soorma_ai.features.tracking.rows import PlanReaderRows
from soorma_ai.features.tracking.trace import Trace


class AsyncPlanReader(PlanReaderRows):
    """Reads plans for people."""

    async def trace(self, plan_id: str) -> Trace:
        """Return the causes of everything in a plan: each effect with its author, cause and time. Raise NotFound."""
        return await self._caller.read(get("plans", plan_id, "trace"), Trace)
