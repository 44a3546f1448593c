"""Data with expensive checks: twelve kinds of schema, each with values of any size."""

import json
from collections.abc import Callable, Generator
from typing import Any

from soorma_ai.kernel.domain.schemas import examine
from soorma_ai.kernel.domain.values import Json, JsonObject

Make = Callable[[int], JsonObject]

SIZES = (1_000, 32_000, 2**20)


def count_slices(slices: list[int]) -> Callable[..., Generator[None, None, Any]]:
    """Return `examine` with a number of slices for each of its checks, in the order of their beginnings."""

    def count(schema: Any, value: Any, **bounds: Any) -> Generator[None, None, Any]:
        slices.append(0)
        place, left = len(slices) - 1, examine(schema, value, **bounds)
        while True:
            try:
                next(left)
            except StopIteration as end:
                return end.value
            slices[place] += 1
            yield

    return count


def items_of(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"items": {"type": "array", "items": schema}}}


def lists_of(item: Json) -> Make:
    """Return a builder of lists of one item, by their size in bytes."""
    each = len(json.dumps(item)) + 1
    return lambda size: {"items": [item] * max(1, size // each)}


def short_keys(size: int) -> JsonObject:
    return {f"k{number}": 1 for number in range(max(1, size // 10))}


def colliding_numbers(size: int) -> JsonObject:
    """Return different numbers with one hash in Python."""
    return {"items": [number * (2**61 - 1) for number in range(size // 24)]}


def nested_objects(levels: int) -> Json:
    return {"a": nested_objects(levels - 1)} if levels else {"x": 1}


LINE: JsonObject = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["sku", "count"],
}
UNION: JsonObject = {
    "anyOf": [
        {"type": "object", "properties": {"kind": {"const": kind}, "v": {"type": "string"}}, "required": ["kind", "v"]}
        for kind in "abcde"
    ]
}
NODE: JsonObject = {"$ref": "#/$defs/node"}
TWINS: JsonObject = {
    "anyOf": [
        {"type": "object", "properties": {"a": NODE}, "required": ["x"]},
        {"type": "object", "properties": {"a": NODE}, "required": ["y"]},
    ]
}

UNEVALUATED: JsonObject = {
    "anyOf": [{"patternProperties": {"^q": {}}}, {"patternProperties": {"^k1": {}}}],
    "unevaluatedProperties": False,
}

KINDS: dict[str, tuple[JsonObject, Make]] = {
    "items of another type": (items_of({"type": "string"}), lists_of(1)),
    "order lines without their fields": (items_of(LINE), lists_of({})),
    "anyOf of 5": (items_of(UNION), lists_of(7)),
    "oneOf of 60": (items_of({"oneOf": [{"type": "string", "minLength": n} for n in range(60)]}), lists_of(1)),
    "properties that may not be there": ({"type": "object", "additionalProperties": False}, short_keys),
    "propertyNames with a pattern": ({"type": "object", "propertyNames": {"pattern": "^z"}}, short_keys),
    "a dict of Literal": (
        {"additionalProperties": {"type": "number"}, "propertyNames": {"enum": ["EUR", "USD"]}},
        short_keys,
    ),
    "enum of 2,000": (items_of({"enum": [f"value-{number}" for number in range(2_000)]}), lists_of(1)),
    "uniqueItems": ({"properties": {"items": {"uniqueItems": True}}}, colliding_numbers),
    "alternatives that lead back": ({**items_of(NODE), "$defs": {"node": TWINS}}, lists_of(nested_objects(8))),
    "a pattern with look-around": (items_of({"pattern": "(?=((a|aa)+)$)c"}), lists_of("a" * 60)),
    "unevaluatedProperties": (UNEVALUATED, short_keys),
}
