"""State machines drawn by a model: their material, the closed schema that they must fit, and the way back.

The wire form is that of `PlanDefinition`, its states as a list; null is how strict providers say that nothing is given.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from soorma_ai.errors import LocalProtocolError, MalformedDecision
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import DiscoveredAgent, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.slices import Slices
from soorma_ai.kernel.domain.states import HUMAN_INPUT, PlanDefinition, StateAction, StateConfig
from soorma_ai.kernel.domain.values import Json, JsonObject, compact, derived_id
from soorma_ai.kernel.rules.choices.form import TIMEOUT_SECONDS
from soorma_ai.kernel.rules.choices.offer import PUBLISH, WAIT, Offer, goal_choice, make_offer
from soorma_ai.kernel.rules.schemas.bounded import show
from soorma_ai.kernel.rules.schemas.combine import fold_all_of
from soorma_ai.kernel.rules.schemas.nulls import strip_wire_nulls
from soorma_ai.kernel.rules.schemas.portable import is_too_large, object_schema
from soorma_ai.kernel.rules.state_machine.machine import names_after

STATE_NAME = "^[A-Za-z_][A-Za-z0-9_-]*$"
QUESTION_DATA = object_schema({"question": {"type": "string"}})

_TEXT: JsonObject = {"type": "string"}
_TEMPLATE: JsonObject = {"type": "string", "pattern": r"^\{[A-Za-z_][A-Za-z0-9_.-]*\}$"}
_RULES_OF_TEXT = frozenset({"enum", "const", "pattern", "format", "minLength", "maxLength"})
# Rules that a value may seem to break as long as a template in it is not filled in.
_LEFT_OUT = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "uniqueItems", "dependentSchemas"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)


class Material(Struct, frozen=True, dict=True):
    """Material of a state machine. `answers` are further events as possible answers of a request. `wanted` are the
    requests for it, offered now or not; none means all."""

    offer: Offer
    answers: Mapping[str, tuple[str, ...]]
    wanted: tuple[str, ...] = ()

    @cached_property
    def requests(self) -> dict[str, EventDefinition]:
        """Return definitions by name; a goal of another planner is asked for like an event."""
        found: dict[str, EventDefinition] = {}
        for definition in (*self.offer.events, *(delegate.goal for delegate in self.offer.delegates)):
            found.setdefault(definition.event_name, definition)
        return found

    @property
    def outside(self) -> list[str]:
        """Events that can be waited for."""
        return [awaited.definition.event_name for awaited in self.offer.waits]

    def after(self, action: StateAction) -> list[str]:
        """Return all names for a transition after an action."""
        asked = self.requests.get(action.event_type)
        names = names_after(action, is_gated=asked is not None and asked.approval is not None)
        return [*dict.fromkeys((*names, *self.answers.get(action.event_type, ())))]

    @cached_property
    def schema(self) -> JsonObject:
        """The closed schema of a machine, with a branch for each request. The names of events are closed too, unless
        they are more than providers take."""
        actions: list[Json] = [_request_form(definition) for definition in self.requests.values()]
        possible = [StateAction(event_type=name, timeout_seconds=1) for name in self.requests]
        for name in self.outside:
            possible.append(StateAction(event_type=HUMAN_INPUT, response_event=name, timeout_seconds=1))
        if self.outside:
            question = _action_form(HUMAN_INPUT, QUESTION_DATA, {"response_event": {"enum": [*self.outside]}})
            actions.append({"description": "Ask a person.", **question})
        names: list[Json] = [*dict.fromkeys(name for action in possible for name in self.after(action))]
        schema = _machine_schema(self, actions, {"enum": names})
        return _machine_schema(self, actions, _TEXT) if is_too_large(schema) else schema

    @cached_property
    def digest(self) -> str:
        return derived_id("offer", compact(self.schema))


def gather_material(
    planner: str,
    live: Iterable[DiscoveredAgent],
    chosen: Sequence[DiscoveredAgent],
    awaits: Iterable[EventDefinition],
    result_schema: JsonObject | None,
) -> Material:
    """Gather the events of `live` agents: the requests of the `chosen` ones too, or without these, all. Raises
    LocalProtocolError for chosen ones without any request."""
    wanted = tuple(dict.fromkeys(name for one in chosen for name in _requests_to(one)))
    if chosen and not wanted:
        names = ", ".join(one.name for one in chosen)
        raise LocalProtocolError(f"no request is known that {names} would take: discover agents with their events")
    makers = {one.agent_id for one in chosen}
    registered: list[RegisteredEvent] = []
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for one in live:
        for role, definition in one.events:
            is_made = role is EventRole.MAKES
            if not wanted or (one.agent_id in makers if is_made else definition.event_name in wanted):
                registered.append(RegisteredEvent(one.agent_id, one.kind, role, definition))
        for name in _requests_to(one):
            answers[name] += _answers_of(one, name)
    offer = make_offer(planner, registered, awaits, result_schema)
    return Material(offer, {name: tuple(dict.fromkeys(found)) for name, found in answers.items()}, wanted)


def narrow(material: Material, choices: Collection[str]) -> Material:
    """Return the material with only these choices of its offer; the material of a plan is shown whole."""
    offer = material.offer
    narrowed = replace(
        offer,
        events=tuple(event for event in offer.events if PUBLISH + event.event_name in choices),
        delegates=tuple(one for one in offer.delegates if goal_choice(one.planner, one.goal.event_name) in choices),
        waits=tuple(one for one in offer.waits if WAIT + one.definition.event_name in choices),
    )
    return replace(material, offer=narrowed)


def _requests_to(agent: DiscoveredAgent) -> list[str]:
    taking = (EventRole.TAKES, EventRole.TAKES_AS_GOAL)
    requests = [made for role, made in agent.events if role in taking and made.topic is EventTopic.ACTION_REQUESTS]
    return [definition.event_name for definition in requests]


def _answers_of(agent: DiscoveredAgent, request: str) -> list[str]:
    """Return the declared results of an agent, and those of a capability with this request."""
    made = [definition for role, definition in agent.events if role is EventRole.MAKES]
    for capability in agent.capabilities:
        if not isinstance(capability, str) and capability.consumed_event.event_name == request:
            made += capability.produced_events
    return [definition.event_name for definition in made if definition.topic is EventTopic.ACTION_RESULTS]


def _machine_schema(material: Material, actions: list[Json], on_event: JsonObject) -> JsonObject:
    ways = object_schema({"on_event": on_event, "to_state": _TEXT, "condition": _TEXT}, ("condition",))
    promised = material.offer.result_schema
    state = object_schema(
        {
            "state_name": {"type": "string", "pattern": STATE_NAME},
            "description": _TEXT,
            "action": {"anyOf": actions},
            "transitions": {"type": "array", "items": ways},
            "default_next": _TEXT,
            "is_terminal": {"type": "boolean"},
            "outcome": {"enum": ["completed", "not_achieved"]},
            "result": allow_templates(show(promised).plain) if promised else _TEXT,
        },
        ("action", "default_next", "outcome", "result"),
    )
    drawn = object_schema({"reasoning": _TEXT, "initial_state": _TEXT, "states": {"type": "array", "items": state}})
    return {"description": "The whole plan, as a state machine.", **drawn}


def _request_form(definition: EventDefinition) -> JsonObject:
    shown = _allow_inner_templates(show(definition.payload_schema).plain)
    asking = _action_form(definition.event_name, shown, {})
    return {"description": definition.description, **asking} if definition.description else asking


def _action_form(event_type: str, data: Json, more: JsonObject) -> JsonObject:
    properties: JsonObject = {"event_type": {"const": event_type}, "data": data, **more}
    return object_schema({**properties, "timeout_seconds": TIMEOUT_SECONDS}, ("timeout_seconds",))


def allow_templates(schema: Json) -> Json:
    """Allow a template wherever `schema` wants anything but free text. It only shows the model the possibilities; the
    data is checked against the document itself."""
    inner = _allow_inner_templates(schema)
    if not isinstance(inner, dict) or _is_free_text(inner):
        return inner
    alternatives = inner.get("anyOf")
    if isinstance(alternatives, list) and inner.keys() <= {"anyOf", "description", "title", "default"}:
        free = any(isinstance(branch, dict) and _is_free_text(branch) for branch in alternatives)
        return inner if free else {**inner, "anyOf": [*alternatives, _TEMPLATE]}
    described: JsonObject = {"description": inner["description"]} if "description" in inner else {}
    return {**described, "anyOf": [{key: item for key, item in inner.items() if key != "description"}, _TEMPLATE]}


def _allow_inner_templates(schema: Json) -> Json:
    """Allow templates within the value, and none for the whole of it."""
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for keyword, value in fold_all_of(schema).items():
        match keyword, value:
            case (("properties" | "patternProperties"), dict()):
                out[keyword] = {name: allow_templates(child) for name, child in value.items()}
            case (("items" | "additionalProperties"), _):
                out[keyword] = allow_templates(value)
            case "prefixItems", list():
                out[keyword] = [allow_templates(child) for child in value]
            case (("anyOf" | "oneOf"), list()):
                out["anyOf"] = [_allow_inner_templates(branch) for branch in value]
            case _ if keyword not in _LEFT_OUT:
                out[keyword] = value
            case _:
                pass
    return out


def _is_free_text(schema: JsonObject) -> bool:
    return schema.get("type") == "string" and not _RULES_OF_TEXT & schema.keys()


def parse_machine(value: Json, fault: str, plan_type: str) -> PlanDefinition:
    """Return the state machine of the wire form. `fault` is the reason for an answer without JSON, if there is one.
    Raises MalformedDecision with every part off the schema."""
    if not isinstance(value, dict):
        raise MalformedDecision(fault or "the answer is no JSON object")
    if extra := sorted(value.keys() - {"reasoning", "initial_state", "states"}):
        found = ", ".join(map(repr, extra))
        raise MalformedDecision(
            f"only 'reasoning', 'initial_state' and 'states' are allowed at the top, found also {found}"
        )
    initial, states = value.get("initial_state"), value.get("states")
    if not isinstance(initial, str) or not isinstance(states, list):
        raise MalformedDecision("'initial_state' must name a state, and 'states' be the list of all of them")
    made: dict[str, StateConfig] = {}
    faults: list[str] = []
    for number, given in enumerate(states):
        try:
            config = StateConfig.model_validate_json(compact(_drop_nulls(given)), strict=True)
        except ValidationError as error:
            faults += [f"{'.'.join(map(str, ('states', number, *e['loc'])))}: {e['msg']}" for e in error.errors()]
            continue
        if config.state_name in made:
            faults.append(f"two states are called {config.state_name!r}")
        made[config.state_name] = config
    if faults:
        raise MalformedDecision(f"the plan does not fit its schema: {'; '.join(faults)}")
    reasoning = value.get("reasoning")
    description = reasoning if isinstance(reasoning, str) else ""
    return PlanDefinition(plan_type=plan_type, description=description, initial_state=initial, states=made)


def _drop_nulls(given: Json) -> Json:
    """Remove nulls, except in data and results, where they may mean null."""
    if isinstance(given, list):
        return [_drop_nulls(item) for item in given]
    if not isinstance(given, dict):
        return given
    return {
        key: item if key in ("data", "result") else _drop_nulls(item) for key, item in given.items() if item is not None
    }


def prepare_machine(machine: PlanDefinition, material: Material) -> Slices[PlanDefinition]:
    """Return the machine as it would be carried out, without nulls that stand for absent options."""
    promised = material.offer.result_schema
    states: dict[str, StateConfig] = {}
    for name, config in machine.states.items():
        action = config.action
        asked = material.requests.get(action.event_type) if action else None
        if action and asked and action.data is not None:
            data = yield from strip_wire_nulls(action.data, asked.payload_schema)
            action = action.model_copy(update={"data": data})
        result = (yield from strip_wire_nulls(config.result, promised)) if promised else config.result
        states[name] = config.model_copy(update={"action": action, "result": result})
    return machine.model_copy(update={"states": states})
