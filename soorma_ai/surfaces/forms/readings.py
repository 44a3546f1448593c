"""Submitted forms: the new value, and its faults."""

import json
import math
import re
from collections.abc import Mapping

from msgspec import Struct, field

from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import UNSTORABLE, Json, JsonObject, clip, is_storable, parse_json
from soorma_ai.surfaces.forms.shapes import (
    ABSENT,
    MOST_FIELDS,
    ROOT,
    Absent,
    FieldShape,
    Found,
    Typed,
    below,
    item_count,
    members_of,
    origin_of,
    plain_lines,
    plain_schema,
    shape_of,
    text_of,
)

_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,4})?", re.ASCII)


class FormReading(Struct, frozen=True):
    """The value of a form, and its faults by the names of fields; `others` are faults of no field."""

    value: Json
    faults: Mapping[str, str] = field(default_factory=dict[str, str])
    others: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        return not self.faults and not self.others


def read_form(document: JsonObject, base: Found, typed: Typed) -> FormReading:
    """Apply the input to a value, and judge the result by the schema."""
    value, reader = _read(document, base, typed)
    faults, others = dict(reader.faults), list[str]()
    for one in violations(document, value):
        if reader.faults and one.rule == "required":
            continue  # what could not be read is told already
        if one.path in reader.seen:
            faults.setdefault(one.path, one.message)
        elif not reader.faults:
            others.append(f"{one.path.removeprefix('$.')}: {one.message}")
    return FormReading(value, faults, tuple(others))


def read_value(document: JsonObject, base: Found, typed: Typed) -> Json:
    """Apply the input to a value, with its faults."""
    return _read(document, base, typed)[0]


def _read(document: JsonObject, base: Found, typed: Typed) -> tuple[Json, "_FormReader"]:
    reader = _FormReader(typed)
    found = reader.read(plain_schema(document), base, ROOT, 0, is_required=True)
    return {} if isinstance(found, Absent) else found, reader


class _FormReader(Struct):
    typed: Typed
    faults: dict[str, str] = field(default_factory=dict[str, str])
    seen: set[str] = field(default_factory=set[str])
    left: int = MOST_FIELDS

    def read(self, schema: Json, base: Found, name: str, level: int, *, is_required: bool) -> Found:
        shape = shape_of(schema, base, level)
        self.left -= 1
        self.seen.add(name)
        if self.left <= 0 or shape.kind == "kept":
            return base
        if shape.kind == "group":
            return self._group(shape, base, name, level, is_required=is_required)
        if shape.kind == "list":
            return self._list(shape, base, name, level, is_required=is_required)
        text = self.typed.get(name)
        if text is None:
            return base
        if not isinstance(base, Absent) and plain_lines(text) == plain_lines(text_of(base, shape.kind)):
            return base
        is_empty = not text or (shape.kind not in ("text", "lines") and not text.strip())
        if is_empty:
            return self._empty(shape, name, is_required=is_required)
        return self._value(shape, text, name, base)

    def _empty(self, shape: FieldShape, name: str, *, is_required: bool) -> Found:
        if not is_required:
            return ABSENT
        if shape.may_be_null:
            return None
        if shape.kind in ("text", "lines") and "minLength" not in shape.schema and "pattern" not in shape.schema:
            return ""
        self.faults[name] = "this is needed"
        return ABSENT

    def _value(self, shape: FieldShape, text: str, name: str, base: Found) -> Found:
        match shape.kind:
            case "number":
                found = _number(text.strip(), is_integer=shape.is_integer)
                if found is None:
                    kind = "a whole number, such as 12" if shape.is_integer else "a number, such as 12.5"
                    self.faults[name] = f"{clip(text, 40)!r} is not {kind}"
                    return base
                return found
            case "choice":
                chosen = next((one for one in shape.values if json.dumps(one) == text), ABSENT)
                if isinstance(chosen, Absent):
                    self.faults[name] = "choose one of the list"
                    return base
                return chosen
            case "json":
                return self._json(text, name, base)
            case _:
                return plain_lines(text)

    def _json(self, text: str, name: str, base: Found) -> Found:
        try:
            found = parse_json(text)
            if not is_storable(found):
                raise ValueError(UNSTORABLE)
            return found
        except ValueError as error:
            self.faults[name] = f"this is not JSON: {clip(str(error), 120)}"
            return base

    def _group(self, shape: FieldShape, base: Found, name: str, level: int, *, is_required: bool) -> Found:
        members, needed = members_of(shape.schema)
        known = base if isinstance(base, dict) else {}
        before, found = dict(self.faults), {key: one for key, one in known.items() if key not in members}
        for key, one in members.items():
            inner = self.read(one, known.get(key, ABSENT), below(name, key), level + 1, is_required=key in needed)
            if not isinstance(inner, Absent):
                found[key] = inner
        if isinstance(base, dict) or is_required or self._is_typed(name):
            return found
        self.faults = before  # nothing of it was given, so nothing of it is needed
        return base

    def _is_typed(self, name: str) -> bool:
        return any(key.startswith((f"{name}.", f"{name}[")) and text.strip() for key, text in self.typed.items())

    def _list(self, shape: FieldShape, base: Found, name: str, level: int, *, is_required: bool) -> Found:
        items = base if isinstance(base, list) else []
        found: list[Json] = []
        for number in range(item_count(self.typed, name, len(items))):
            place = below(name, number)
            origin = origin_of(self.typed, place, number)
            known = items[origin] if 0 <= origin < len(items) else ABSENT
            inner = self.read(shape.schema.get("items", True), known, place, level + 1, is_required=True)
            found.append(None if isinstance(inner, Absent) else inner)
        return found if found or is_required or isinstance(base, list) else ABSENT


def _number(text: str, *, is_integer: bool) -> int | float | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    found = float(text)
    return None if is_integer or not math.isfinite(found) else found
