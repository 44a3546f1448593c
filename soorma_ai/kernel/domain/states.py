"""State machine of a plan, in the author's words: the action of each state, and the events of its transitions."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from pydantic import Field, ValidationError

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import completion_of
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, Frozen, Json, JsonObject

START = "start"
FAILED = "failed"
USER_INPUT = "user_input"

PROGRESS = "task.progress"
HUMAN_INPUT = "notification.human_input"
WAIT_REMINDED = "plan.wait.reminded"
WAIT_ESCALATED = "plan.wait.escalated"
WAIT_HANDED_OVER = "plan.wait.handed_over"
OPERATOR_NEEDED = "plan.operator.needed"
# What people are told by, and so what only the platform publishes.
ANNOUNCEMENTS = frozenset({HUMAN_INPUT, WAIT_REMINDED, WAIT_ESCALATED, WAIT_HANDED_OVER, OPERATOR_NEEDED})
RESUMED = "plan.resumed"
TIMEOUT = "timeout"
REJECTED = "rejected"


class StateAction(Frozen):
    """Request published on the entry of its state; `notification.human_input` is a question to people.

    In `data`, `{goal_data.x}`, `{results.state.field}` and `{state.x}` are placeholders for values, with one brace or
    two; a text of nothing else gets the value as it is. Without `timeout_seconds` the answer may take as long as the
    plan may.
    """

    event_type: str = Field(min_length=1)
    """Name of the request."""
    response_event: str = ""
    """Name of the answer; by default the request's name with `.completed`."""
    data: JsonObject | None = None
    timeout_seconds: float | None = Field(default=None, gt=0, le=LONGEST_WAIT_SECONDS)

    @property
    def answer(self) -> str:
        """Return the event of its answer."""
        return self.response_event or completion_of(self.event_type)

    @property
    def is_question(self) -> bool:
        """Tell whether it asks a person."""
        return self.event_type == HUMAN_INPUT


class StateTransition(Frozen):
    """Transition to another state. `condition` is CEL over `payload` (the answer), `data` (the whole event),
    `goal_data`, `results` and `state`; an undecidable one does not hold.

    A reply of failure is not `x.completed` but `x.failed`, and its error code; a late one is `x.timeout`, the request's
    own name with `.timeout`, and `timeout`; a request refused by a person is `x.rejected` and `rejected`. Without
    transitions for these, `x.failed` takes them.
    """

    on_event: str = Field(min_length=1)
    """Name of the event, or code of an error."""
    to_state: str
    """Name of the next state."""
    condition: str | None = None


class StateConfig(Frozen):
    """State of a plan. With an action it continues with the answer. Without one it continues with `default_next` at
    once, or waits for an event of its transitions. Beside an action, `default_next` takes an answer without a fitting
    transition.

    A terminal state ends the plan: with `result`, a template as in an action, or with all results. The one called
    `failed` fails it, unless `outcome` says otherwise; with the outcome `not_achieved` it fails as `gave_up`.
    """

    state_name: str = Field(min_length=1)
    """Name of the state."""
    description: str = ""
    """Description for people."""
    action: StateAction | None = None
    """Request of the state."""
    transitions: tuple[StateTransition, ...] = ()
    """Ways to other states, in order."""
    default_next: str | None = None
    is_terminal: bool = False
    """True for an end of the plan."""
    outcome: Literal["completed", "failed", "not_achieved"] | None = None
    result: Json = None

    @property
    def fails(self) -> bool:
        """Tell whether the plan fails by coming here."""
        return self.outcome != "completed" if self.outcome else self.state_name == FAILED

    @property
    def passes_on(self) -> str | None:
        """Next state without an event; None if an event or the end follows."""
        return self.default_next if self.action is None and not self.is_terminal else None


class PlanDefinition(Frozen):
    """A whole plan: a state machine, with a name and a description for people."""

    plan_type: str = Field(min_length=1)
    """Name of the state machine."""
    description: str = ""
    """Description for people."""
    initial_state: str = START
    """Name of the first state."""
    states: dict[str, StateConfig]
    """States by their names."""


States: TypeAlias = Mapping[str, StateConfig]
StateMachine: TypeAlias = PlanDefinition | Mapping[str, StateConfig] | Mapping[str, JsonObject]


def initial_of(machine: StateMachine) -> str:
    return machine.initial_state if isinstance(machine, PlanDefinition) else START


def states_of(machine: StateMachine) -> dict[str, StateConfig]:
    """Return the states by name. Raises ConfigError with every malformed part."""
    if isinstance(machine, PlanDefinition):
        return dict(machine.states)
    made: dict[str, StateConfig] = {}
    faults: list[str] = []
    for name, given in _mapping("a state machine", machine).items():
        try:
            made[name] = (
                given
                if isinstance(given, StateConfig)
                else StateConfig.model_validate({"state_name": name, **_mapping(f"state {name!r}", given)})
            )
        except ValidationError as error:
            faults += [f"{'.'.join(map(str, (name, *e['loc'])))}: {e['msg']}" for e in error.errors(include_url=False)]
    if faults:
        raise ConfigError(f"the state machine is malformed: {'; '.join(faults)}")
    return made


def plan_definition_of(given: PlanDefinition | Mapping[str, Any]) -> PlanDefinition:
    """Return a plan type, also one read from JSON. Raise ConfigError with every malformed part."""
    if isinstance(given, PlanDefinition):
        return given
    found = _mapping("a plan type", given)
    states = states_of(_mapping("the states of a plan type", found.get("states")))
    try:
        return PlanDefinition.model_validate({**found, "states": states})
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)]
        raise ConfigError(f"the plan type is malformed: {'; '.join(faults)}") from error


def _mapping(what: str, given: object) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{what} is a mapping by names, found {given!r}")
    return cast(Mapping[Any, Any], given)
