"""Way back from a wire schema: JSON text in place of a part becomes its value."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json, JsonObject, Same, identity_of, parse_json
from soorma_ai.kernel.rules.schemas.combine import kind_of, kinds_of, list_in, object_in, values_of
from soorma_ai.kernel.rules.schemas.portable import DEFINITIONS, PARTS, Wire


def read_texts(value: Json, wire: Wire) -> Json:
    """Return the value in the document's form. Anything but text of JSON is left as it is, for its judgement."""
    return _read(value, wire.schema, identity_of(wire)) if wire.texts else value


class _ShapeChoice(Struct, frozen=True):
    """Shapes that a value may have: those of objects by their tag, a field that holds one value only, and the others.
    A model may give as many requests as it likes, and each may be one of many."""

    tag: str
    tagged: Mapping[str, JsonObject]
    others: tuple[JsonObject, ...]

    def shape_of(self, value: Json) -> JsonObject | None:
        named = value.get(self.tag) if isinstance(value, dict) else None
        if isinstance(named, str) and named in self.tagged:
            return self.tagged[named]
        return next((shape for shape in self.others if kind_of(value) in kinds_of(shape)), None)


def _read(value: Json, schema: Json, wire: Same[Wire]) -> Json:
    choice = _choice(identity_of(schema), wire) if isinstance(schema, dict) else None
    shape = choice.shape_of(value) if choice else None
    if shape is None:
        return value
    if isinstance(value, list):
        return [_read(item, shape.get("items"), wire) for item in value]
    if isinstance(value, dict):
        properties = object_in(shape.get("properties"))
        return {name: _read_field(name, item, properties.get(name), wire) for name, item in value.items()}
    return value


def _read_field(name: str, value: Json, schema: Json, wire: Same[Wire]) -> Json:
    """Read a field. A part is left unread: it may hold anything, any number of times."""
    if name not in PARTS:
        return _read(value, schema, wire)
    if not isinstance(value, str) or not isinstance(schema, dict):
        return value
    is_text = any(identity_of(shape) in wire().texts for shape in _choice(identity_of(schema), wire).others)
    return _parse(value) if is_text else value


@lru_cache(maxsize=512)
def _choice(schema: Same[JsonObject], wire: Same[Wire]) -> _ShapeChoice:
    shapes = [*_alternatives(schema(), wire())]
    tags = [_tag_of(shape) for shape in shapes]
    tag = next((tag for tag in tags if tag), ("", ""))[0]
    tagged = {told[1]: shape for told, shape in zip(tags, shapes, strict=True) if told and told[0] == tag}
    others = [shape for told, shape in zip(tags, shapes, strict=True) if not told or told[0] != tag]
    return _ShapeChoice(tag, tagged, tuple(others))


def _tag_of(shape: JsonObject) -> tuple[str, str] | None:
    """Return the first field of an object and its value, where it can have only one."""
    name, child = next(iter(object_in(shape.get("properties")).items()), ("", None))
    values = values_of(child) if isinstance(child, dict) else None
    return (name, values[0]) if values and len(values) == 1 and isinstance(values[0], str) else None


def _alternatives(schema: Json, wire: Wire) -> Iterator[JsonObject]:
    """Yield the possible forms of a value, each without a reference. References lead to definitions; these hold
    none."""
    if not isinstance(schema, dict):
        return
    if isinstance(target := schema.get("$ref"), str):
        definitions = object_in(wire.schema.get("$defs"))
        yield from _alternatives(definitions.get(target.removeprefix(DEFINITIONS)), wire)
    elif branches := list_in(schema.get("anyOf")):
        for branch in branches:
            yield from _alternatives(branch, wire)
    else:
        yield schema


def _parse(text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError:
        return text
