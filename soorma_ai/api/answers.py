"""Answers over HTTP beside the records of the domain: the server writes them, the clients read them."""

from typing import Literal

from soorma_ai.errors import Held
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import DiscoveredAgent
from soorma_ai.kernel.domain.values import Json


class Submitted(Record, frozen=True):
    plan_id: str
    goal_id: str


class HeldAnswer(Record, frozen=True):
    """The request waits for an approval: for an answer to `wait_id`. Its reply is found by `request_id`, or by the same
    call with the same Idempotency-Key."""

    request_id: str
    wait_id: str
    detail: str

    @classmethod
    def of(cls, held: Held) -> "HeldAnswer":
        return cls(held.request_id, held.wait_id, str(held))


class OpenRequest(Record, frozen=True):
    """The request is taken, and has no reply yet. Where it waits for an approval, `wait_id` is the question."""

    request_id: str
    wait_id: str | None = None


class End(Submitted, frozen=True):
    """End of a plan: completed with a `result`, or else for a `reason`; `failure` is the code of the error of a failed
    plan."""

    status: Literal[PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED]
    result: Json = None
    reason: str | None = None
    failure: str | None = None


class NotEnded(Submitted, frozen=True):
    """Running plan. `state` describes its waits, or the reason of its sleep."""

    state: str
    status: Literal["active"] = "active"


class Published(Record, frozen=True):
    event_id: str


class Outcome(Record, frozen=True):
    """The answer counts."""

    outcome: Literal["accepted"]
    detail: str = ""


class PlacedEvent(Record, frozen=True):
    """An event, and its place in the log."""

    seq: int
    event: EventEnvelope


class Value(Record, frozen=True):
    key: str
    value: Json


class Discovered(Record, frozen=True):
    """`unmet` are the requirements without a live agent."""

    agents: list[DiscoveredAgent]
    unmet: list[str]
