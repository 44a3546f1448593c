"""Counts of a tenant's waiting work, for its auditors."""

import asyncio
from collections import OrderedDict
from contextlib import suppress

from msgspec import Struct

from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.tenant_stats import TenantStats
from soorma_ai.kernel.rules.authority import SEE_METRICS, Owner, check
from soorma_ai.kernel.runtime.handling.handling import Services

# Rows of a kind that are counted.
MOST_COUNTED = 5_000
# Seconds between two counts of a tenant, and the age from which a reader waits for the next one.
COUNTED_EVERY, TOO_OLD = 5.0, 60.0
MOST_TENANTS = 1_000


class TenantCount(Struct, frozen=True):
    """The counts of a tenant, taken at `begun` by the monotonic clock."""

    standing: TenantStats
    begun: float


class TenantCounts:
    """Counts of tenants, shared by all readers of this process. A reader gets the last count. A count older than some
    seconds is renewed in the background; a reader waits only for the first, and for a renewal of too old a one."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, TenantCount] = OrderedDict()
        self._counting: dict[str, asyncio.Task[TenantCount]] = {}

    async def of(self, services: Services, person: Person) -> tuple[TenantStats, float]:
        """Return the counts of the person's tenant, and their age in seconds. Raise Forbidden for all but
        auditors and operators of the tenant, and StoreUnavailable without any count."""
        tenant_id = person.tenant_id
        check(person, SEE_METRICS, Owner(tenant_id), "")
        last, now = self._last.get(tenant_id), services.clock.monotonic()
        if last is None or now - last.begun >= COUNTED_EVERY:
            counting = self._counting.get(tenant_id) or self._begin(services, tenant_id)
            if last is None or now - last.begun >= TOO_OLD:
                last = await asyncio.shield(counting)
        return last.standing, max(services.clock.monotonic() - last.begun, 0.0)

    def _begin(self, services: Services, tenant_id: str) -> asyncio.Task[TenantCount]:
        task = asyncio.create_task(self._count(services, tenant_id), name=f"counts of {tenant_id}")
        self._counting[tenant_id] = task
        task.add_done_callback(lambda done: self._end(tenant_id, done))
        return task

    async def _count(self, services: Services, tenant_id: str) -> TenantCount:
        begun = services.clock.monotonic()
        return TenantCount(
            await services.store.queue.tenant_stats(tenant_id, services.clock.now(), MOST_COUNTED), begun
        )

    def _end(self, tenant_id: str, task: asyncio.Task[TenantCount]) -> None:
        """Keep the count. After a failure, its growing age shows the fault."""
        self._counting.pop(tenant_id, None)
        with suppress(SoormaError, asyncio.CancelledError):
            self._last[tenant_id] = task.result()
            self._last.move_to_end(tenant_id)
        if len(self._last) > MOST_TENANTS:
            self._last.popitem(last=False)
