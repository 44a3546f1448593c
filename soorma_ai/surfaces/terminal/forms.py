"""Input of the properties of a schema: described to people, and read from typed text."""

import json

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.inline import inline
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.wording import json_line

_YES_OR_NO = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class PromptField(Struct, frozen=True):
    name: str
    schema: JsonObject
    is_required: bool

    @property
    def kind(self) -> str:
        values = self._values
        if values is not None:
            return " | ".join(one_line(value) if isinstance(value, str) else json_line(value) for value in values)
        return " | ".join(one_line(kind) for kind in self._kinds) or "JSON"

    def parse(self, text: str) -> Json:
        """Raise ValueError for text of the wrong kind; the caller judges it by the whole schema."""
        values, kinds = self._values, self._kinds
        if values is not None:
            return _among(values, text)
        if kinds == ["boolean"]:
            if text.lower() not in _YES_OR_NO:
                raise ValueError(f"{one_line(text)!r} is neither yes nor no")
            return _YES_OR_NO[text.lower()]
        if "string" in kinds:
            return text
        try:
            return json.loads(text)
        except ValueError as error:
            if kinds:
                raise ValueError(f"{one_line(text)!r} is no {self.kind}") from error
            return text

    @property
    def _values(self) -> list[Json] | None:
        values = [self.schema["const"]] if "const" in self.schema else self.schema.get("enum")
        return values if isinstance(values, list) else None

    @property
    def _kinds(self) -> list[str]:
        kind = self.schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        return [kind for kind in kinds if isinstance(kind, str)]


def fields(schema: JsonObject) -> list[PromptField]:
    """Return the properties of a schema; an empty list without properties."""
    shape = inline(schema)
    properties, required = shape.get("properties"), shape.get("required")
    needed = required if isinstance(required, list) else []
    if not isinstance(properties, dict):
        return []
    return [PromptField(name, one if isinstance(one, dict) else {}, name in needed) for name, one in properties.items()]


def describe_fields(schema: JsonObject) -> str:
    """Return a line such as `day: monday | tuesday, floor: integer, note: string (optional)`."""
    described = [
        f"{one_line(one.name)}: {one.kind}" + ("" if one.is_required else " (optional)") for one in fields(schema)
    ]
    bare = not schema or schema == {"type": "object"}
    return ", ".join(described) or ("any JSON object" if bare else json_line(schema))


def _among(values: list[Json], text: str) -> Json:
    for value in values:
        if text == (value if isinstance(value, str) else json.dumps(value)):
            return value
    raise ValueError(f"{one_line(text)!r} is not one of {', '.join(json_line(value) for value in values)}")
