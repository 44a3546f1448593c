"""Review of a state machine drawn by a model, before any of it runs.

Beside the faults of any machine: requests without a taker now, data that does not fit, waits for events that cannot
come, templates for values that will not be known. Each fault is worded for the model.
"""

from collections.abc import Iterator

from soorma_ai.errors import InvalidPlan, LimitExceeded, PayloadMismatch
from soorma_ai.kernel.domain.schemas import describe, examine, violations
from soorma_ai.kernel.domain.slices import Slices
from soorma_ai.kernel.domain.states import USER_INPUT, PlanDefinition, StateAction, StateConfig, States
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.choices.drafts import QUESTION_DATA, STATE_NAME, Material
from soorma_ai.kernel.rules.decisions.judge import describe_unknown
from soorma_ai.kernel.rules.schemas.bounded import show
from soorma_ai.kernel.rules.state_machine.machine import faults_of, states_before
from soorma_ai.kernel.rules.state_machine.templates import Filling, fill, is_template, replace_texts, templates_in

MOST_FAULTS = 20

_NAMES: JsonObject = {"type": "string", "pattern": STATE_NAME}
# Rules about an object or an array itself, not about what is in it.
_SHAPES = frozenset(
    {"type", "required", "additionalProperties", "propertyNames", "dependentRequired"}
    | {"minProperties", "maxProperties", "minItems", "maxItems"}
)

# Where one of these stands, `properties` does not name all fields.
_MORE = frozenset({"allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"})


def review(machine: PlanDefinition, material: Material, goal_data: JsonObject) -> Slices[None]:
    """Raise InvalidPlan for a machine that cannot run; it names every fault, or the first few of very many."""
    faults = faults_of(machine.states, machine.initial_state)
    for name, config in machine.states.items():
        found = yield from _faults(config, machine.states, material, goal_data)
        faults += [f"{name!r} {fault}" for fault in found]
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise InvalidPlan(f"the state machine cannot run: {'; '.join(faults[:MOST_FAULTS])}{more}")


def _faults(config: StateConfig, states: States, material: Material, goal_data: JsonObject) -> Slices[list[str]]:
    faults: list[str] = []
    if violations(_NAMES, config.state_name):
        faults.append("is no name that templates can spell: take letters, digits, _ and -, and a letter or _ first")
    if config.action is not None:
        faults += yield from _action_faults(config.action, material, goal_data)
    faults += _way_faults(config, material)
    if config.is_terminal and not config.fails:
        faults += yield from _result_faults(config, material, goal_data)
    return [*faults, *_template_faults(config, states, material, goal_data)]


def _template_faults(config: StateConfig, states: States, material: Material, goal_data: JsonObject) -> Iterator[str]:
    written: Json = [config.action.data if config.action else None, config.result]
    for path in templates_in(written):
        if fault := _path_fault(path, config.state_name, states, material, goal_data):
            yield f"cannot fill in {{{path}}}: {fault}"


def _action_faults(action: StateAction, material: Material, goal_data: JsonObject) -> Slices[list[str]]:
    faults: list[str] = []
    if action.is_question:
        schema = QUESTION_DATA
        if action.response_event not in material.outside:
            unknown = describe_unknown("response_event", action.response_event, material.outside)
            faults.append(f"asks a person: {unknown}")
    else:
        definition = material.requests.get(action.event_type)
        if definition is None:
            return ["asks what nobody takes: " + describe_unknown("event", action.event_type, [*material.requests])]
        schema = definition.payload_schema
        if action.response_event:
            faults.append("names a response_event: only a question to a person has one")
    data = _fill_from_goal(action.data or {}, goal_data)
    if found := (yield from examine(schema, data, passing=_is_still_open)):
        faults.append(f"asks {action.event_type!r} with data that does not match its schema: {describe(found)}")
    return faults


def _way_faults(config: StateConfig, material: Material) -> Iterator[str]:
    if config.passes_on and config.transitions:
        yield "asks nothing and goes to its default_next at once, so none of its transitions is ever taken"
        return
    possible = material.after(config.action) if config.action else material.outside
    for transition in config.transitions:
        if transition.on_event not in possible:
            late = transition.on_event.endswith("timeout") and config.action and not config.action.timeout_seconds
            why = " Without timeout_seconds nothing is ever late." if late else ""
            yield f"waits for what cannot come: {describe_unknown('event', transition.on_event, possible)}{why}"


def _result_faults(config: StateConfig, material: Material, goal_data: JsonObject) -> Slices[list[str]]:
    promised = material.offer.result_schema
    if promised is None:
        return []
    if config.result is None:
        return ["completes the plan without a result, and the goal promises one"]
    found = yield from examine(promised, _fill_from_goal(config.result, goal_data), passing=_is_still_open)
    return [f"has a result that does not match the goal's response schema: {describe(found)}"] if found else []


def _fill_from_goal(template: Json, goal_data: JsonObject) -> Json:
    """Fill in the values known now, as far as an event has room for them; the rest stays a template."""
    filling = Filling({"goal_data": goal_data, "results": {}, "state": {}})

    def fill_known(text: str) -> Json:
        try:
            return filling.fill(text)
        except (PayloadMismatch, LimitExceeded):
            return text

    return replace_texts(template, fill_known)


def _is_still_open(rule: str, found: Json) -> bool:
    """Tell whether a value may still come to fit: a template alone may become anything, one in a text stays text."""
    if isinstance(found, str):
        return is_template(found) or (rule != "type" and any(templates_in(found)))
    return rule not in _SHAPES and any(templates_in(found))


def _path_fault(path: str, name: str, states: States, material: Material, goal_data: JsonObject) -> str:
    root, *rest = path.split(".")
    match root, rest:
        case "goal_data", _:
            try:
                fill(f"{{{path}}}", {"goal_data": goal_data})
            except PayloadMismatch:
                return f"the goal has {', '.join(map(repr, goal_data)) or 'no data'}"
        case "results", [asker, *fields] if asker in states and asker != USER_INPUT:
            if asker not in states_before(name, states):
                return f"the plan is never in {asker!r} before it is in {name!r}"
            return _answer_fault(states[asker], fields, material)
        case _:
            pass
    return ""


def _answer_fault(asker: StateConfig, fields: list[str], material: Material) -> str:
    """Return the reason against a field of an answer; empty for a possible one: `error`, or a promised field of the
    event."""
    if asker.action is None:
        return "" if asker.transitions else f"{asker.state_name!r} asks nothing, so nothing is answered there"
    request = asker.action.event_type
    definition = material.requests.get(request)
    promised = definition.response_schema if definition else None
    others = {transition.on_event for transition in asker.transitions} & {*material.answers.get(request, ())}
    if promised is None or others or fields[:1] == ["error"]:
        return ""
    known = _fields_beside(fields, show(promised).plain)
    return (
        f"what {request!r} answers has {', '.join(map(repr, known)) or 'no fields'} there" if known is not None else ""
    )


def _fields_beside(fields: list[str], schema: Json) -> list[str] | None:
    """Return the fields that stand where one of these is missing; None where all of them can be there."""
    for field in fields:
        known = schema.get("properties") if isinstance(schema, dict) else None
        if not isinstance(schema, dict) or not isinstance(known, dict):
            return None
        if field not in known:
            may_be_more = schema.get("additionalProperties") or _MORE & schema.keys()
            return None if may_be_more else list(known)
        schema = known[field]
    return None
