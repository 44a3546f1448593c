"""The wire form of a decision: parsed strictly, with faults in words for the model."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from soorma_ai.errors import MalformedDecision
from soorma_ai.kernel.domain.decisions import GIVE_UP, PlannerDecision
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact
from soorma_ai.kernel.rules.choices.form import PUBLISH_ALL
from soorma_ai.kernel.rules.choices.offer import DELEGATE, PUBLISH
from soorma_ai.kernel.rules.decisions.judge import NAME_CHARS, closest

Choices = Mapping[str, EventDefinition]


def parse_decision(value: Json, fault: str, choices: Choices | None = None) -> PlannerDecision:
    """Return the decision in its wire form. `fault` is the reason against the JSON of the answer, if any; `choices` are
    those of the offer."""
    if not isinstance(value, dict):
        raise MalformedDecision(fault or "the answer is no JSON object")
    if "step" not in value:
        raise MalformedDecision(f"there is no 'step'; found only {', '.join(map(repr, value)) or 'nothing'}")
    step = value["step"]
    if not isinstance(step, dict):
        raise MalformedDecision(f"'step' must be one object of the schema, found {compact(step)[:200]}")
    reasoning = value.get("reasoning")
    extra = sorted(set(value) - {"reasoning", "step"})
    if extra:
        raise MalformedDecision(
            f"only 'reasoning' and 'step' are allowed at the top, found also {', '.join(map(repr, extra))}"
        )
    try:
        return PlannerDecision.model_validate(
            {
                "next_action": _parse_action(step, choices or {}),
                "reasoning": reasoning if isinstance(reasoning, str) else "",
            },
            strict=True,
        )
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, ('step', *e['loc'][2:])))}: {e['msg']}" for e in error.errors())
        raise MalformedDecision(f"the step does not fit its branch: {faults}") from error


def _parse_action(step: JsonObject, choices: Choices) -> JsonObject:
    action = step.get("action")
    if not isinstance(action, str):
        raise MalformedDecision("'step.action' is missing; it names what to do")
    if action.startswith(PUBLISH):
        return {"action": "publish", "event_type": action.removeprefix(PUBLISH), "data": _parse_data(step)}
    if action == PUBLISH_ALL:
        fields = _fields(step, "requests", optional=("need", "timeout_seconds"))
        return {"action": PUBLISH_ALL, **fields, "requests": _parse_requests(fields["requests"], choices)}
    if action.startswith(DELEGATE):
        planner, goal = _parse_delegation(action, choices)
        data = _parse_data(step)
        return {"action": "delegate", "target_planner": planner, "goal_event": goal, "goal_data": data}
    if action == "wait":
        return {"action": "wait", **_parse_wait(step)}
    if action == "complete":
        return {"action": "complete", **_fields(step, "result")}
    if action == GIVE_UP:
        return {"action": "complete", "outcome": "not_achieved", **_parse_giving_up(step)}
    hint = closest(action, [*choices])
    raise MalformedDecision(
        f"'step.action' is {clip(action, NAME_CHARS)!r}{hint}; it must be one of the actions of the schema"
    )


def _parse_delegation(action: str, choices: Choices) -> tuple[str, str]:
    """Return the planner and the goal. Both names may hold the sign between them, so the offered goal decides."""
    named, offered = action.removeprefix(DELEGATE), choices.get(action)
    if offered is not None:
        return named.removesuffix(f"/{offered.event_name}"), offered.event_name
    planner, _, goal = named.rpartition("/")
    return planner, goal


def _parse_data(step: JsonObject) -> JsonObject:
    data = _fields(step, "data")["data"]
    if not isinstance(data, dict):
        raise MalformedDecision(f"'step.data' must be an object, found {compact(data)[:200]}")
    return data


def _parse_wait(step: JsonObject) -> JsonObject:
    fields = _fields(step, "expected_event", "message", optional=("timeout_seconds",))
    if isinstance(message := fields["message"], str) and not message.strip():
        raise MalformedDecision("'step.message' is blank; it must say what a person is asked")
    return fields


def _parse_giving_up(step: JsonObject) -> JsonObject:
    fields = _fields(step, "reason", optional=("missing",))
    if not isinstance(reason := fields["reason"], str) or not reason.strip():
        raise MalformedDecision(f"'step.reason' must say why the goal cannot be reached, found {compact(reason)[:200]}")
    return fields


def _parse_requests(items: Json, choices: Choices) -> Json:
    """Parse each request as if it were alone."""
    if not isinstance(items, list):
        raise MalformedDecision(f"'step.requests' must be a list, found {compact(items)[:200]}")
    found: list[Json] = []
    for number, item in enumerate(items, 1):
        action = item.get("action") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(action, str) or not action.startswith(PUBLISH):
            raise MalformedDecision(
                f"request {number} of {len(items)} must be an object whose 'action' is one of the {PUBLISH}<event> of "
                f"the schema, found {compact(item)[:200]}"
            )
        try:
            found.append(_parse_action(item, choices))
        except MalformedDecision as error:
            raise MalformedDecision(f"request {number} of {len(items)}: {error}") from error
    return found


def _fields(step: JsonObject, *names: str, optional: Sequence[str] = ()) -> JsonObject:
    """Return the fields beside the action: exactly those of its branch of the schema. Null is how strict providers
    spell an optional field that is left out."""
    found = {key: item for key, item in step.items() if key != "action" and (key not in optional or item is not None)}
    missing = [name for name in names if name not in found]
    if missing:
        raise MalformedDecision(f"'step' has no {', '.join(missing)}; {step['action']!r} needs {', '.join(names)}")
    extra = sorted(found.keys() - {*names, *optional})
    if extra:
        raise MalformedDecision(
            f"'step' holds {', '.join(map(repr, extra))}; {step['action']!r} takes only {', '.join(names)}"
        )
    return found
