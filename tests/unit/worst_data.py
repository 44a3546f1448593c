"""Data that costs much to check: ten kinds of schema, each with values of any size."""

import json
from collections.abc import Callable

from soorma_ai.kernel.domain.values import Json, JsonObject

Make = Callable[[int], JsonObject]

SIZES = (1_000, 32_000, 2**20)


def items_of(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"items": {"type": "array", "items": schema}}}


def filled(item: Json) -> Make:
    """Return what makes a list of the same item of about so many bytes."""
    each = len(json.dumps(item)) + 1
    return lambda size: {"items": [item] * max(1, size // each)}


def named(size: int) -> JsonObject:
    return {f"k{number}": 1 for number in range(max(1, size // 10))}


def numbered(size: int) -> JsonObject:
    """Return numbers that all have one hash in Python."""
    return {"items": [number * (2**61 - 1) for number in range(size // 24)]}


def nested(levels: int) -> Json:
    return {"a": nested(levels - 1)} if levels else {"x": 1}


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
    "items of another type": (items_of({"type": "string"}), filled(1)),
    "order lines without their fields": (items_of(LINE), filled({})),
    "anyOf of 5": (items_of(UNION), filled(7)),
    "oneOf of 60": (items_of({"oneOf": [{"type": "string", "minLength": n} for n in range(60)]}), filled(1)),
    "properties that may not be there": ({"type": "object", "additionalProperties": False}, named),
    "propertyNames with a pattern": ({"type": "object", "propertyNames": {"pattern": "^z"}}, named),
    "a dict of Literal": (
        {"additionalProperties": {"type": "number"}, "propertyNames": {"enum": ["EUR", "USD"]}},
        named,
    ),
    "enum of 2,000": (items_of({"enum": [f"value-{number}" for number in range(2_000)]}), filled(1)),
    "uniqueItems": ({"properties": {"items": {"uniqueItems": True}}}, numbered),
    "alternatives that lead back": ({**items_of(NODE), "$defs": {"node": TWINS}}, filled(nested(8))),
    "a pattern with look-around": (items_of({"pattern": "(?=((a|aa)+)$)c"}), filled("a" * 60)),
    "unevaluatedProperties": (UNEVALUATED, named),
}
