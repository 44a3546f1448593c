"""Shapes of values in forms for people, by their schema: groups and lists, text, numbers and choices. A value beyond
the form's means is typed as JSON; one too long for that is kept unchanged."""

import json
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from soorma_ai.kernel.domain.schemas import path_part
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.inline import inline_within

ROOT = "$"
MOST_LEVELS = 5
MOST_ITEMS = 100
MOST_CHOICES = 300
MOST_CHARS = 20_000  # of a text that can be edited
MOST_NODES = 3_000
MOST_FIELDS = 300
LONG_TEXT = 240
_SAFE = 1e15

Kind = Literal["group", "list", "text", "lines", "number", "choice", "date", "json", "kept"]
Typed = Mapping[str, str]


class Absent:
    """No value at all, unlike null."""


ABSENT = Absent()
Found = Json | Absent


class FieldShape(Struct, frozen=True):
    kind: Kind
    schema: JsonObject
    may_be_null: bool = False
    values: tuple[Json, ...] = ()
    is_integer: bool = False


def plain_schema(document: JsonObject) -> Json:
    return inline_within(document, MOST_NODES, 64 * MOST_NODES) or True


def shape_of(schema: Json, value: Found, level: int) -> FieldShape:
    """Return the field kind for a value of this schema; a value that does not fit it is shown as JSON."""
    plain, may_be_null = _without_null(schema)
    shape = _shape_by_schema(plain, level, may_be_null=may_be_null)
    if isinstance(value, Absent | None):
        return shape
    if isinstance(value, str) and len(value) > MOST_CHARS:
        return FieldShape("kept", plain)
    if shape.kind == "json" and len(json.dumps(value)) > MOST_CHARS:
        return FieldShape("kept", plain)
    fitting = {
        "group": isinstance(value, dict),
        "list": isinstance(value, list) and len(value) <= MOST_ITEMS,
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "choice": any(is_same(one, value) for one in shape.values),
    }.get(shape.kind, isinstance(value, str) or shape.kind == "json")
    if fitting and not (shape.kind == "text" and isinstance(value, str) and "\n" in value):
        return shape
    if shape.kind == "text" and isinstance(value, str):
        return FieldShape("lines", plain, may_be_null)
    return FieldShape("kept" if len(json.dumps(value)) > MOST_CHARS else "json", plain, may_be_null)


def _shape_by_schema(schema: JsonObject, level: int, *, may_be_null: bool) -> FieldShape:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= MOST_CHOICES:
        return FieldShape("choice", schema, may_be_null, tuple(one for one in values if one is not None))
    match schema.get("type"):
        case "boolean":
            return FieldShape("choice", schema, may_be_null, (True, False))
        case "number" | "integer" as kind:
            return FieldShape("number", schema, may_be_null, is_integer=kind == "integer")
        case "string":
            return FieldShape("date" if schema.get("format") == "date" else _text_kind(schema), schema, may_be_null)
        case "object" if level < MOST_LEVELS and members_of(schema)[0]:
            return FieldShape("group", schema, may_be_null)
        case "array" if level < MOST_LEVELS and "prefixItems" not in schema:
            return FieldShape("list", schema, may_be_null)
        case _:
            return FieldShape("json", schema, may_be_null)


def _text_kind(schema: JsonObject) -> Literal["text", "lines"]:
    most = schema.get("maxLength")
    return "lines" if isinstance(most, int) and most > LONG_TEXT else "text"


def _without_null(schema: Json) -> tuple[JsonObject, bool]:
    """Return the schema of a nullable value without null, and whether null is allowed."""
    if not isinstance(schema, dict):
        return {}, False
    for keyword in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(keyword)
        if isinstance(parts, list):
            others = [one for one in parts if one != {"type": "null"}]
            if len(others) == 1 and isinstance(others[0], dict):
                rest = {key: value for key, value in schema.items() if key != keyword}
                inner, is_null = _without_null({**others[0], **rest})
                return inner, is_null or len(others) < len(parts)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [one for one in kinds if one != "null"]
        if len(others) == 1:
            return {**schema, "type": others[0]}, "null" in kinds
    return schema, False


def members_of(schema: JsonObject) -> tuple[dict[str, Json], frozenset[str]]:
    members, needed = schema.get("properties"), schema.get("required")
    names = frozenset(one for one in needed if isinstance(one, str)) if isinstance(needed, list) else frozenset[str]()
    return (members if isinstance(members, dict) else {}), names


def text_of(value: Found, kind: Kind) -> str:
    """Return the text of a field for a value."""
    if isinstance(value, Absent) or (value is None and kind != "json"):
        return ""
    if isinstance(value, str) and kind in ("text", "lines", "date"):
        return value
    if kind == "json":
        return json.dumps(value, indent=2, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAFE:
        return str(int(value))
    return json.dumps(value)


def plain_lines(text: str) -> str:
    """Return text with its line breaks from before the browser."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_same(one: Json, other: Json) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def item_count(typed: Typed, name: str, known: int) -> int:
    said = typed.get(count_name(name), "")
    return min(int(said), MOST_ITEMS) if said.isascii() and said.isdigit() and len(said) < 6 else known


def origin_of(typed: Typed, name: str, place: int) -> int:
    said = typed.get(origin_name(name))
    if said is None:
        return place
    return int(said) if said.isascii() and said.isdigit() and len(said) < 6 else -1


def below(name: str, part: str | int) -> str:
    """Return the name of a field inside another."""
    return f"{name}{path_part(part)}"


def count_name(name: str) -> str:
    """Return the name of the hidden field for the number of a list's items."""
    return f"{name}#"


def origin_name(name: str) -> str:
    """Return the name of the hidden field for an item's place in the original list."""
    return f"{name}@"
