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
    """Write an event into the outbox. `is_cleared`: a request approved by a person, or without need of an approval."""

    event: EventEnvelope
    is_cleared: bool = False


class SavePlan(Struct, frozen=True):
    """Write the row of a plan: a new one with `expected_version` None, else with this stored version required."""

    plan: PlanRecord
    expected_version: int | None


class AppendStep(Struct, frozen=True):
    step: Step


class Expect(Struct, frozen=True):
    """Open an expectation. Its deadline becomes a timer; an early event meets it at once."""

    expectation: Expectation


class Close(Struct, frozen=True):
    """Close an expectation if it is still open; with `first`, a closed one is a VersionConflict. Every close of one for
    a child's missing answer publishes ABANDONED."""

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
    """Publish `event` at `due` and close its guarded expectation as expired, unless this is closed by then.

    A timer of a `series` closes nothing; of several overdue ones of a series, only the last is published.
    """

    id: str
    due: datetime
    event: EventEnvelope
    guards: str | None = None
    series: str | None = None


class Unschedule(Struct, frozen=True):
    id: str


class Postpone(Struct, frozen=True):
    """Move ends within the tree of a root plan from `before` to `later`, and likewise those without a moment because of
    the plan's pause: children, tasks, expectations, requests without a taker, and their timers. None: not before the
    plan's resumption."""

    root_plan_id: str
    before: datetime
    later: datetime | None


class SaveTask(Struct, frozen=True):
    """Write the row of a task, as SavePlan does for a plan."""

    task: TaskRecord
    expected_version: int | None


class SaveSubTask(Struct, frozen=True):
    """Write the row of one sub-task, one for each `ordinal`: a hundred results rewrite nothing large."""

    agent: str
    task_id: str
    ordinal: int
    sub_task: SubTaskInfo


class SaveValue(Struct, frozen=True):
    """Write the row of one key; a plan's memory is never rewritten as a whole."""

    plan_id: str
    kind: ValueKind
    key: str
    value: Json


class DropValue(Struct, frozen=True):
    plan_id: str
    kind: ValueKind
    key: str


class EndTask(Struct, frozen=True):
    """Remove the rows of an answered task."""

    agent: str
    task_id: str


class Declare(Struct, frozen=True):
    """Add an event to the declared facts of a registered agent."""

    agent: str
    definition: EventDefinition


class FeatureEffect(Struct, frozen=True):
    """Base of the effects of a feature; the feature applies them. With the feature off they are refused."""

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
    """New state of a plan, and the effects leading to it; the caller saves the plan itself."""

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
    """Hold the delivery until a finding about its work, of unknown outcome so far."""

    reason: str


Disposition = Ack | RetryAfter | Hold | DeadLetter | InDoubt
