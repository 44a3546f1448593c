"""References to results of a plan: a model passes a result on, or looks into it, without repeating it.

`step3.result` is the result of step 3 of the plan's history; `step3.result.items[0].id`, or `step3.result.items.0.id`,
is a part of that; `step3.result.items[10:20]` are ten of its items, and `step3.result["a.b"]` takes a key with a dot
in it. In a payload the object `{"$from": "step3.result.items"}` stands for the value. References inside of a value are
data of others, and never followed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import cast

from msgspec import Struct

from soorma_ai.errors import MalformedDecision, NotAllowed, PayloadMismatch
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PlanAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.values import MOST_LEVELS, Json, JsonObject, clip, compact, is_storable
from soorma_ai.kernel.rules.prompting.outline import shorten, size_of

FROM = "$from"
MOST_RESOLVED = 256_000

_RESULTS = frozenset({StepKind.GOAL, StepKind.REPLIED, StepKind.ANSWERED, StepKind.RECEIVED, StepKind.LATE})
_PART = r'\.[^.\[\]]+|\[[0-9]+\]|\[[0-9]*:[0-9]*\]|\["(?:[^"\\]|\\.)*"\]'
_WRITTEN = re.compile(rf"step([0-9]{{1,9}})\.result((?:{_PART})*)")
_MEANT = re.compile(r"\s*step\s*[0-9]+\s*(?:[.\[]|$)", re.IGNORECASE)
_PLACE = re.compile(r"[0-9]{1,9}")  # a longer number is no place in any list
_RANGE = re.compile(r"([0-9]{0,9}):([0-9]{0,9})")
_MOST_NAMED = 20
_MOST_SHOWN = 80


class Reference(Struct, frozen=True):
    """The result of a step, or the part of it at `path`: keys, and places in lists as digits."""

    step: int
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return name_of(self.step, self.path)


def name_of(step: int, path: Sequence[str] = ()) -> str:
    """Return the text of a reference."""
    return f"step{step}.result" + "".join(map(_spell, path))


def brings_result(step: Step) -> bool:
    """Tell whether a step can be referred to: it is something that came, and nothing that the plan did itself."""
    return step.kind in _RESULTS


def results_of(steps: Iterable[Step]) -> dict[int, Json]:
    """Return the results of these steps, by their numbers."""
    return {step.ordinal: step.data for step in steps if brings_result(step)}


def parse_reference(text: str) -> Reference:
    """Raise MalformedDecision for text that is no reference."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise MalformedDecision(
            f"{clip(text, _MOST_SHOWN)!r} is no reference: write step<number>.result, and a path into it, as in "
            "step3.result.items[0].id"
        )
    parts = re.findall(_PART, found[2])
    return Reference(int(found[1]), tuple(_read(part) for part in parts))


def resolve(value: Json, results: Mapping[int, Json]) -> Json:
    """Return a payload with every reference in it replaced by the value that it means.

    An object means a reference if its key FROM holds text that begins as one does; with any other text, or none, it is
    data as it stands. Raise MalformedDecision for a reference that is written wrong or has other keys beside it,
    PayloadMismatch for one that leads nowhere, NotAllowed for more than MOST_RESOLVED characters in sum, or where
    the payload would be nested too deep.
    """
    left = MOST_RESOLVED
    found: dict[Reference, Json] = {}
    for reference in _references(value):
        if reference not in found:
            found[reference] = look_up(reference, results)
        left -= size_of(found[reference], left)
        if left < 0:
            raise NotAllowed(
                f"with {reference}, what the step refers to is larger than {MOST_RESOLVED} characters together: refer "
                "to the parts that are needed"
            )
    if not found:
        return value
    if is_storable(value) and is_storable(resolved := _replace(value, found)):
        return resolved
    raise NotAllowed(
        f"with what it refers to, the step is nested deeper than {MOST_LEVELS} levels: refer to parts that lie deeper"
    )


def look_up(reference: Reference, results: Mapping[int, Json]) -> Json:
    """Raise PayloadMismatch for a missing part, with the existing part of the path and its value."""
    if reference.step not in results:
        raise PayloadMismatch(
            f"there is no {name_of(reference.step)}: only what came has a result, and the history names it there"
        )
    value = results[reference.step]
    for place, part in enumerate(reference.path):
        within = _within(value, part)
        if within is None:
            before = name_of(reference.step, reference.path[:place])
            raise PayloadMismatch(f"there is no {before}{_spell(part)}: {before} is {_describe(value)}")
        (value,) = within
    return value


def slice_of(reference: Reference, results: Mapping[int, Json], room: int) -> Json:
    """Return a part of a result, in outline if it has more than `room` characters. Raise as `look_up`."""
    return shorten(look_up(reference, results), room)


