"""The state machine of a plan as its author writes it: the action of each state, and the event that leads on."""

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
    """A request that is published when its state is entered; `notification.human_input` is a question to people.

    In `data`, `{goal_data.x}`, `{results.state.field}` and `{state.x}` stand for what they name, with one brace or two;
    a text that is nothing else gets the value as it is. Without `timeout_seconds` the answer may take as long as the
    plan may.
    """

    event_type: str = Field(min_length=1)
    response_event: str = ""
    data: JsonObject | None = None
    timeout_seconds: float | None = Field(default=None, gt=0, le=LONGEST_WAIT_SECONDS)

    @property
    def answer(self) -> str:
        """Return the event that answers it."""
        return self.response_event or completion_of(self.event_type)

    @property
    def is_question(self) -> bool:
        """Tell whether it asks a person."""
        return self.event_type == HUMAN_INPUT


class StateTransition(Frozen):
    """`condition` is CEL over `payload` (what was answered), `data` (the whole event), `goal_data`, `results` and
    `state`; where it cannot be decided, it does not hold.

    A reply of failure is no `x.completed` but `x.failed`, and its error code; one that is too late is `x.timeout`, the
    request's own name with `.timeout`, and `timeout`; a request that a person did not let go is `x.rejected` and
    `rejected`. Where these are not named, `x.failed` takes them.
    """

    on_event: str = Field(min_length=1)
    to_state: str
    condition: str | None = None


class StateConfig(Frozen):
    """A state with an action goes on with the answer; one without goes on with `default_next` at once, or waits for an
    event that its transitions name. Beside an action, `default_next` is where an answer leads that no transition takes.

    A terminal state ends the plan: with `result`, a template as in an action, or with all results. The one called
    `failed` fails it, unless `outcome` says otherwise; with the outcome `not_achieved` it fails as `gave_up`.
    """

    state_name: str = Field(min_length=1)
    description: str = ""
    action: StateAction | None = None
    transitions: tuple[StateTransition, ...] = ()
    default_next: str | None = None
    is_terminal: bool = False
    outcome: Literal["completed", "failed", "not_achieved"] | None = None
    result: Json = None

    @property
    def fails(self) -> bool:
        """Tell whether the plan fails by coming here."""
        return self.outcome != "completed" if self.outcome else self.state_name == FAILED

    @property
    def passes_on(self) -> str | None:
        """State that follows without an event; None where an event or the end does."""
        return self.default_next if self.action is None and not self.is_terminal else None


class PlanDefinition(Frozen):
    """A whole plan: a state machine, with a name and a description for people."""

    plan_type: str = Field(min_length=1)
    description: str = ""
    initial_state: str = START
    states: dict[str, StateConfig]


States: TypeAlias = Mapping[str, StateConfig]
StateMachine: TypeAlias = PlanDefinition | Mapping[str, StateConfig] | Mapping[str, JsonObject]


def initial_of(machine: StateMachine) -> str:
    return machine.initial_state if isinstance(machine, PlanDefinition) else START


def states_of(machine: StateMachine) -> dict[str, StateConfig]:
    """Return the states by name. Raises ConfigError, which names every part that is malformed."""
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


def _mapping(what: str, given: object) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{what} is a mapping by names, found {given!r}")
    return cast(Mapping[Any, Any], given)
