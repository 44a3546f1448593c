"""Records of remote agents: loans, lookups, and the acts of a handler.

Acts name no owner: the tenant, user, plan and cause of an event follow from the lent delivery and nothing else.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, PlainValidator, TypeAdapter

from soorma_ai.api.answers import PlacedEvent
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, Untaken
from soorma_ai.kernel.domain.limits import MAX_EVENTS_AT_ONCE
from soorma_ai.kernel.domain.memory import SessionSummary, StoredValue
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.kernel.domain.tasks import Group, SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, Frozen, Json, JsonObject
from soorma_ai.kernel.ports import EventHandling

LONGEST_NAME: Final = 1_000
MOST_LENT: Final = 16
MOST_ACTS: Final = MAX_EVENTS_AT_ONCE

_Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Text = Annotated[str, Field(max_length=10_000)]
# Of the ids that one delivery makes, as `caused_id` counts them.
Ordinal = Annotated[int, Field(ge=0, lt=2**32)]
_Count = Annotated[int, Field(ge=0, lt=2**31)]
_Seconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT_SECONDS)]
RowId = Annotated[int, Field(ge=0, lt=2**62)]


def _definition(value: object) -> EventDefinition:
    return EventDefinition.model_validate(value)


@cache
def _registrations() -> TypeAdapter[Registration]:
    return TypeAdapter(Registration)


def _registration(value: object) -> Registration:
    return _registrations().validate_python(value)


# Authors' nouns read more than one spelling, which a strict reader of the whole would not let them.
AsWritten = Annotated[EventDefinition, BeforeValidator(_definition)]
Newcomer = Annotated[Registration, PlainValidator(_registration, json_schema_input_type=Registration)]


class Lease(Frozen):
    """The hold on one delivery: the number of its row, and the fence under which it was lent."""

    seq: RowId
    fence: RowId


class Lent(Record, frozen=True):
    """A delivery that is lent. `started`, `redriven` and `attempt` are those of `Delivery`."""

    seq: int
    fence: int
    owner: str
    event: EventEnvelope
    attempt: int
    started: int = 0
    redriven: int = 0


class RegistrationResult(Record, frozen=True):
    """Names of the agents, and their tenant."""

    agents: list[str]
    tenant_id: str


class LeasedDeliveries(Record, frozen=True):
    """At most sixteen deliveries; the number of the loan, for a process that names itself."""

    deliveries: list[Lent]
    loan: RowId | None = None


class Publishing(Frozen):
    """An event. `answers`: it is the answer to the request in hand."""

    kind: Literal["publish"] = "publish"
    ordinal: Ordinal
    topic: EventTopic
    type: _Name
    data: JsonObject
    correlation_id: Annotated[str, Field(max_length=LONGEST_NAME)] | None = None
    response_event: _Name | None = None
    response_topic: EventTopic | None = None
    subject: _Name | None = None
    answers: bool = False


class Delegating(Frozen):
    """A request of the task in hand, the `place`-th that it makes; `group` is the ordinal of the group that it is one
    of."""

    kind: Literal["delegate"] = "delegate"
    ordinal: Ordinal
    type: _Name
    data: JsonObject
    response_event: _Name
    response_topic: EventTopic
    timeout: _Seconds
    target: _Name | None = None
    group: Ordinal | None = None
    place: _Count = 0


class Asking(Frozen):
    """A question of the task in hand to people, as the data of its announcement says it."""

    kind: Literal["ask"] = "ask"
    ordinal: Ordinal
    about: JsonObject


class KeepingTask(Frozen):
    """State of the present task, and its counts. `expected_version` None: it has no row yet."""

    kind: Literal["keep_task"] = "keep_task"
    state: JsonObject
    sub_tasks: _Count = 0
    pending: _Count | None = None
    groups: tuple[Group, ...] = ()
    questions: _Count = 0
    expected_version: _Count | None = None


class KeepingSubTask(Frozen):
    kind: Literal["keep_sub_task"] = "keep_sub_task"
    place: _Count
    sub_task: SubTaskInfo


class EndingTask(Frozen):
    """Answer of the present task; with `stop`, the asked agents are told of the end of its waits."""

    kind: Literal["end_task"] = "end_task"
    ordinal: Ordinal
    answer: JsonObject
    stop: bool = False


class Remembering(Frozen):
    """A change of the working memory of a plan."""

    kind: Literal["remember"] = "remember"
    change: Literal["store", "drop", "increment", "append"]
    plan_id: _Name
    key: _Name
    value: Json = None
    expected_version: _Count | None = None


class OpeningSession(Frozen):
    kind: Literal["open_session"] = "open_session"
    ordinal: Ordinal
    name: _Text | None = None
    metadata: JsonObject = Field(default_factory=dict)


class Declaring(Frozen):
    """An event that the agent makes from now on."""

    kind: Literal["declare"] = "declare"
    definition: AsWritten


AnyAct = (
    Publishing
    | Delegating
    | Asking
    | KeepingTask
    | KeepingSubTask
    | EndingTask
    | Remembering
    | OpeningSession
    | Declaring
)
Act = Annotated[AnyAct, Field(discriminator="kind")]


class Handled(Frozen):
    end: Literal["handled"] = "handled"


class PutOff(Frozen):
    """To be handled again after so many seconds; `undone` and `counts` are those of `RetryAfter`."""

    end: Literal["put_off"] = "put_off"
    seconds: _Seconds
    reason: _Text
    undone: bool = False
    counts: bool = True


class GivenUp(Frozen):
    end: Literal["given_up"] = "given_up"
    reason: _Text
    undone: bool = False


class Doubted(Frozen):
    """Unknown outcome: people are asked."""

    end: Literal["doubted"] = "doubted"
    reason: _Text


AnyEnding = Handled | PutOff | GivenUp | Doubted
Ending = Annotated[AnyEnding, Field(discriminator="end")]


class Reading(StrEnum):
    """Lookups of a handler; each is a read of the store."""

    STANDING = "standing"
    PLAN = "plan"
    GOAL_OF = "goal_of"
    PLANS = "plans"
    PLAN_ANSWERING = "plan_answering"
    EXPECTATION = "expectation"
    NAMED_EXPECTATIONS = "named_expectations"
    GROUP = "group"
    MET_BY = "met_by"
    TASK = "task"
    AGENTS_OF_TASK = "agents_of_task"
    SUB_TASKS = "sub_tasks"
    TASK_EXPECTATIONS = "task_expectations"
    EVENT = "event"
    EVENTS = "events"
    HANDED = "handed"
    UNTAKEN = "untaken"
    PENDING = "pending"
    RECALL = "recall"
    MEMORY_KEYS = "memory_keys"
    SESSIONS = "sessions"
    DEFINITIONS = "definitions"
    KNOWN_EVENTS = "known_events"
    LIVE_EVENTS = "live_events"
    AGENTS = "agents"


class Neighbour(Record, frozen=True):
    """An agent as it is registered, and whether it lives."""

    registration: Registration
    live: bool


# The types in which readings are answered.
ANSWERS: Final[Mapping[Reading, object]] = {
    Reading.STANDING: tuple[str, str | None] | None,
    Reading.PLAN: PlanRecord | None,
    Reading.GOAL_OF: tuple[str, EventEnvelope] | None,
    Reading.PLANS: list[PlanRecord],
    Reading.PLAN_ANSWERING: PlanRecord | None,
    Reading.EXPECTATION: Expectation | None,
    Reading.NAMED_EXPECTATIONS: list[Expectation],
    Reading.GROUP: list[Expectation],
    Reading.MET_BY: Expectation | None,
    Reading.TASK: TaskRecord | None,
    Reading.AGENTS_OF_TASK: list[str],
    Reading.SUB_TASKS: list[SubTaskInfo],
    Reading.TASK_EXPECTATIONS: list[Expectation],
    Reading.EVENT: EventEnvelope | None,
    Reading.EVENTS: list[PlacedEvent],
    Reading.HANDED: list[EventHandling],
    Reading.UNTAKEN: list[Untaken],
    Reading.PENDING: int,
    Reading.RECALL: StoredValue,
    Reading.MEMORY_KEYS: list[str],
    Reading.SESSIONS: list[SessionSummary],
    Reading.DEFINITIONS: list[EventDefinition],
    Reading.KNOWN_EVENTS: list[RegisteredEvent],
    Reading.LIVE_EVENTS: list[RegisteredEvent],
    Reading.AGENTS: list[Neighbour],
}


class Read(Frozen):
    """One lookup: `id` is the id or the name of its object, `ids` those of several, and the others are the parameters
    of the store's read under these names."""

    what: Reading
    id: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    ids: Annotated[tuple[_Name, ...], Field(max_length=MOST_ACTS)] = ()
    agent: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    key: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    first: _Count = 0
    last: _Count | None = None
    after: RowId = 0
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50
    status: _Name | None = None
    root_plan_id: _Name | None = None
    session_id: _Name | None = None
