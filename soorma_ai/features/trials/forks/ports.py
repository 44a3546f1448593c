"""Port for new forks."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.features.trials.ports import FEATURE
from soorma_ai.kernel.domain.effects import Effect
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.ports.part_keys import StoreKey


class Forks(Protocol):
    """Beginnings of forks."""

    async def begin_fork(self, plan: PlanRecord, effects: Sequence[Effect], now: datetime) -> bool:
        """Write the rows of a fork, and publish its first event. False for a plan that exists."""
        ...


FORKS: StoreKey[Forks] = StoreKey("forks", feature=FEATURE)
