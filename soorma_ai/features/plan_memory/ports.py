"""The part of a store for changes of memory from outside of a handling."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.kernel.domain.memory import MemoryChange, OpenSession
from soorma_ai.kernel.ports import StoreKey

FEATURE = "plan_memory"


class PlanMemoryChanges(Protocol):
    async def memorize(self, changes: Sequence[MemoryChange | OpenSession], now: datetime) -> None:
        """Outside a handling. Raises VersionConflict, and LocalProtocolError for a value of another kind."""
        ...


PLAN_MEMORY: StoreKey[PlanMemoryChanges] = StoreKey("plan_memory", feature=FEATURE)
