"""What a handling leads to. A handler records effects; one transaction applies them all, or none."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.plans import PlanRecord, Step
from soorma_ai.domain.waits import Expectation, ExpectationStatus


@dataclass(frozen=True)
class Publish:
    """Into the outbox."""

    event: EventEnvelope


@dataclass(frozen=True)
class SavePlan:
    """`expected_version` None makes the plan; else it must be the stored version."""

    plan: PlanRecord
    expected_version: int | None


@dataclass(frozen=True)
class AppendStep:
    step: Step


@dataclass(frozen=True)
class Expect:
    """Opens an expectation; its deadline becomes a timer, and an event that came too early meets it at once."""

    expectation: Expectation


@dataclass(frozen=True)
class Close:
    """Closes an expectation if it is still open."""

    expectation_id: str
    status: ExpectationStatus
    at: datetime


@dataclass(frozen=True)
class Spend:
    """Actions on the root plan's budget. Over `at_most` in all is a VersionConflict: the handler looks again."""

    root_plan_id: str
    actions: int
    at_most: int | None


@dataclass(frozen=True)
class Schedule:
    """At `due`, publish `event`, unless the expectation it guards is closed by then. Firing closes it as expired."""

    id: str
    due: datetime
    event: EventEnvelope
    guards: str | None = None


@dataclass(frozen=True)
class Unschedule:
    id: str


Effect = Publish | SavePlan | AppendStep | Expect | Close | Spend | Schedule | Unschedule


@dataclass(frozen=True)
class Ack:
    """Handled."""


@dataclass(frozen=True)
class RetryAfter:
    delay: timedelta
    reason: str


@dataclass(frozen=True)
class DeadLetter:
    reason: str


Disposition = Ack | RetryAfter | DeadLetter
