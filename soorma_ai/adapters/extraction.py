"""Extraction of the one JSON object in the text of a model, with the way it was found or the fault."""

import json
import re
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import MalformedDecision
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact

IN_A_LIST = "in a list of one"
EMPTY = "the answer is empty; give one JSON object that fits the schema"

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*\Z", re.DOTALL)
# What begins so is meant as JSON; other braces and brackets are prose.
_MEANT = re.compile(r"""\{\s*["'}]|\[\s*\{""")
_SHOWN = 120


class Extraction(Struct, frozen=True):
    """Extracted object. `value` is the one object; without it, `fault` describes the text, in words for the model.
    `how` is the way it was found, if it was not the whole answer."""

    value: JsonObject | None = None
    fault: str = ""
    how: str = ""


def find_object(text: str) -> Extraction:
    """Return the object that the text is, or the only one that stands in fences, in prose or after thoughts. One that
    is given several times is one."""
    said = text.strip().removeprefix("\ufeff").strip()
    if not said:
        return Extraction(fault=EMPTY)
    try:
        whole = _read(said)
    except ValueError as error:
        return _find_inside(said, error)
    if isinstance(whole, dict):
        return Extraction(whole)
    if (one := _only(whole)) is not None:
        return Extraction(one, how=IN_A_LIST)
    return Extraction(fault=f"the answer is no JSON object but {_kind(whole)}: {clip(said, _SHOWN)}")


def the_one(found: Sequence[Extraction]) -> Extraction:
    """Return the object that all of them hold; several different ones are a fault, and so is one without."""
    if without := next((one for one in found if one.value is None), None):
        return without
    values = _different(one.value for one in found if one.value is not None)
    if len(values) > 1:
        return Extraction(fault=_several(values))
    hows = [*dict.fromkeys(one.how for one in found if one.how)]
    return replace(found[0], how=", ".join([*hows, *([f"{len(found)} times"] if len(found) > 1 else [])]))


def _find_inside(said: str, whole: ValueError) -> Extraction:
    spoken = _THOUGHT.sub("", said).strip()
    if not spoken:
        return Extraction(
            fault="the answer holds thoughts and nothing after them; give one JSON object that fits the schema"
        )
    objects: list[JsonObject] = []
    other, place, is_listed = "", 0, False
    while meant := _MEANT.search(spoken, place):
        other += spoken[place : meant.start()]
        try:
            value, place = _read_at(spoken, meant.start())
        except ValueError as error:
            return Extraction(fault=f"the answer is no JSON object: {error}")
        one = value if isinstance(value, dict) else _only(value)
        if one is None:
            return Extraction(fault=f"the answer is no JSON object but {_kind(value)} in other text")
        is_listed = is_listed or one is not value
        objects.append(one)
    if not objects:
        return Extraction(fault=f"the answer is no JSON object: {whole}; it begins with {clip(spoken, _SHOWN)!r}")
    other += spoken[place:]
    where = "in fences" if "```" in other else "in other text" if other.strip() else ""
    hows = ("after thoughts" if spoken != said else "", where, IN_A_LIST if is_listed else "")
    how = ", ".join(filter(None, hows))
    return the_one([Extraction(one, how=how) for one in objects])


def _only(value: Json) -> JsonObject | None:
    """Return the object of a list of one."""
    match value:
        case [dict() as one]:
            return one
        case _:
            return None


def _read(text: str) -> Json:
    value, end = _read_at(text, 0)
    if end != len(text):
        raise ValueError(f"more follows at character {end}")
    return value


def _read_at(text: str, start: int) -> tuple[Json, int]:
    """Return the value at a place and its end. Raise ValueError, in words for the model, for text that is no JSON or
    has a name twice."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}, before {clip(text[error.pos :], 40)!r}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    return cast(Json, value), end


def _pairs(pairs: list[tuple[str, Json]]) -> JsonObject:
    found: JsonObject = {}
    for name, value in pairs:
        if name in found and compact(found[name]) != compact(value):
            raise ValueError(f"it holds {name!r} twice, with different values")
        found[name] = value
    return found


def _number(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(f"it holds {text}, a number that JSON does not know")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_number, parse_float=_number)


def _different(values: Iterable[JsonObject]) -> list[JsonObject]:
    return [*{compact(value): value for value in values}.values()]


def _several(values: Sequence[JsonObject]) -> str:
    shown = " and ".join(clip(compact(value), _SHOWN) for value in values[:3])
    return f"the answer holds {len(values)} different objects, {shown}; give exactly one"


def _kind(value: Json) -> str:
    match value:
        case list():
            return f"a list of {len(value)}"
        case str():
            return "text"
        case _:
            return compact(value)


def parse_holds(value: Json, fault: str) -> tuple[bool, str]:
    """Return whether it holds, and the advice for a failed one. Raise MalformedDecision for anything else; `fault` is
    the reason against the answer as JSON, if any."""
    if not isinstance(value, dict):
        raise MalformedDecision(fault or "the answer is no JSON object")
    holds, detail = value.get("holds"), value.get("detail")
    if not isinstance(holds, bool):
        raise MalformedDecision(f"'holds' must be true or false, found {holds!r}")
    return holds, detail if isinstance(detail, str) else ""
