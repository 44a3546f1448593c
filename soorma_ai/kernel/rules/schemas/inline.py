"""Schemas without references: local ones are written out, so that a schema can be nested in a bigger one.

Where a reference cannot be written out (it is recursive, or points outside) the schema is widened there. Widening one
place must never narrow the whole, so above it keywords are dropped that accept less when a part accepts more.
"""

from urllib.parse import unquote

from msgspec import Struct

from soorma_ai.kernel.domain.values import MOST_LEVELS, Json, JsonObject, compact, leads_into

ONE = frozenset({"additionalProperties", "items", "propertyNames", "contains", "not", "if", "then", "else"})
ONE_EVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_BOOKKEEPING = frozenset(
    {"$ref", "$dynamicRef", "$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary"}
    | {"$comment"}
)

# Where these are widened, it is no longer known which fields they have evaluated.
_IN_PLACE = MANY | {"$ref", "$dynamicRef", "if", "then", "else", "dependentSchemas", "contains"}

# References that branch can grow exponentially when written out; beyond this they are widened instead.
MAX_NODES = 20_000
MAX_STEPS = 10


class _OpenSchema(Struct, frozen=True):
    """Schema with the base resource of its references, and the open references above it."""

    schema: Json
    resource: Json
    above: tuple[tuple[int, str], ...] = ()
    level: int = 0

    def inside(self, schema: Json) -> "_OpenSchema":
        resource = schema if isinstance(schema, dict) and isinstance(schema.get("$id"), str) else self.resource
        return _OpenSchema(schema, resource, self.above, self.level + 1)


def inline(document: JsonObject) -> JsonObject:
    """Return the schema without references; it accepts all that `document` accepts, and nothing else if nothing had to
    be widened."""
    written, _ = _Inliner().write(_OpenSchema(document, document))
    return _as_object(written)


def inline_within(document: JsonObject, nodes: int, chars: int) -> JsonObject | None:
    """Return the result of `inline`; None above this number of nodes or characters, and no more than that is
    written."""
    try:
        written, _ = _Inliner(_InlineRoom(nodes, chars)).write(_OpenSchema(document, document))
    except _TooLarge:
        return None
    return _as_object(written)


def root_of(document: JsonObject) -> JsonObject:
    """Return the schema itself where a document is a reference to it, as those of recursive models are."""
    place = _OpenSchema(document, document)
    for _ in range(MAX_STEPS):
        schema = place.schema
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        found = _resolve(reference, place.resource) if isinstance(reference, str) else None
        if found is None:
            break
        place = found
    return place.schema if isinstance(place.schema, dict) else {}


def _as_object(written: Json) -> JsonObject:
    return written if isinstance(written, dict) else {} if written else {"not": {}}


class _TooLarge(Exception):
    pass


class _InlineRoom(Struct):
    nodes: int
    chars: int

    def take(self, schema: Json, level: int) -> None:
        """Raise _TooLarge where a node of this schema, without those below it, has no room."""
        self.nodes -= 1
        if isinstance(schema, dict):
            for keyword, value in schema.items():
                below = keyword in ONE | ONE_EVALUATED or (keyword in MANY and isinstance(value, list))
                if keyword in NAMED and isinstance(value, dict):
                    self.chars -= sum(map(len, value))
                elif not below and keyword not in _BOOKKEEPING:
                    self.chars -= len(compact(value))
                self.chars -= len(keyword)
        if self.nodes < 0 or self.chars < 0 or level > MOST_LEVELS:
            raise _TooLarge


class _Inliner:
    def __init__(self, room: _InlineRoom | None = None) -> None:
        self._nodes = 0
        self._room = room

    def write(self, place: _OpenSchema) -> tuple[Json, bool]:
        """Return the schema written out, and whether it still means exactly the same."""
        schema = place.schema
        self._nodes += 1
        if self._room is not None:
            self._room.take(schema, place.level)
        if not isinstance(schema, dict):
            return schema, True
        out: JsonObject = {}
        widened: set[str] = set()
        for keyword, value in schema.items():
            if keyword not in _BOOKKEEPING:
                out[keyword], same = self._keyword(keyword, value, place)
                if not same:
                    widened.add(keyword)
        target: Json = True
        if isinstance(reference := schema.get("$ref"), str):
            target, same = self._target(reference, place)
            if not same:
                widened.add("$ref")
        if "$dynamicRef" in schema:
            widened.add("$dynamicRef")
        _drop_narrowing(out, widened)
        return _merge_siblings(target, out), not widened

    def _keyword(self, keyword: str, value: Json, place: _OpenSchema) -> tuple[Json, bool]:
        if keyword in ONE or keyword in ONE_EVALUATED:
            return self.write(place.inside(value))
        if keyword in MANY and isinstance(value, list):
            written = [self.write(place.inside(item)) for item in value]
            return [item for item, _ in written], all(same for _, same in written)
        if keyword in NAMED and isinstance(value, dict):
            named = {name: self.write(place.inside(item)) for name, item in value.items()}
            return {name: item for name, (item, _) in named.items()}, all(same for _, same in named.values())
        return value, True

    def _target(self, reference: str, place: _OpenSchema) -> tuple[Json, bool]:
        found = _resolve(reference, place.resource)
        if found is None:
            return True, False
        key = (id(found.schema), reference)
        if key in place.above or self._nodes > MAX_NODES or place.level > MOST_LEVELS:
            return _hint(found.schema), False
        return self.write(_OpenSchema(found.schema, found.resource, (*place.above, key), place.level + 1))


def _resolve(reference: str, resource: Json) -> _OpenSchema | None:
    """Return the target of a pointer inside the document; None for anything else."""
    if reference == "#":
        return _OpenSchema(resource, resource)
    if not reference.startswith("#/"):
        return None
    schema: Json = resource
    for raw in reference[2:].split("/"):
        part = unquote(raw).replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and part in schema:
            schema = schema[part]
        elif isinstance(schema, list) and leads_into(schema, part):
            schema = schema[int(part)]
        else:
            return None
        if isinstance(schema, dict) and isinstance(schema.get("$id"), str):
            resource = schema
    return _OpenSchema(schema, resource)


def _hint(schema: Json) -> Json:
    """Return all that can be said about a recursive place: its type."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return {"type": kind} if kind is not None else True


def _merge_siblings(target: Json, out: JsonObject) -> Json:
    """Return the target schema of a reference, with the keywords written next to it."""
    if target is True:
        return out or True
    if isinstance(target, dict) and out.keys() <= ANNOTATIONS:
        return target | out
    return _require_also(out, target)


def _require_also(out: JsonObject, schema: Json) -> JsonObject:
    parts = out.get("allOf")
    both: list[Json] = [schema, *(parts if isinstance(parts, list) else [])]
    return {**out, "allOf": both}


def _drop_narrowing(out: JsonObject, widened: set[str]) -> None:
    """Remove or rewrite the keywords with a narrower effect over a widened content."""
    if not widened:
        return
    gone = set(ONE_EVALUATED) if widened & _IN_PLACE else set[str]()
    if "if" in widened:
        gone |= {"if", "then", "else"}
    if "not" in widened:
        gone.add("not")
    if "contains" in widened:
        gone.add("maxContains")
    if "oneOf" in widened:
        out.update(_require_also(out, {"anyOf": out["oneOf"]}))
        gone.add("oneOf")
    for keyword in gone:
        out.pop(keyword, None)
