"""Plans: their rows, their values by key, and all stored details."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, Untaken
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.limits import Charge, Limits, Payer, Spent
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.parameters import WireForm
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject, copy_json, derived_id, digest


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
    """Pause without end: the plan's former deadline, and the moment of its stop."""

    deadline: datetime
    since: datetime


class Blocked(Record, frozen=True):
    """Rest of a plan until an operator's action: its model refuses the set-up for this `reason`. `resumed_at` is the
    moment of the resumption."""

    plan_id: str
    reason: str
    since: datetime
    resumed_at: datetime | None = None


class Fork(Record, frozen=True):
    """Origin of a fork: the plan, the `number` of the decision to ask anew, and `last`, the last copied step.

    `by` is the person that forked. Only a fork that `acts` sends its approved requests. A dry one gets the recorded
    replies of the origin, and stops at the first other request. `model` takes the place of the planner's model. The
    trigger of the first question has this `text`, the words `said`, and the join `join_id`.
    """

    plan_id: str
    number: int
    by: str
    last: int
    acts: bool = False
    is_dry: bool = False
    model: str = ""
    text: str = ""
    said: str = ""
    join_id: str | None = None

    @property
    def title(self) -> str:
        """Origin in words for people."""
        kind = "dry fork" if self.is_dry else "acting fork" if self.acts else "fork"
        return f"{kind} of plan {self.plan_id} at decision {self.number}"


class PlanFacts(Record, frozen=True):
    """Constant facts of a plan, in its row and in every view of it. `limits` are the root plan's."""

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
    """Row of a plan; its history is in its steps.

    `lineage` is inherited by the plan's own events: its plan_id is this plan. `answer_*` is the address of the goal's
    answer. `steps` counts the steps, and is the ordinal of the next. `agent_version` and `prompt` (id, version,
    beginning of its hash) are those of its begin. `ancestry` names the pursuits from the root down to this one.
    `is_due`: the action of its current state, or without states its first step, is still to come. `awaits` is the
    expectation opened by its current state. `failure` is the code of its final error, and `reason` has the words.
    `next_call` is the reservation for its model's next call, made in the transaction of a lease. While it is `paused`
    for a person's resumption, a root plan has no deadline. `title` is the planner's title of this goal, filled from the
    goal data; empty without one. `fork` is the origin of a fork.
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
    fork: Fork | None = None

    @property
    def owner(self) -> Lineage:
        """Lineage for authorization. A fork works for the user of its origin and belongs to the tenant alone: only the
        right to manage shows it."""
        return self.lineage if self.fork is None else replace(self.lineage, user_id=NO_USER)

    @property
    def payer(self) -> Payer:
        return Payer(self.plan_id, self.root_plan_id, self.limits)

    def copy(self) -> "PlanRecord":
        """Return a copy that shares no value that may be changed in place."""
        if self.result is None:
            return replace(self, goal_data=copy_json(self.goal_data))
        return replace(self, goal_data=copy_json(self.goal_data), result=copy_json(self.result))


class ValueKind(StrEnum):
    """Kinds of a plan's values by key, beside its row. STATE belongs to its author; PHASE is the state of its phases,
    with the result of each visit; SESSION the summary of the session's earlier plans; CONTEXT the author's context of a
    decision, shown at each later one."""

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


def pursuit_of(agent: str, goal_event: str, goal_data: JsonObject) -> str:
    """Name one planner's pursuit of one goal, to recognise a return of the goal to it."""
    return derived_id("pursuit", plain_name(agent), goal_event, digest(goal_data))


@lru_cache(maxsize=1024)
def plan_id_of(goal_id: str, agent: str) -> str:
    """Return the plan's id, derived from the goal's id: a goal can be followed before it is taken. Of agents of one
    name only one takes a goal."""
    return derived_id("plan", goal_id, plain_name(agent))


class Rest(Record, frozen=True):
    """Delay of a plan's deliveries: they are handled again at `until`; None: a new try is in progress, after the
    failure in `reason`."""

    until: datetime | None
    reason: str


class PlanDetails(PlanFacts, frozen=True):
    """Everything stored about one plan. `waiting_seconds` is people's time. `results` are by the requesting state, or
    by the event without one. `rest` is the reason of its sleep, unless it is an expectation. `shown` is the shown part
    of the offer, by the digests in `decisions`. `untaken` are requests without a taker, its own and those of its tasks.
    `phases` is the state of a journey, `machine` the states by name; both may be absent. `fork` is the origin of a
    fork. `blocked` are the rests until an operator's action: its own first, and of a root those of its tree."""

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
    fork: Fork | None = None
