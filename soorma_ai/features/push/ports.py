"""Port for pushes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.features.push.records import TaskPush
from soorma_ai.kernel.ports.part_keys import StoreKey

FEATURE = "push"
MOST_OF_TASK = 10


class Pushes(Protocol):
    """Pushes of tasks. One process at a time has a push in hand, by a claim with a fence."""

    async def keep_push(self, push: TaskPush) -> TaskPush:
        """Keep a push, in place of one with its id, and return it; the one with the same receiver goes on. Raise
        LocalProtocolError for too many of a task."""
        ...

    async def pushes_of(self, tenant_id: str, user_id: str, task_id: str) -> Sequence[TaskPush]: ...

    async def remove_push(self, tenant_id: str, user_id: str, task_id: str, push_id: str) -> bool: ...

    async def due_pushes(self, gateway: str, now: datetime, limit: int) -> Sequence[TaskPush]:
        """Return pushes without a valid claim, the longest due first."""
        ...

    async def claim_push(self, push: TaskPush, now: datetime, until: datetime) -> tuple[TaskPush, int] | None:
        """Claim a push, and return its present state and the fence of the claim; None for one removed or claimed."""
        ...

    async def save_push(self, push: TaskPush, fence: int, due: datetime | None) -> bool:
        """Save the state of a claimed push, due for the next claim at this moment or never. False without the claim,
        and for a removed push."""
        ...


PUSHES: StoreKey[Pushes] = StoreKey("pushes", feature=FEATURE)