def _references(value: Json) -> Iterator[Reference]:
    left = [value]
    while left:
        match left.pop():
            case dict() as item:
                if reference := _reference_in(item):
                    yield reference
                else:
                    left += item.values()
            case list() as item:
                left += item
            case _:
                pass


def _reference_in(item: JsonObject) -> Reference | None:
    text = item.get(FROM)
    if not isinstance(text, str) or not _MEANT.match(text):
        return None
    reference = parse_reference(text)
    if len(item) > 1:
        others = [key for key in item if key != FROM]
        raise MalformedDecision(
            f"{FROM!r} {text!r} stands beside {_names(others)}: an object that means {reference} holds nothing else; "
            "refer to its parts one by one"
        )
    return reference


def _replace(value: Json, found: Mapping[Reference, Json]) -> Json:
    """Replace references by their values; nothing within a value is looked at."""
    if isinstance(value, dict):
        reference = _reference_in(value)
        return found[reference] if reference else {key: _replace(item, found) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, found) for item in value]
    return value


def _within(value: Json, part: str) -> tuple[Json] | None:
    """Return the value at a part of a path, alone in a tuple, since null is a value too; None: there is none."""
    if isinstance(value, dict):
        return (value[part],) if part in value else None
    if not isinstance(value, list):
        return None
    if _PLACE.fullmatch(part):
        return (value[int(part)],) if int(part) < len(value) else None
    if ends := _RANGE.fullmatch(part):
        first, last = int(ends[1] or 0), int(ends[2] or len(value))
        return (value[first:last],) if first < min(last, len(value)) else None
    return None


def _read(part: str) -> str:
    """Return the key, place or range that a part of a path means."""
    if not part.startswith('["'):
        return part.strip(".[]")
    try:
        return str(json.loads(part)[0])
    except ValueError as error:
        raise MalformedDecision(f"{clip(part, _MOST_SHOWN)!r} in a reference is no key in JSON's spelling") from error


def _spell(part: str) -> str:
    if _PLACE.fullmatch(part) or _RANGE.fullmatch(part):
        return f"[{part}]"
    return f".{part}" if re.fullmatch(r"[^.\[\]]+", part) else f"[{compact(part)}]"


def _describe(value: Json) -> str:
    match value:
        case dict():
            return f"an object with the keys {_names(value)}" if value else "an object without keys"
        case []:
            return "an empty list"
        case list():
            return f"a list of {len(value)}, from [0] to [{len(value) - 1}]"
        case str():
            return f"the text {compact(clip(value, _MOST_SHOWN))}, with nothing in it to refer to"
        case _:
            return f"{clip(compact(value), _MOST_SHOWN)}, with nothing in it to refer to"


def _names(keys: Iterable[str]) -> str:
    known = list(keys)
    named = ", ".join(clip(compact(key), _MOST_SHOWN) for key in nsmallest(_MOST_NAMED, known))
    return named if len(known) <= _MOST_NAMED else f"{named} and {len(known) - _MOST_NAMED} more"


def steps_referred_to(decision: PlannerDecision) -> set[int]:
    """Return the numbers of the steps with results passed on by a decision. Raise MalformedDecision."""
    return {reference.step for value in _values(decision.next_action) for reference in _references(value)}


def resolve_decision(decision: PlannerDecision, results: Mapping[int, Json]) -> PlannerDecision:
    """Return the decision with the values that its references mean. Raises as `resolve`."""
    action, update = decision.next_action, dict[str, object]()
    match action:
        case PublishAction(data=data):
            update["data"] = _object(data, resolve(data, results))
        case DelegateAction(goal_data=data):
            update["goal_data"] = _object(data, resolve(data, results))
        case PublishAllAction(requests=requests):
            # As one value, since the bound is for all of them together.
            found = cast("list[Json]", resolve([one.data for one in requests], results))
            each = zip(requests, found, strict=True)
            update["requests"] = tuple(one.model_copy(update={"data": _object(one.data, data)}) for one, data in each)
        case CompleteAction(outcome="achieved", result=result):
            update["result"] = resolve(result, results)
        case CompleteAction() | WaitAction():
            return decision
    return decision.model_copy(update={"next_action": action.model_copy(update=update)})


def _object(data: JsonObject, found: Json) -> JsonObject:
    if not isinstance(found, dict):
        raise PayloadMismatch(f"{compact(data)[:_MOST_SHOWN]} is {_describe(found)}; data must be an object")
    return found


def _values(action: PlanAction) -> Sequence[Json]:
    match action:
        case PublishAction(data=data) | DelegateAction(goal_data=data):
            return [data]
        case PublishAllAction(requests=requests):
            return [one.data for one in requests]
        case CompleteAction(result=result):
            return [result]
        case WaitAction():
            return []
