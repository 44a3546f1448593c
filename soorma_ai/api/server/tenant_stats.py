"""Counts of a tenant's waiting work, for its auditors."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct, field

from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.registry import Backlog
from soorma_ai.kernel.ports import StoreKey
from soorma_ai.kernel.rules.authority import SEE_METRICS, Owner, check
from soorma_ai.kernel.runtime.handling.handling import Services

# Ages by which open questions are counted.
AGES = (timedelta(hours=1), timedelta(days=1), timedelta(days=7))
# Rows of a kind that are counted.
MOST_COUNTED = 5_000
# Seconds between two counts of a tenant, and the age from which a reader waits for the next one.
COUNTED_EVERY, TOO_OLD = 5.0, 60.0
MOST_TENANTS = 1_000


class TenantStats(Struct, frozen=True):
    """Counts of a tenant, each up to the number of examined rows. `questions` to people are counted by their kind and
    by the number of exceeded `AGES`. `unsent`: events still to be brought to the inboxes by a bus, the first of them
    made at `unsent_since`."""

    backlogs: Sequence[Backlog] = ()
    questions: Mapping[tuple[ExpectationKind, int], int] = field(default_factory=dict[tuple[ExpectationKind, int], int])
    dead_letters: int = 0
    untaken: int = 0
    unsent: int = 0
    unsent_since: datetime | None = None


class TenantStatsReader(Protocol):
    async def tenant_stats(self, tenant_id: str, now: datetime, at_most: int) -> TenantStats:
        """Return the counts of a tenant; so many rows of a kind are looked at."""
        ...


TENANT_STATS: StoreKey[TenantStatsReader] = StoreKey("tenant_stats", feature="tracking")


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
            await services.store.part(TENANT_STATS).tenant_stats(tenant_id, services.clock.now(), MOST_COUNTED), begun
        )

    def _end(self, tenant_id: str, task: asyncio.Task[TenantCount]) -> None:
        """Keep the count. After a failure, its growing age shows the fault."""
        self._counting.pop(tenant_id, None)
        with suppress(SoormaError, asyncio.CancelledError):
            self._last[tenant_id] = task.result()
            self._last.move_to_end(tenant_id)
        if len(self._last) > MOST_TENANTS:
            self._last.popitem(last=False)
