"""A plan: its row, the values that it remembers by keys, and all that is stored about it."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Struct, field

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, Untaken
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.limits import Charge, Limits, Payer, Spent
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.parameters import WireForm
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject, derived_id, digest


class PlanStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED)


# Parameter of a call: `active` means every plan that has not ended.
Status = Annotated[PlanStatus | str, WireForm(PlanStatus | Literal["active"])]


class Pause(Record, frozen=True):
    """A pause without end: the deadline that the plan had, and the moment since when it does not run."""

    deadline: datetime
    since: datetime


class Blocked(Record, frozen=True):
    """A rest of a plan that an operator ends: its model refuses the set-up for this `reason`. `resumed_at` is when it
    was told to ask again."""

    plan_id: str
    reason: str
    since: datetime
    resumed_at: datetime | None = None


class PlanFacts(Record, frozen=True):
    """What stands fast of a plan, in its row and in every view of it. `limits` are the root plan's."""

    plan_id: str
    goal_id: str
    status: PlanStatus
    goal_event: str
    goal_data: JsonObject
    agent: str
    created_at: datetime
    updated_at: datetime
    root_plan_id: str
    limits: Limits


class PlanRecord(PlanFacts, frozen=True):
    """The small row of a plan; its history is in its steps.

    `lineage` is what the plan's own events inherit: its plan_id is this plan. `answer_*` is where the goal's answer
    goes. `steps` counts the steps, so it is the ordinal of the next. `agent_version` and `prompt` (id, version,
    beginning of its hash) are those that it began with. `ancestry` names the pursuits from the root down to this one.
    `is_due`: the action of its current state, or without states its first step, is still to come. `awaits` is the
    expectation that its current state opened. `failure` is the code of the error that ended it, and `reason` has the
    words. `next_call` is what is held for a call of its model by the transaction that leases what comes for it. While
    it is `paused` until somebody resumes it, a root plan has no deadline. `title` is the planner's title of this goal,
    filled from the goal data; empty where the planner has none.
    """

    agent_version: str
    lineage: Lineage
    parent_plan_id: str | None = None
    depth: int = 1
    answer_key: str | None = None
    answer_event: str | None = None
    answer_topic: EventTopic = EventTopic.ACTION_RESULTS
    current_state: str = ""
    deadline: datetime | None = None
    steps: int = 0
    version: int = 0
    cancel_requested: str | None = None
    result: Json = None
    reason: str | None = None
    prompt: str = ""
    ancestry: tuple[str, ...] = ()
    is_due: bool = False
    awaits: str | None = None
    failure: str | None = None
    next_call: Charge | None = None
    paused: Pause | None = None
    blocked: Blocked | None = None
    title: str = ""

    @property
    def payer(self) -> Payer:
        return Payer(self.plan_id, self.root_plan_id, self.limits)


class ValueKind(StrEnum):
    """The kinds of values that a plan remembers by keys, beside its row. STATE is its author's alone; PHASE is how it
    stands with its phases, and what came of each visit; SESSION what it was told of the plans before it; CONTEXT what
    its author gave with a decision, to be told at each later one."""

    MACHINE = "machine"
    RESULT = "result"
    STATE = "state"
    PAUSE = "pause"
    PHASE = "phase"
    SESSION = "session"
    CONTEXT = "context"


class PlanValue(Struct, frozen=True):
    kind: ValueKind
    key: str
    value: Json


class PlanInHand(Struct, frozen=True):
    """Beginning of a step of a plan, beside its row and its history: what it remembers by keys, the expectations
    that are open, and what its tree has spent."""

    values: tuple[PlanValue, ...]
    open: tuple[Expectation, ...]
    spent: Spent


class StepMark(Struct, frozen=True):
    """Number of a plan's steps that carry one fingerprint, and the last of them."""

    count: int
    last: Step


def pursuit_of(agent: str, goal_event: str, goal_data: JsonObject) -> str:
    """Name one planner's pursuit of one goal, so that a goal that comes back to it is recognised."""
    return derived_id("pursuit", plain_name(agent), goal_event, digest(goal_data))


def plan_id_of(goal_id: str, agent: str) -> str:
    """Return the plan's id, which the goal's id fixes: a goal can be followed before anybody has taken it. Of agents of
    one name one alone takes a goal."""
    return derived_id("plan", goal_id, plain_name(agent))


class Rest(Record, frozen=True):
    """Delay of what has come for a plan: it is handled again at `until`; None: it is being tried again, after the
    failure that `reason` tells."""

    until: datetime | None
    reason: str


class PlanDetails(PlanFacts, frozen=True):
    """Everything stored about one plan. `waiting_seconds` is the time that people took. `results` are by the state that
    asked, or by the event where no state did. `rest` is what it sleeps for, where that is no expectation. `shown` is
    what of the offer the model was shown, by the digests in `decisions`. `untaken` are its requests, and those for
    parts of its tasks, that nobody takes yet. `phases` is what a journey through phases keeps, `machine` its
    states by name, where it has any. `blocked` are the rests that an operator ends: its own first, and of a root those
    of its tree."""

    result: Json
    reason: str | None
    deadline: datetime | None
    parent_plan_id: str | None
    tenant_id: str
    session_id: str | None
    steps: tuple[Step, ...]
    decisions: tuple[JournalEntry, ...]
    expectations: tuple[Expectation, ...]
    usage: Spent
    waiting_seconds: float
    agent_version: str = ""
    prompt: str = ""
    shown: Mapping[str, Showing] = field(default_factory=dict[str, Showing])
    current_state: str = ""
    results: JsonObject = field(default_factory=dict[str, Json])
    rest: Rest | None = None
    untaken: tuple[Untaken, ...] = ()
    phases: JsonObject = field(default_factory=dict[str, Json])
    machine: JsonObject = field(default_factory=dict[str, Json])
    blocked: tuple[Blocked, ...] = ()
