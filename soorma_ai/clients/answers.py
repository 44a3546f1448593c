"""Forms of answers that are no nouns of the domain."""

from dataclasses import dataclass
from typing import Literal

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.plans import PlanStatus
from soorma_ai.domain.registry import DiscoveredAgent, EventDefinition
from soorma_ai.domain.values import Json


@dataclass(frozen=True)
class Submitted:
    plan_id: str
    goal_id: str


@dataclass(frozen=True)
class HeldBack:
    """The request waits for an approval."""

    request_id: str
    wait_id: str


@dataclass(frozen=True)
class Asked:
    """The request is taken; where it waits for an approval, `wait_id` is the question."""

    request_id: str
    wait_id: str | None = None


@dataclass(frozen=True)
class End:
    plan_id: str
    status: Literal[PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED]
    result: Json = None
    reason: str | None = None
    failure: str | None = None


@dataclass(frozen=True)
class NotEnded:
    """`state` says in words what the plan waits for, or why it sleeps."""

    plan_id: str
    state: str = "it has not ended"


@dataclass(frozen=True)
class Published:
    event_id: str


@dataclass(frozen=True)
class Accepted:
    outcome: Literal["accepted"]
    detail: str = ""


@dataclass(frozen=True)
class Row:
    seq: int
    event: EventEnvelope


@dataclass(frozen=True)
class Cancelled:
    cancelled: bool


@dataclass(frozen=True)
class Redriven:
    redriven: bool


@dataclass(frozen=True)
class Discarded:
    discarded: bool


@dataclass(frozen=True)
class Deleted:
    deleted: bool


@dataclass(frozen=True)
class Kept:
    key: str


@dataclass(frozen=True)
class Value:
    key: str
    value: Json


@dataclass(frozen=True)
class Keys:
    keys: list[str]


@dataclass(frozen=True)
class Discovered:
    agents: list[DiscoveredAgent]
    unmet: list[str]


@dataclass(frozen=True)
class Deregistered:
    removed: list[EventDefinition]


@dataclass(frozen=True)
class Revoked:
    revoked: bool
