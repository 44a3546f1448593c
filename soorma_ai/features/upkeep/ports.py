"""Removal of old rows, and of all rows of a user."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Forgotten, Pruned, StoreKey


class AgeConditions(Struct, frozen=True):
    """Conditions for the removal of a tenant's rows, and the moment of the look."""

    tenant_id: str
    before: datetime
    statuses: Sequence[PlanStatus]
    now: datetime


class Upkeep(Protocol):
    async def tenants(self) -> list[str]:
        """Return the tenants of all events, by name; it costs one look for each tenant."""
        ...

    async def prune(self, old: AgeConditions, limit: int, *, after: str | None = None, dry_run: bool = False) -> Pruned:
        """Remove one batch of about `limit` rows, in one short transaction; a `dry_run` counts and removes nothing.

        Plan trees of the tenant go whole, when every plan in them is final and was last changed before `before`, the
        root in one of `statuses`, and everything of them is done; then its old events outside of plans. Live, queued
        and travelling events stay, and so do doubts and dead letters.
        """
        ...

    async def begin_forgetting(self, tenant_id: str, user_id: str, now: datetime) -> int:
        """Record the erasure of a user, and revoke their keys; return the number of these. Until nothing of theirs is
        left, their new events, memos and sessions are refused with a TransientError."""
        ...

    async def forget(self, limit: int, tenant_id: str | None = None, user_id: str | None = None) -> Forgotten:
        """Remove one batch of about `limit` rows of this user, or of any user with an unfinished erasure, in one short
        transaction: plan trees, done or not, with journal and events; other events, sessions, memos. `is_done`: none
        was left."""
        ...


UPKEEP: StoreKey[Upkeep] = StoreKey("upkeep", feature="upkeep")
