"""Dead letters: deliveries that could not be handled, kept until a person has decided about them."""

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
    """Return the reason for which an event is set aside that would fail whenever it came."""
    code = error.code if isinstance(error, SoormaError) else type(error).__name__
    return clip(" ".join(f"{CANNOT_ARRIVE}: {code}: {error}".split()), MOST_OF_A_REASON)


class LetterStatus(StrEnum):
    DEAD = "dead"
    REDRIVEN = "redriven"  # in line again, or in hand
    HANDLED = "handled"
    DISCARDED = "discarded"


class Letter(Record, frozen=True):
    """A delivery of `event` to `agent` that could not be handled, and what became of it since.

    `reason` begins with a stable code. `attempts` counts since the letter was last redriven. `at` is when it died, or
    was discarded. `plan_id` is the plan that it came for, else that of its event. `hindrance` says why it cannot be
    redriven; None: it can. The `agent` is "" where the event could be brought to none. Of an event that cannot be read,
    `event` holds what is known, and none of its data.
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
