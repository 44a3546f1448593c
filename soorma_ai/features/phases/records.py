"""Records of a journey: its phases and transitions, the visits, checkpoints, and events for people."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import asdict
from pydantic import Field

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import Frozen, Json, JsonObject, json_object

CHECKPOINT_ANSWERED = "phase.checkpoint.answered"
MESSAGE_KEPT = "agent.message.kept"


class PhaseTransition(Struct, frozen=True):
    """Way from one phase to another, taken when its condition holds.

    The condition is the result of the agent's `_evaluate_transition_condition`; with `expression`, CEL over `context`,
    `work`, `visits`, `messages` and `brief`; with `question`, the model's answer to it.
    """

    from_phase: Enum
    """Phase before."""
    to_phase: Enum
    """Phase after."""
    condition: str
    """Name of the condition."""
    is_backward: bool
    """True for a return to an earlier phase."""
    priority: int = 0
    """Order among the open ways, the highest first, after backward ones."""
    expression: str = ""
    question: str = ""


class DecidedBy(StrEnum):
    """Origin of a decision for a transition."""

    METHOD = "method"
    EXPRESSION = "expression"
    MODEL = "model"
    PERSON = "person"


class TransitionRecord(Struct, frozen=True):
    """Taken transition: its reason, in detail if there is one, and the origin of its decision."""

    from_phase: Enum
    to_phase: Enum
    reason: str
    is_backward: bool
    timestamp: datetime
    detail: str = ""
    decided_by: DecidedBy = DecidedBy.METHOD


class OpenTransition(Record, frozen=True):
    """Transition with a true condition."""

    to_phase: str
    reason: str
    is_backward: bool
    decided_by: DecidedBy = DecidedBy.METHOD
    detail: str = ""


class JourneyState(Record, frozen=True):
    """How a journey stands, one small row. A phase's visits are counted when it is entered, the first phase included.

    `reason` and `detail` are those of the transition that led to this visit, backward or not, and go with the next one.
    `actions` are the requests of this visit; `moves` the transitions of the journey. `checkpoint` is the wait for
    people that `leading` waits for.
    """

    phase: str
    visits: Mapping[str, int]
    reason: str = ""
    detail: str = ""
    is_back: bool = False
    actions: int = 0
    moves: int = 0
    checkpoint: str | None = None
    leading: OpenTransition | None = None

    @property
    def visit(self) -> int:
        return self.visits[self.phase]

    @property
    def trigger(self) -> str | None:
        """Reason of the last backward transition; None without one."""
        return self.reason if self.is_back else None


@dataclasses.dataclass(kw_only=True)
class BasePhaseContext:
    """Knowledge of an agent across the visits of its phases; a subclass adds fields, each of which is a row."""

    phase_visits: dict[Enum, int] = dataclasses.field(default_factory=dict[Enum, int])
    """Number of visits by phase."""
    transition_history: list[TransitionRecord] = dataclasses.field(default_factory=list[TransitionRecord])
    """Taken transitions, oldest first."""
    backward_trigger: str | None = None
    """Condition of the last return; None without one."""
    backward_trigger_detail: str | None = None
    """Exact work for this condition."""


class CheckpointKind(StrEnum):
    """Kind of a checkpoint. BLOCKING waits for a person; OPTIONAL goes on after its time; INFORMATIONAL does not
    wait."""

    BLOCKING = "blocking"
    OPTIONAL = "optional"
    INFORMATIONAL = "informational"


OPTIONS = ("approve", "modify", "reject")


class Checkpoint(Struct, frozen=True):
    """Gate for people between a phase and the next one. `about` is shown to them; `approvers` are roles. `changes` is
    the JSON Schema of their modifications: unfitting ones are no answer, and the gate stays."""

    id: str
    """Id of the checkpoint."""
    message: str
    """Question to people."""
    options: tuple[str, ...] = OPTIONS
    """Possible decisions."""
    kind: CheckpointKind = CheckpointKind.BLOCKING
    """Kind of the gate."""
    timeout: timedelta | None = None
    """Time of an optional one, after which the journey goes on; None for the others."""
    approvers: tuple[str, ...] = ()
    about: JsonObject = field(default_factory=dict[str, Json])
    changes: JsonObject = field(default_factory=lambda: dict(ANY_OBJECT))

    def __post_init__(self) -> None:
        if (self.kind is CheckpointKind.OPTIONAL) is not (self.timeout is not None):
            raise ConfigError(
                f"checkpoint {self.id!r}: an optional one has a timeout, after which the journey goes on; others none"
            )

    @property
    def waits(self) -> bool:
        """Tell whether the journey stands still until it is answered, or its time is over."""
        return self.kind is not CheckpointKind.INFORMATIONAL


class JourneyDesignBrief(Frozen):
    """Brief of a journey: its topic, its goal, and further data for its agent."""

    topic: str
    """Topic of the journey."""
    purpose: str = ""
    """Goal of the journey."""
    details: JsonObject = Field(default_factory=dict)
    """Further data for the agent."""


class SSEEvent(Struct, frozen=True, kw_only=True):
    """Event for people during an agent's work. One that `leaves_at_once` is sent before any commit of its cause, and
    not sent again by a second handling; the rest is sent with the handling."""

    event_type: ClassVar[str]
    leaves_at_once: ClassVar[bool] = False

    @property
    def type(self) -> str:
        return self.event_type

    @property
    def data(self) -> JsonObject:
        return json_object(f"the data of {self.type!r}", asdict(self))


class PhaseChangedEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "phase.changed"
    from_phase: str
    to_phase: str
    is_backward: bool
    reason: str | None = None
    detail: str = ""
    decided_by: str = ""
    visit: int = 1


class CheckpointEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "phase.checkpoint"
    checkpoint_id: str
    message: str
    options: tuple[str, ...] = OPTIONS
    requires_approval: bool = True
    kind: str = CheckpointKind.BLOCKING
    phase: str = ""
    wait_id: str | None = None
    about: JsonObject = field(default_factory=dict[str, Json])

    @property
    def data(self) -> JsonObject:
        options: list[Json] = [*self.options]
        return {**asdict(self), "options": options}


class AgentThinkingEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "agent.thinking"
    leaves_at_once: ClassVar[bool] = True
    message: str


class AgentSpeakingEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "agent.speaking"
    leaves_at_once: ClassVar[bool] = True
    message: str


class AgentCompleteEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "agent.complete"
    summary: Json


class ToolStartEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "tool.start"
    tool_name: str
    parameters: JsonObject


class ToolSuccessEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "tool.success"
    leaves_at_once: ClassVar[bool] = True
    tool_name: str
    result_summary: str


class ToolErrorEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "tool.error"
    leaves_at_once: ClassVar[bool] = True
    tool_name: str
    error: str


class DataEvent(SSEEvent, frozen=True, kw_only=True):
    """Update of the agent's knowledge: `data.<name>`, as in `data.question.added`."""

    event_type: ClassVar[str] = "data"
    name: str
    value: JsonObject

    @property
    def type(self) -> str:
        return f"data.{self.name}"

    @property
    def data(self) -> JsonObject:
        return self.value


class ErrorEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = "error"
    code: str
    message: str
