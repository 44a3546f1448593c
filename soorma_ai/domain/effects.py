"""What a handling leads to. A handler records effects; one transaction applies them all, or none."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.domain.history import Step
from soorma_ai.domain.memory import AppendMemory, DropMemory, IncrementMemory, OpenSession, StoreMemory
from soorma_ai.domain.plans import PlanRecord, ValueKind
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.domain.values import Json


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
    """Closes an expectation if it is still open. `first`: one that is closed by now is a VersionConflict. One for a
    child's answer that did not come publishes ABANDONED, however it is closed."""

    expectation_id: str
    status: ExpectationStatus
    at: datetime
    first: bool = False


@dataclass(frozen=True)
class Spend:
    """Actions on the root plan's budget. Over `at_most` in all is a VersionConflict: the handler looks again."""

    root_plan_id: str
    actions: int
    at_most: int | None


@dataclass(frozen=True)
class Schedule:
    """At `due`, publish `event`, unless the expectation it guards is closed by then. Firing closes it as expired.

    One of a `series` closes nothing; of those of a series that are overdue together, the last alone is published.
    """

    id: str
    due: datetime
    event: EventEnvelope
    guards: str | None = None
    series: str | None = None


@dataclass(frozen=True)
class Unschedule:
    id: str


@dataclass(frozen=True)
class SaveTask:
    """`expected_version` None makes the row; else it must be the stored version."""

    task: TaskRecord
    expected_version: int | None


@dataclass(frozen=True)
class SaveSubTask:
    """The row of one sub-task; there is one for each `ordinal`, so that a hundred results rewrite nothing big."""

    agent: str
    task_id: str
    ordinal: int
    sub_task: SubTaskInfo


@dataclass(frozen=True)
class SaveValue:
    """The row of one key, so that what a plan remembers is never rewritten as a whole."""

    plan_id: str
    kind: ValueKind
    key: str
    value: Json


@dataclass(frozen=True)
class DropValue:
    plan_id: str
    kind: ValueKind
    key: str


@dataclass(frozen=True)
class EndTask:
    """Removes the rows of a task, which has been answered."""

    agent: str
    task_id: str


@dataclass(frozen=True)
class Declare:
    """Adds an event to those that a registered agent says it makes."""

    agent: str
    definition: EventDefinition


Effect = (
    Publish
    | SavePlan
    | AppendStep
    | Expect
    | Close
    | Spend
    | Schedule
    | Unschedule
    | SaveValue
    | DropValue
    | SaveTask
    | SaveSubTask
    | EndTask
    | StoreMemory
    | DropMemory
    | IncrementMemory
    | AppendMemory
    | OpenSession
    | Declare
)


@dataclass(frozen=True)
class Outcome:
    """The plan as it is then, and the effects that make it so; saving the plan itself is left to the shell."""

    plan: PlanRecord
    effects: tuple[Effect, ...] = ()

    def then(self, later: "Outcome") -> "Outcome":
        return Outcome(later.plan, self.effects + later.effects)


@dataclass(frozen=True)
class Ack:
    """Handled."""


@dataclass(frozen=True)
class RetryAfter:
    """`undone`: the handler says that it did nothing outside, so that even one that must not repeat may run again.
    `counts`: as one of the attempts that it has."""

    delay: timedelta
    reason: str
    undone: bool = False
    counts: bool = True


@dataclass(frozen=True)
class DeadLetter:
    """`undone` as with RetryAfter: brought back, it may run."""

    reason: str
    undone: bool = False


@dataclass(frozen=True)
class InDoubt:
    """Whether it was done is not known: the delivery rests until somebody has said."""

    reason: str


Disposition = Ack | RetryAfter | DeadLetter | InDoubt
