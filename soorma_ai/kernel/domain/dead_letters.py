"""Dead letters: failed deliveries, kept until a person's decision."""

from datetime import datetime
from enum import StrEnum

from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import clip

NOBODY = ""  # the agent of a letter whose event could be brought to no agent


CANNOT_ARRIVE = "cannot_arrive"
MOST_OF_A_REASON = 500


def cannot_arrive(error: Exception) -> str:
    """Return the reason to set aside an event that would fail at every arrival."""
    code = error.code if isinstance(error, SoormaError) else type(error).__name__
    return clip(" ".join(f"{CANNOT_ARRIVE}: {code}: {error}".split()), MOST_OF_A_REASON)


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
