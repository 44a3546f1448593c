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
    """Status of a request. PENDING: not begun. The last four are final."""

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
    """Request of a plan. `action_id` is the request's id, `asked_by` its publisher: the planner, or a worker for a part
    of its task, then `parent_id`. `agents` have taken it; `untaken` says how long it waits, if it has no taker yet."""

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
    """Progress of a plan. `counts` has every status; `done` of `total` actions have ended, in any way. A planner may
    ask for more: `total` is the number so far."""

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
    """Wait of a plan: for an answer to `what`, or for an event of this name. `whom` are the roles of people, or the
    agents, with the right to answer; none means anybody."""

    id: str
    kind: ExpectationKind
    what: str
    whom: tuple[str, ...]
    until: datetime | None


class PlanLine(Record, frozen=True):
    """Plan in a list. `spent` is by its whole tree, `awaits` the first few of its waits, `blocked` the reason for an
    operator, its own or of a root one of its tree's. `title` is empty without one of its planner; `result` is the
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
    """Plans, the newest first. `before` is the place before the next page. A page may be short, or empty, before the
    end."""

    plans: tuple[PlanLine, ...]
    before: int
    is_end: bool


class PlanNode(Record, frozen=True):
    plan: PlanSummary
    agent: str
    children: tuple["PlanNode", ...]


class DelegationGroup(Record, frozen=True):
    """Requests sent together by a task. `missing` are those with a possible answer to come."""

    group_id: str
    task_id: str
    agent: str
    total: int
    came: int
    missing: tuple[str, ...]
    members: tuple[Action, ...]
