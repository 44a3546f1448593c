"""Effects and dispositions. A handler records effects; one transaction applies them all, or none."""

from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.memory import AppendMemory, DropMemory, IncrementMemory, OpenSession, StoreMemory
from soorma_ai.kernel.domain.plans import PlanRecord, ValueKind
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import Json


class Publish(Struct, frozen=True):
    """Write an event into the outbox. `is_cleared`: a request that a person let go, or that needs nobody's yes."""

    event: EventEnvelope
    is_cleared: bool = False


class SavePlan(Struct, frozen=True):
    """Write the row of a plan: a new one with `expected_version` None, else that must be the stored version."""

    plan: PlanRecord
    expected_version: int | None


class AppendStep(Struct, frozen=True):
    step: Step


class Expect(Struct, frozen=True):
    """Open an expectation. Its deadline becomes a timer; an event that came too early meets it at once."""

    expectation: Expectation


class Close(Struct, frozen=True):
    """Close an expectation if it is still open; with `first`, one that is closed already is a VersionConflict. One for
    a child's answer that did not come publishes ABANDONED, however it is closed."""

    expectation_id: str
    status: ExpectationStatus
    at: datetime
    first: bool = False


class Spend(Struct, frozen=True):
    """Charge actions to the root plan's budget. More than `at_most` in all is a VersionConflict."""

    root_plan_id: str
    actions: int
    at_most: int | None


class Schedule(Struct, frozen=True):
    """Publish `event` at `due` and close the expectation that it guards as expired, unless that is closed by then.

    A timer of a `series` closes nothing; of several of a series that are overdue, only the last is published.
    """

    id: str
    due: datetime
    event: EventEnvelope
    guards: str | None = None
    series: str | None = None


class Unschedule(Struct, frozen=True):
    id: str


class Postpone(Struct, frozen=True):
    """Let whatever in the tree of a root plan ends at `before`, or has no end because the plan is paused, end `later`:
    children, tasks, expectations, requests that nobody takes, and their timers. None: not before the plan goes on."""

    root_plan_id: str
    before: datetime
    later: datetime | None


class SaveTask(Struct, frozen=True):
    """Write the row of a task, as SavePlan writes that of a plan."""

    task: TaskRecord
    expected_version: int | None


class SaveSubTask(Struct, frozen=True):
    """Write the row of one sub-task, one for each `ordinal`, so that a hundred results rewrite nothing big."""

    agent: str
    task_id: str
    ordinal: int
    sub_task: SubTaskInfo


class SaveValue(Struct, frozen=True):
    """Write the row of one key, so that what a plan remembers is never rewritten as a whole."""

    plan_id: str
    kind: ValueKind
    key: str
    value: Json


class DropValue(Struct, frozen=True):
    plan_id: str
    kind: ValueKind
    key: str


class EndTask(Struct, frozen=True):
    """Remove the rows of a task, which has been answered."""

    agent: str
    task_id: str


class Declare(Struct, frozen=True):
    """Add an event to those that a registered agent says it makes."""

    agent: str
    definition: EventDefinition


class FeatureEffect(Struct, frozen=True):
    """Base of the effects of a feature, which applies them. Where the feature is off they are refused."""

    feature: ClassVar[str] = ""


Effect = (
    Publish
    | SavePlan
    | AppendStep
    | Expect
    | Close
    | Spend
    | Schedule
    | Unschedule
    | Postpone
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
    | FeatureEffect
)


class PlanChange(Struct, frozen=True):
    """The plan as it is then, and the effects that make it so; saving the plan itself is left to the shell."""

    plan: PlanRecord
    effects: tuple[Effect, ...] = ()

    def then(self, later: "PlanChange") -> "PlanChange":
        return PlanChange(later.plan, self.effects + later.effects)


class Ack(Struct, frozen=True):
    """The delivery is handled."""


class RetryAfter(Struct, frozen=True):
    """Deliver again, after `delay`. `undone`: the handler did nothing outside, so it may run again even if it must not
    be repeated. `counts`: as one of its attempts."""

    delay: timedelta
    reason: str
    undone: bool = False
    counts: bool = True


class Hold(Struct, frozen=True):
    """Hand the delivery over again when an operator resumes its plan. It is no attempt."""

    reason: str


class DeadLetter(Struct, frozen=True):
    """Set the delivery aside for people. `undone` as with RetryAfter: when redriven, it may run."""

    reason: str
    undone: bool = False


class InDoubt(Struct, frozen=True):
    """Let the delivery rest until somebody has said whether its work was done, which is not known."""

    reason: str


Disposition = Ack | RetryAfter | Hold | DeadLetter | InDoubt
