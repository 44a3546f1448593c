"""The way back from a wire schema: what was asked for as JSON text becomes the value that it spells."""

import json
from collections.abc import Iterator
from typing import cast

from soorma_ai.core.schema.combine import kind_of, kinds_of, list_in, object_in, values_of
from soorma_ai.core.schema.portable import DEFINITIONS, Wire
from soorma_ai.domain.values import Json, JsonObject, Same


def read_texts(value: Json, wire: Wire) -> Json:
    """Return the value in the document's form. What is no text, or no JSON, is left as it is, so that it is judged."""
    return _read(value, wire.schema, wire) if wire.texts else value


def _read(value: Json, schema: Json, wire: Wire) -> Json:
    shape = next((one for one in _alternatives(schema, wire) if _is_meant(value, one)), None)
    if shape is None:
        return value
    if isinstance(value, str):
        return _parse(value) if Same(shape) in wire.texts else value
    if isinstance(value, list):
        return [_read(item, shape.get("items"), wire) for item in value]
    if isinstance(value, dict):
        properties = object_in(shape.get("properties"))
        return {
            name: _read(item, properties[name], wire) if name in properties else item for name, item in value.items()
        }
    return value


def _alternatives(schema: Json, wire: Wire) -> Iterator[JsonObject]:
    """Yield what a value may be, each without a reference. References lead to definitions, which hold none."""
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


def _is_meant(value: Json, shape: JsonObject) -> bool:
    """Tell whether a value is of the kind, and has the tags, that a schema asks for."""
    if kind_of(value) not in kinds_of(shape):
        return False
    if not isinstance(value, dict):
        return True
    children = object_in(shape.get("properties")).items()
    tags = {name: values_of(child) for name, child in children if isinstance(child, dict)}
    return all(
        value.get(name) in allowed for name, allowed in tags.items() if allowed is not None and len(allowed) == 1
    )


def _parse(text: str) -> Json:
    try:
        return cast(Json, json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_number))
    except (ValueError, RecursionError):
        return text


def _pairs(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(text: str) -> Json:
    raise ValueError(text)
