"""Forms for people, made from JSON Schema: the shown fields.

Fields are named by their place in the value, as `$.lines[0].amount`. An unchanged field keeps its exact value, in
spite of a browser's changes; so does a value without a field. A value beyond the form's means is typed as JSON.
"""

import json
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.values import Json, JsonObject, clip
from soorma_ai.surfaces.forms.shapes import (
    ABSENT,
    MOST_FIELDS,
    MOST_ITEMS,
    ROOT,
    Absent,
    FieldShape,
    Found,
    Kind,
    Typed,
    below,
    count_name,
    item_count,
    members_of,
    origin_of,
    plain_lines,
    plain_schema,
    shape_of,
    text_of,
)

SHOWN_CHARS = 300
MOST_TEXT = 200_000  # of all fields that can be changed
_LONG = 80


class Choice(Struct, frozen=True):
    """Input of a field. `typed` is the text from a form."""

    typed: str
    label: str


class FormField(Struct, frozen=True):
    """Field of a form. `text` is its content. `origin` of an item is its place in the original list. A `kept` field is
    shown and not changed."""

    name: str
    label: str
    kind: Kind
    text: str = ""
    hint: str = ""
    fault: str = ""
    is_required: bool = False
    choices: tuple[Choice, ...] = ()
    fields: tuple["FormField", ...] = ()
    origin: int | None = None


def form_of(
    document: JsonObject, value: Found, typed: Typed | None = None, faults: Mapping[str, str] | None = None
) -> FormField:
    """Return the fields for a value of this schema, with the latest input in `typed`."""
    maker = _Maker(typed or {}, faults or {})
    return maker.make(plain_schema(document), value, _FieldPlace(ROOT, "", True))


def add_item(typed: Typed, name: str) -> dict[str, str]:
    """Return the input with one more item in a list."""
    return {**typed, count_name(name): str(min(item_count(typed, name, 0) + 1, MOST_ITEMS))}


def remove_item(typed: Typed, name: str, place: int) -> dict[str, str]:
    """Return the input without an item of a list; those behind it move up."""
    count = item_count(typed, name, 0)
    if not 0 <= place < count:
        return dict(typed)
    kept = dict[str, str]()
    for key, text in typed.items():
        item = re.match(rf"{re.escape(name)}\[(\d{{1,4}})\]", key)
        number = int(item[1]) if item else -1
        if item is None or number < place:
            kept[key] = text
        elif number > place:
            kept[f"{name}[{number - 1}]{key[item.end() :]}"] = text
    return {**kept, count_name(name): str(count - 1)}


class _FieldPlace(Struct, frozen=True):
    name: str
    label: str
    is_required: bool
    level: int = 0


class _Maker(Struct):
    typed: Typed
    faults: Mapping[str, str]
    left: int = MOST_FIELDS
    room: int = MOST_TEXT

    def make(self, schema: Json, value: Found, place: _FieldPlace) -> FormField:
        shape = shape_of(schema, value, place.level)
        self.left -= 1
        hint = shape.schema.get("description")
        made = FormField(
            place.name,
            clip(place.label, _LONG),
            shape.kind if self.left > 0 else "kept",
            hint=clip(hint, SHOWN_CHARS) if isinstance(hint, str) else "",
            fault=self.faults.get(place.name, ""),
            is_required=place.is_required,
        )
        return self._fill(made, shape, value, place)

    def _fill(self, made: FormField, shape: FieldShape, value: Found, place: _FieldPlace) -> FormField:
        match made.kind:
            case "group":
                return replace(made, fields=tuple(self._members(shape.schema, value, place)))
            case "list":
                return replace(made, fields=tuple(self._items(shape.schema, value, place)))
            case "kept":
                return replace(made, text=clip(text_of(value, "json"), SHOWN_CHARS))
            case "choice":
                choices = tuple(Choice(json.dumps(one), _label_of(one)) for one in shape.values)
                none = () if place.is_required and not isinstance(value, Absent) else (Choice("", "choose"),)
                text = plain_lines(self.typed.get(place.name, text_of(value, made.kind)))
                return replace(made, text=text, choices=(*none, *choices))
            case "text" | "lines" | "number" | "date" | "json":
                text = plain_lines(self.typed.get(place.name, text_of(value, made.kind)))
                self.room -= len(text)
                if self.room < 0:
                    return replace(made, kind="kept", text=clip(text, SHOWN_CHARS))
                return replace(made, text=text, hint=", ".join(filter(None, (made.hint, _bounds(shape)))))

    def _members(self, schema: JsonObject, value: Found, place: _FieldPlace) -> Sequence[FormField]:
        members, needed = members_of(schema)
        known = value if isinstance(value, dict) else {}
        return [
            self.make(
                one,
                known.get(name, ABSENT),
                _FieldPlace(below(place.name, name), name, name in needed, place.level + 1),
            )
            for name, one in members.items()
        ]

    def _items(self, schema: JsonObject, value: Found, place: _FieldPlace) -> Sequence[FormField]:
        items = value if isinstance(value, list) else []
        made: list[FormField] = []
        for number in range(item_count(self.typed, place.name, len(items))):
            name = below(place.name, number)
            origin = origin_of(self.typed, name, number)
            known = items[origin] if 0 <= origin < len(items) else ABSENT
            one = self.make(schema.get("items", True), known, _FieldPlace(name, str(number + 1), True, place.level + 1))
            made.append(replace(one, origin=origin))
        return made


def _label_of(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clip(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONG)


def _bounds(shape: FieldShape) -> str:
    """Return the accepted input of a field, in words."""
    schema = shape.schema
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "less than {}",
        "minLength": "{} characters or more",
        "maxLength": "at most {} characters",
        "pattern": "as {}",
    }
    said = [text.format(clip(str(schema[key]), 60)) for key, text in words.items() if key in schema]
    if schema.get("format") == "date-time":
        said.append("a moment, as 2026-01-31T15:00:00Z")
    elif isinstance(schema.get("format"), str) and shape.kind != "date":
        said.append(clip(str(schema["format"]), 40))
    return ", ".join(said)
