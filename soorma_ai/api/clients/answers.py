"""Forms of answers that are no nouns of the domain."""

from typing import Literal

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import DiscoveredAgent, EventDefinition
from soorma_ai.kernel.domain.values import Json


class Submitted(Record, frozen=True):
    plan_id: str
    goal_id: str


class HeldBack(Record, frozen=True):
    """The request waits for an approval."""

    request_id: str
    wait_id: str


class Asked(Record, frozen=True):
    """The request is taken; where it waits for an approval, `wait_id` is the question."""

    request_id: str
    wait_id: str | None = None


class End(Record, frozen=True):
    plan_id: str
    status: Literal[PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED]
    result: Json = None
    reason: str | None = None
    failure: str | None = None


class NotEnded(Record, frozen=True):
    """`state` says in words what the plan waits for, or why it sleeps."""

    plan_id: str
    state: str = "it has not ended"


class Published(Record, frozen=True):
    event_id: str


class Accepted(Record, frozen=True):
    outcome: Literal["accepted"]
    detail: str = ""


class Row(Record, frozen=True):
    seq: int
    event: EventEnvelope


class Cancelled(Record, frozen=True):
    cancelled: bool


class Resumed(Record, frozen=True):
    plan_ids: tuple[str, ...]


class Redriven(Record, frozen=True):
    redriven: bool


class Discarded(Record, frozen=True):
    discarded: bool


class Deleted(Record, frozen=True):
    deleted: bool


class Kept(Record, frozen=True):
    key: str


class Value(Record, frozen=True):
    key: str
    value: Json


class Keys(Record, frozen=True):
    keys: list[str]


class Discovered(Record, frozen=True):
    agents: list[DiscoveredAgent]
    unmet: list[str]


class Deregistered(Record, frozen=True):
    removed: list[EventDefinition]


class Revoked(Record, frozen=True):
    revoked: bool
