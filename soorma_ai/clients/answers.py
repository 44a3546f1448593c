"""Forms of answers that are no nouns of the domain."""

from typing import Literal

from msgspec import Struct

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.plans import PlanStatus
from soorma_ai.domain.registry import DiscoveredAgent, EventDefinition
from soorma_ai.domain.values import Json


class Submitted(Struct, frozen=True):
    plan_id: str
    goal_id: str


class HeldBack(Struct, frozen=True):
    """The request waits for an approval."""

    request_id: str
    wait_id: str


class Asked(Struct, frozen=True):
    """The request is taken; where it waits for an approval, `wait_id` is the question."""

    request_id: str
    wait_id: str | None = None


class End(Struct, frozen=True):
    plan_id: str
    status: Literal[PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED]
    result: Json = None
    reason: str | None = None
    failure: str | None = None


class NotEnded(Struct, frozen=True):
    """`state` says in words what the plan waits for, or why it sleeps."""

    plan_id: str
    state: str = "it has not ended"


class Published(Struct, frozen=True):
    event_id: str


class Accepted(Struct, frozen=True):
    outcome: Literal["accepted"]
    detail: str = ""


class Row(Struct, frozen=True):
    seq: int
    event: EventEnvelope


class Cancelled(Struct, frozen=True):
    cancelled: bool


class Redriven(Struct, frozen=True):
    redriven: bool


class Discarded(Struct, frozen=True):
    discarded: bool


class Deleted(Struct, frozen=True):
    deleted: bool


class Kept(Struct, frozen=True):
    key: str


class Value(Struct, frozen=True):
    key: str
    value: Json


class Keys(Struct, frozen=True):
    keys: list[str]


class Discovered(Struct, frozen=True):
    agents: list[DiscoveredAgent]
    unmet: list[str]


class Deregistered(Struct, frozen=True):
    removed: list[EventDefinition]


class Revoked(Struct, frozen=True):
    revoked: bool
