"""Most used requests of each tenant, frozen until its registrations change: an order for the beginning of offers."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.ports import Store

MOST_TENANTS = 1_000


class MostUsed:
    """Memory of one process. Other processes may have another order; each keeps its own."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Sequence[RegisteredEvent], tuple[str, ...]]] = {}

    async def requests(self, store: Store, tenant_id: str, now: datetime) -> tuple[str, ...]:
        """Return the names of a tenant's requests, most used first; the same ones for the same registrations."""
        live = await store.registry.live_events(tenant_id, now)
        known = self._known.get(tenant_id)
        if known is None or known[0] is not live:
            known = live, await store.plans.requests_used(tenant_id)
            self._known.pop(tenant_id, None)
            self._known[tenant_id] = known
            if len(self._known) > MOST_TENANTS:
                del self._known[next(iter(self._known))]
        return known[1]
