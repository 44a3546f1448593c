"""The tracker of a context: progress of plans, and lists of plans."""

from datetime import datetime
from enum import StrEnum

from soorma_ai.kernel.domain.expectations import ExpectationKind, Untaken
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.plans import Blocked, PlanStatus
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json


class ActionStatus(StrEnum):
    """PENDING: nobody has begun. The last four are final."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    @property
    def is_final(self) -> bool:
        return self not in (ActionStatus.PENDING, ActionStatus.RUNNING)


class Report(Record, frozen=True):
    """The last report of a worker about its task; `progress` is as the worker gave it."""

    progress: float
    message: str
    at: datetime


class Action(Record, frozen=True):
    """One request of a plan. `action_id` is the request's id, `asked_by` who published it: the planner, or a worker for
    a part of its task, which is then `parent_id`. `agents` have taken it; `untaken` says how long it
    waits, where nobody takes it yet."""

    action_id: str
    event_type: str
    asked_by: str
    agents: tuple[str, ...]
    status: ActionStatus
    requested_at: datetime
    ended_at: datetime | None
    error: str | None = None
    parent_id: str | None = None
    group_id: str | None = None
    report: Report | None = None
    untaken: Untaken | None = None


class PlanProgress(Record, frozen=True):
    """`counts` has every status; `done` of `total` actions have ended, in whatever way. A planner may ask for more, so
    `total` is what was asked so far."""

    plan_id: str
    agent: str
    goal_event: str
    status: PlanStatus
    reason: str | None
    started_at: datetime
    updated_at: datetime
    counts: dict[ActionStatus, int]
    total: int
    done: int
    reports: dict[str, Report]


class TimelineEntry(Record, frozen=True):
    """One line of a plan's trace. `what` happened, by `who`."""

    at: datetime
    kind: str
    who: str
    what: str
    note: str
    data: Json
    event_id: str | None
    is_failure: bool


class Awaited(Record, frozen=True):
    """What a plan waits for: an answer to `what`, or an event of this name. `whom` are the roles of people who may
    answer, or the agents who may; none means anybody."""

    id: str
    kind: ExpectationKind
    what: str
    whom: tuple[str, ...]
    until: datetime | None


class PlanLine(Record, frozen=True):
    """A plan in a list. `spent` is by its whole tree, `awaits` the first few things that it waits for, `blocked` why it
    needs an operator, or of a root one of its tree. `title` is empty where its planner has none; `result` is the
    beginning of its result as JSON, empty before it has one."""

    plan_id: str
    root_plan_id: str
    status: PlanStatus
    goal_event: str
    agent: str
    user_id: str
    session_id: str | None
    created_at: datetime
    updated_at: datetime
    deadline: datetime | None
    reason: str | None
    spent: Spent
    awaits: tuple[Awaited, ...] = ()
    blocked: Blocked | None = None
    title: str = ""
    result: str = ""


class PlanPage(Record, frozen=True):
    """Plans, the newest first. `before` is the place behind which the next page begins. A page may be short, or empty,
    before the end."""

    plans: tuple[PlanLine, ...]
    before: int
    is_end: bool


class PlanNode(Record, frozen=True):
    plan: PlanSummary
    agent: str
    children: tuple["PlanNode", ...]


class DelegationGroup(Record, frozen=True):
    """Requests that a task sent together. `missing` are those whose answers may still come."""

    group_id: str
    task_id: str
    agent: str
    total: int
    came: int
    missing: tuple[str, ...]
    members: tuple[Action, ...]
