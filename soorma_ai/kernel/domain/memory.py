"""Working memory of plans, and conversations."""

import math
from datetime import datetime

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact


class MemoryKey(Struct, frozen=True):
    """One value of one plan. Another tenant's plan of the same id is another plan."""

    tenant_id: str
    plan_id: str
    key: str


class StoredValue(Record, frozen=True):
    """Value and its version. The version grows with every change, a deletion included; 0 is a key without any change
    yet."""

    version: int = 0
    exists: bool = False
    value: Json = None


class StoreMemory(Struct, frozen=True):
    """Set a value. In all four changes, a stored version other than `expected_version` is a VersionConflict."""

    at: MemoryKey
    value: Json
    expected_version: int | None = None


class DropMemory(Struct, frozen=True):
    at: MemoryKey
    expected_version: int | None = None


class IncrementMemory(Struct, frozen=True):
    """Add to a number; a missing one counts as 0."""

    at: MemoryKey
    by: int | float
    expected_version: int | None = None


class AppendMemory(Struct, frozen=True):
    """Add to a list, empty where the key does not exist. Each item is a row, so a long list is never rewritten."""

    at: MemoryKey
    items: tuple[Json, ...]
    expected_version: int | None = None


MemoryChange = StoreMemory | DropMemory | IncrementMemory | AppendMemory


def add(at: MemoryKey, value: Json, by: int | float) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LocalProtocolError(f"{at.key!r} of plan {at.plan_id} is {_show(value)}; only a number can be incremented")
    total = value + by
    if not math.isfinite(total):
        raise LocalProtocolError(f"{at.key!r} of plan {at.plan_id} would be {total}, which is no JSON")
    return total


def not_a_list(at: MemoryKey, value: Json) -> LocalProtocolError:
    return LocalProtocolError(f"{at.key!r} of plan {at.plan_id} is {_show(value)}; only a list can be appended to")


def _show(value: Json) -> str:
    return clip(compact(value), 80)


class PlanSummary(Record, frozen=True):
    """A plan in few words, as the tracker and sessions list it."""

    plan_id: str
    """Id of the plan."""
    goal_event: str
    """Name of the goal."""
    status: PlanStatus
    """Status of the plan."""
    session_id: str | None
    """Conversation of the plan."""
    created_at: datetime
    """Moment of its beginning."""
    updated_at: datetime
    """Moment of its last change."""

    @classmethod
    def of(cls, plan: PlanRecord) -> "PlanSummary":
        """Return the summary of a stored `plan`."""
        return cls(
            plan.plan_id, plan.goal_event, plan.status, plan.lineage.session_id, plan.created_at, plan.updated_at
        )


class SessionSummary(Record, frozen=True):
    """Conversation: related plans. It is made by hand, or by the first plan in it."""

    session_id: str
    """Id of the conversation."""
    plan_count: int
    """Number of its plans."""
    created_at: datetime
    """Moment of its beginning."""
    last_activity: datetime
    """Moment of its last event."""
    user_id: str
    """User of the conversation."""
    name: str | None
    """Name given to it."""
    metadata: JsonObject
    """Further data."""


class OpenSession(Struct, frozen=True):
    """Make a session, or complete an existing one of the same user."""

    tenant_id: str
    session: SessionSummary
