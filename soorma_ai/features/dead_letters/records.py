"""Dead letters, kept until a person has decided about them."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.records import Record


class LetterStatus(StrEnum):
    DEAD = "dead"
    REDRIVEN = "redriven"  # in line again, or in hand
    HANDLED = "handled"
    DISCARDED = "discarded"


class Letter(Record, frozen=True):
    """Failed delivery of `event` to `agent`, and its history since.

    `reason` begins with a stable code. `attempts` counts since the last redrive. `at` is the moment of its death, or of
    its discard. `plan_id` is its plan, else that of its event. `hindrance` is the obstacle to a redrive; None: there is
    none. The `agent` is "" for an event without any receiver. Of an unreadable event, `event` holds the known fields,
    and none of its data.
    """

    letter_id: int
    status: LetterStatus
    agent: str
    event: EventEnvelope
    reason: str
    attempts: int
    redriven: int
    at: datetime
    tenant_id: str
    plan_id: str | None
    root_plan_id: str | None
    hindrance: str | None


class DeadLetterRow(Struct, frozen=True):
    """Row of a dead letter, as `Letter` explains it. For an unreadable event the
    columns of the store stand in, and `unreadable` has the reason. `came_for` is the plan of the delivery, if it has
    begun. `user_id` is that plan's user, else the event's."""

    seq: int
    agent: str
    event: EventEnvelope
    reason: str
    attempts: int
    at: datetime
    status: LetterStatus
    redriven: int
    plan_id: str | None
    root_plan_id: str | None
    came_for: str | None
    plan_status: PlanStatus | None
    unreadable: str | None
    user_id: str


def hindrance(unreadable: str | None, plan_id: str | None, plan_status: PlanStatus | None) -> str | None:
    """Say why handling a dead letter again would be in vain; None: nothing hinders it. The plan is that it came for."""
    if unreadable is not None:
        return f"{unreadable}; redrive it with the version of this program that wrote it, or discard it"
    if plan_status is not None and plan_status.is_final:
        return (
            f"plan {plan_id}, which it came for, has ended ({plan_status}) and takes nothing more; "
            "submit the goal again, and discard this"
        )
    return None
