"""Schemas that hold at once made one, and the kinds and values that a schema allows."""

from collections.abc import Callable

from soorma_ai.kernel.domain.values import Json, JsonObject

ALTERNATIVES = ("anyOf", "oneOf")


def fold_all_of(schema: JsonObject) -> JsonObject:
    """Return the schema with `allOf` folded in; where two rules cannot be one, the second is left out."""
    out: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    for part in list_in(schema.get("allOf")):
        if isinstance(part, dict):
            out = merge(out, fold_all_of(part))
    return out


def merge(first: JsonObject, second: JsonObject) -> JsonObject:
    out = dict(first)
    for key, value in second.items():
        join = _JOINS.get(key)
        if key not in out:
            out[key] = value
        elif join is not None:
            out[key] = join(out[key], value)
    return out


def _join_properties(one: Json, other: Json) -> Json:
    out = dict(object_in(one))
    for name, schema in object_in(other).items():
        out[name] = {"allOf": [out[name], schema]} if name in out and out[name] != schema else schema
    return out


def _join_required(one: Json, other: Json) -> Json:
    return [*list_in(one), *(name for name in list_in(other) if name not in list_in(one))]


def _join_types(one: Json, other: Json) -> Json:
    have = list_in(one) if isinstance(one, list) else [one]
    want = list_in(other) if isinstance(other, list) else [other]
    if "number" in have and "integer" in want:
        have = ["integer" if kind == "number" else kind for kind in have]
    left = [kind for kind in have if kind in want or (kind == "integer" and "number" in want)]
    return one if not left else left[0] if len(left) == 1 else left


def _join_values(one: Json, other: Json) -> Json:
    return [value for value in list_in(one) if value in list_in(other)] or one


def _join_schemas(one: Json, other: Json) -> Json:
    if one is False or other is False:
        return False
    return {"allOf": [one, other]} if one is not True and other is not True else other if one is True else one


_JOINS: dict[str, Callable[[Json, Json], Json]] = {
    "properties": _join_properties,
    "required": _join_required,
    "type": _join_types,
    "enum": _join_values,
    "items": _join_schemas,
    "additionalProperties": _join_schemas,
}


def kinds_of(schema: JsonObject) -> list[Json]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return kind
    if kind is not None:
        return [kind]
    if "properties" in schema or "additionalProperties" in schema:
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else []


# In this order, since a bool is an int.
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}


def kind_of(value: Json) -> str:
    return next((name for kind, name in _KINDS.items() if isinstance(value, kind)), "null")


def values_of(schema: JsonObject) -> list[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def object_in(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def list_in(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
