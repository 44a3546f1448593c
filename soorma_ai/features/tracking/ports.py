"""Parts of a store for lists and figures of plans, and for parts of a long plan."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.ports import PartRows, StoreKey

FEATURE = "tracking"


class PlanFilter(Struct, frozen=True):
    """Filter of a list of plans: one of these statuses, or any without one; a session; `search` is a part of the id, of
    the goal's name, of the planner's or of the user's."""

    statuses: tuple[PlanStatus, ...] = ()
    session_id: str | None = None
    search: str = ""


class StoredPlan(Struct, frozen=True):
    """Plan, its place in the order of beginning, and the spent amounts of its tree."""

    seq: int
    plan: PlanRecord
    spent: Spent


class StoredPlans(Struct, frozen=True):
    """Plans, newest first. All before the place `before` are still to be looked at, unless `is_end`."""

    rows: tuple[StoredPlan, ...]
    before: int
    is_end: bool


class WantedPart(Struct, frozen=True):
    """Wanted part of a plan: the events of its turns, and the expectations of its steps. `until` is the last event
    before the next part. At most `most` decisions, and events, are read."""

    causes: tuple[str, ...]
    expectations: tuple[str, ...]
    until: str | None
    is_first: bool
    is_last: bool
    most: int


class ActivePlans(Struct, frozen=True):
    """Counts of active plans. Waiting are the paused ones, those with a question to people, and those in need of an
    operator. `is_part`: there may be more, and the `oldest` is not known."""

    running: int
    waiting: int
    is_part: bool
    oldest: PlanRecord | None


class CallCost(Struct, frozen=True):
    """Cost of the answered calls of models in the minute `at`, without the calls of unknown price, `unpriced`."""

    at: datetime
    calls: int
    cost_usd: float
    unpriced: int


class CallCosts(Struct, frozen=True):
    """Costs by minute, in order of time. `is_whole`: the plans looked at reach back to the beginning."""

    minutes: tuple[CallCost, ...]
    is_whole: bool


class PlanFigures(Protocol):
    """Figures of the plans of a tenant, or of a user."""

    async def count_active(self, tenant_id: str, user_id: str | None, most: int) -> ActivePlans:
        """Count the active plans, up to so many."""
        ...

    async def count_failed(self, tenant_id: str, user_id: str | None, since: datetime, most: int) -> int:
        """Count the root plans that have failed since a moment, up to so many."""
        ...

    async def costs_of_calls(self, tenant_id: str, user_id: str | None, since: datetime, most: int) -> CallCosts:
        """Return the costs of calls since a moment, of so many of the newest plans."""
        ...


class PlanLists(Protocol):
    async def plan_page(
        self, tenant_id: str, user_id: str | None, wanted: PlanFilter, before: int, limit: int
    ) -> StoredPlans:
        """Return plans that began before the one at a place, or before the end if that is 0, newest first. It looks at
        so many rows at most; so a page may be short before the end."""
        ...

    async def first_awaited(self, plan_ids: Sequence[str], most: int) -> list[Expectation]:
        """Return the oldest open expectations of each of these plans, at most so many of each."""
        ...

    async def open_requests(
        self, tenant_id: str, user_id: str | None, limit: int, before: str | None = None
    ) -> list[Expectation]:
        """Return the expectations of clients' requests without a reply, newest first: of a user, or of the tenant; with
        `before`, those opened before this request."""
        ...

    async def rows_of_part(self, plan: PlanRecord, wanted: WantedPart) -> PartRows:
        """Return rows of a part of a plan; as many as the part has are read, however long the plan is."""
        ...


PLAN_FIGURES: StoreKey[PlanFigures] = StoreKey("plan_figures", feature=FEATURE)
PLAN_LISTS: StoreKey[PlanLists] = StoreKey("plan_lists", feature=FEATURE)
