"""Port for shadows."""

from typing import Protocol

from soorma_ai.features.trials.ports import FEATURE
from soorma_ai.features.trials.records import TrialCall
from soorma_ai.features.trials.shadow.records import Outcome, ShadowCall, ShadowReport
from soorma_ai.kernel.ports.part_keys import StoreKey


class Shadows(Protocol):
    """Calls of shadows, their budgets, and their outcomes."""

    async def open_shadow(self, opened: ShadowCall) -> bool:
        """Keep the reservation of a call. False for a decision asked before, and for one of a removed plan. Raise
        LimitExceeded beyond the budget of the day."""
        ...

    async def close_shadow(self, opened: ShadowCall, closed: TrialCall) -> None:
        """Keep the cost and the answer of a call, in place of its reservation."""
        ...

    async def keep_outcome(self, outcome: Outcome) -> None:
        """Keep the outcome of a decision. Nothing is kept of a removed plan."""
        ...

    async def shadow_report(self, tenant_id: str, planner: str, limit: int) -> ShadowReport:
        """Return the newest outcomes of a planner, and the costs of its latest days."""
        ...


SHADOWS: StoreKey[Shadows] = StoreKey("shadows", feature=FEATURE)
