"""Repairs of an answer without loss: another wrapping of the same decision is taken as it is meant, and named.

Nothing is guessed: a repair changes where a value stands or how it is spelled, never a value.
"""

from collections.abc import Collection

from msgspec import Struct

from soorma_ai.kernel.domain.decisions import ACTIONS, GIVE_UP
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import Json, JsonObject, parse_json
from soorma_ai.kernel.rules.choices.form import FIND_EVENTS, FIND_STEPS, NEED_SCHEMA, NONE, PUBLISH_ALL, SEE_RESULT
from soorma_ai.kernel.rules.choices.offer import DELEGATE, PUBLISH
from soorma_ai.kernel.rules.schemas.combine import kinds_of, list_in

STEP, ACTION, REASONING = "step", "action", "reasoning"
# Parts of a decision, which wrap nothing.
_PARTS = frozenset({STEP, ACTION, REASONING, "data", "result", "requests"})
_ACTIONS = ACTIONS | {GIVE_UP, NONE, NEED_SCHEMA, FIND_EVENTS, FIND_STEPS, SEE_RESULT}


class Repair(Struct, frozen=True):
    """A repaired value, and the repairs in words; without `how` it is the value as it came."""

    value: Json
    how: tuple[str, ...] = ()


def repair_step(value: Json, names: Collection[str], result_schema: JsonObject | None = None) -> Repair:
    """Repair an answer of one step. `names` are the choices of the offer, as `publish:order.placed`."""
    if not isinstance(value, dict):
        return Repair(value)
    how: list[str] = []
    found = _unwrap(value, how)
    found = _wrap(found, how)
    step = _parse_object(found.get(STEP), "the step", how)
    if not isinstance(step, dict):
        return Repair(value)
    step = _repair_action(step, names, result_schema, how)
    return Repair({**found, STEP: step}, tuple(dict.fromkeys(how))) if how else Repair(value)


def _unwrap(value: JsonObject, how: list[str]) -> JsonObject:
    """Return the decision in a wrapper of one name, as {"Decision": {...}}."""
    if len(value) != 1:
        return value
    (name, inside), *_ = value.items()
    if name in _PARTS:
        return value
    if not isinstance(inside, dict) or inside.keys().isdisjoint({STEP, ACTION}):
        return value
    how.append(f"in a wrapper {name!r}")
    return inside


def _wrap(value: JsonObject, how: list[str]) -> JsonObject:
    """Return a step that stands without its wrapper in it."""
    if STEP in value or not isinstance(value.get(ACTION), str):
        return value
    how.append("a step without its wrapper")
    said: JsonObject = {REASONING: value[REASONING]} if REASONING in value else {}
    return {**said, STEP: {name: one for name, one in value.items() if name != REASONING}}


def _repair_action(
    step: JsonObject, names: Collection[str], result_schema: JsonObject | None, how: list[str]
) -> JsonObject:
    action = step.get(ACTION)
    if not isinstance(action, str):
        return step
    if action == PUBLISH_ALL:
        requests = list_in(step.get("requests"))
        each: list[Json] = [_repair_action(one, names, None, how) if isinstance(one, dict) else one for one in requests]
        return {**step, "requests": each} if each else step
    full = next((prefix + action for prefix in (PUBLISH, DELEGATE) if prefix + action in names), action)
    if full != action and action not in _ACTIONS:
        how.append(f"{action!r} for {full!r}")
        step = {**step, ACTION: full}
    for name in ("data", "result"):
        if isinstance(step.get(name), str) and _wants_object(name, result_schema):
            step = {**step, name: _parse_object(step[name], f"`{name}`", how)}
    return step


def _wants_object(name: str, result_schema: JsonObject | None) -> bool:
    return name == "data" or kinds_of(result_schema or ANY_OBJECT) == ["object"]


def _parse_object(value: Json, what: str, how: list[str]) -> Json:
    """Return the object that a text spells; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        found = parse_json(value)
    except ValueError:
        return value
    if not isinstance(found, dict):
        return value
    how.append(f"{what} as JSON text")
    return found
