"""Closed schema of one answer: a branch for each possible decision or lookup, told apart by `action`.

Each event stands in it once. A request among several at once has the same definition as a single one.
"""

from collections.abc import Sequence
from functools import lru_cache

from soorma_ai.kernel.domain.decisions import GIVE_UP, Showing
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import (
    LONGEST_WAIT_SECONDS,
    Json,
    JsonObject,
    Same,
    compact,
    derived_id,
    identity_of,
)
from soorma_ai.kernel.rules.choices.offer import DELEGATE, PUBLISH, WAIT, Offer
from soorma_ai.kernel.rules.choices.showing import MOST_ASKED, description_beside, lacks_schemas
from soorma_ai.kernel.rules.prompting.references import FROM
from soorma_ai.kernel.rules.schemas.bounded import show
from soorma_ai.kernel.rules.schemas.combine import kinds_of, object_in
from soorma_ai.kernel.rules.schemas.portable import object_schema

PUBLISH_ALL = "publish_all"
NONE = "none"
NEED_SCHEMA, FIND_EVENTS, SEE_RESULT, FIND_STEPS = "need_schema", "find_events", "see_result", "find_steps"
TIMEOUT_SECONDS: JsonObject = {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT_SECONDS}

_TEXT: JsonObject = {"type": "string"}
REFERENCE = object_schema({FROM: _TEXT})
_GIVE_UP = object_schema({"action": {"const": GIVE_UP}, "reason": _TEXT, "missing": {"type": "array", "items": _TEXT}})


def form_of(offer: Offer, showing: Showing, at_once: int | None, *, refers: bool = False) -> JsonObject:
    """Return the form; the same one for the same question. `at_once` is the most requests that may be open together,
    None any number; `refers`: results of earlier steps may be named instead of being written out."""
    return _form(identity_of(offer), showing, at_once, refers)


@lru_cache(maxsize=128)
def _form(same: Same[Offer], showing: Showing, at_once: int | None, refers: bool) -> JsonObject:
    offer = same()
    requests: list[Json] = [_choice(name, offer, refers) for name in showing.schemas if name.startswith(PUBLISH)]
    several = bool(requests) and (at_once is None or at_once > 1)
    branches: list[Json] = [{"$ref": "#/$defs/request"}, _publish_all(at_once)] if several else [*requests]
    if waits := [name.removeprefix(WAIT) for name in (*showing.lines, *showing.added) if name.startswith(WAIT)]:
        branches.append(_wait(waits))
    result = show(offer.result_schema or ANY_OBJECT).plain
    branches.append(_branch("complete", {"result": _allow_references(result) if refers else result}))
    branches.append(_GIVE_UP)
    branches += _lookups(showing, refers=refers)
    branches += [_choice(name, offer, refers) for name in showing.schemas if name.startswith(DELEGATE)]
    form = object_schema({"reasoning": _TEXT, "step": {"anyOf": branches}})
    if several:
        # At the end, and growing at its end: what stands before it stays the same all through a plan.
        form["$defs"] = {"request": {"anyOf": requests}}
    return form


def choice_form_of(offer: Offer, showing: Showing) -> JsonObject:
    """Return the form of the choice of one event: one of those, none of them, or a look at more."""
    return _choice_form(identity_of(offer), showing)


@lru_cache(maxsize=64)
def _choice_form(same: Same[Offer], showing: Showing) -> JsonObject:
    branches = [_choice(name, same(), refers=False) for name in showing.schemas]
    return object_schema(
        {"reasoning": _TEXT, "step": {"anyOf": [*branches, _branch(NONE, {}), *_lookups(showing, refers=False)]}}
    )


def digest_of(form: JsonObject) -> str:
    """Return the digest of a question's form."""
    return _digest(identity_of(form))


@lru_cache(maxsize=128)
def _digest(same: Same[JsonObject]) -> str:
    return derived_id("offer", compact(same()))


def _choice(name: str, offer: Offer, refers: bool) -> JsonObject:
    return _choice_of(name, identity_of(offer.choices[name]), refers)


@lru_cache(maxsize=4096)
def _choice_of(name: str, same: Same[EventDefinition], refers: bool) -> JsonObject:
    definition = same()
    plain = show(definition.payload_schema).plain
    branch = _branch(name, {"data": _allow_references(plain) if refers else plain})
    described = description_beside(definition)
    return {"description": described, **branch} if described else branch


def _publish_all(at_once: int | None) -> JsonObject:
    requests: JsonObject = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/request"}}
    if at_once is not None:
        requests["maxItems"] = at_once
    return _branch(
        PUBLISH_ALL,
        {"requests": requests, "need": {"type": "integer", "minimum": 1}, "timeout_seconds": TIMEOUT_SECONDS},
        optional=("need", "timeout_seconds"),
    )


def _wait(events: Sequence[str]) -> JsonObject:
    return _branch(
        "wait",
        {"expected_event": {"enum": [*events]}, "message": _TEXT, "timeout_seconds": TIMEOUT_SECONDS},
        optional=("timeout_seconds",),
    )


def _lookups(showing: Showing, *, refers: bool) -> list[Json]:
    found: list[Json] = []
    if lacks_schemas(showing):
        names: JsonObject = {"type": "array", "minItems": 1, "maxItems": MOST_ASKED, "items": _TEXT}
        found.append(_branch(NEED_SCHEMA, {"events": names}))
    if showing.hidden:
        found.append(_branch(FIND_EVENTS, {"words": _TEXT}))
    if refers:
        found.append(_branch(SEE_RESULT, {"path": _TEXT}))
        found.append(_branch(FIND_STEPS, {"words": _TEXT}))
    return found


def _allow_references(schema: JsonObject) -> JsonObject:
    """Allow a reference for each property that may be long: a list, an object, anything."""
    properties = object_in(schema.get("properties"))
    allowed: JsonObject = {
        name: {"anyOf": [child, REFERENCE]} if _may_be_long(child) else child for name, child in properties.items()
    }
    return {**schema, "properties": allowed} if properties else schema


def _may_be_long(schema: Json) -> bool:
    if not isinstance(schema, dict):
        return True
    kinds = kinds_of(schema)
    return not (kinds or schema.keys() & {"enum", "const"}) or "array" in kinds or "object" in kinds


def _branch(action: str, properties: dict[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    return object_schema({"action": {"const": action}, **properties}, optional)
