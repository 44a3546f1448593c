"""Visits of a validator: how often it may look at parts of a schema for a value that is nested so deep.

Each alternative is looked at for itself, so that references which branch, or which lead back to alternatives, multiply.
That is known from the schema and the depth of the value, before anything is looked at.
"""

from collections.abc import Iterable
from urllib.parse import unquote

from msgspec import Struct, field

from soorma_ai.domain.values import MOST_LEVELS, Json, JsonObject, follow

_LISTS_HERE = ("allOf", "anyOf", "oneOf")
_HERE = ("not", "if", "then", "else")
_BY_NAME_HERE = ("dependentSchemas",)
_REFERENCES = ("$ref", "$dynamicRef")
_WITHIN = frozenset(
    {"properties", "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"}
    | {"prefixItems", "items", "contains", "unevaluatedItems"}
)
_LEADING_ON = _WITHIN.union(_LISTS_HERE, _HERE, _BY_NAME_HERE, _REFERENCES)
_MOST = 10**15


class _Looks(Struct):
    """Numbers of the schemas that are looked at for the same value, and of those for what is in it: of each group, one
    for any one place."""

    here: list[int] = field(default_factory=list[int])
    of_objects: list[list[int]] = field(default_factory=list[list[int]])
    of_arrays: list[list[int]] = field(default_factory=list[list[int]])


def visits_by_depth(document: JsonObject) -> tuple[int, ...]:
    """Return the most visits for a value without anything in it, for one of one level, and so on; the last is for any
    that is nested deeper."""
    read = _Reader(document)
    nodes = read.nodes
    order = _from_the_inside(nodes)
    counted: list[int] = []
    below = [0] * len(nodes)
    for _ in range(MOST_LEVELS + 1):
        of_objects, of_arrays = [0] * len(nodes), [0] * len(nodes)
        for number in order:
            node = nodes[number]
            for now, groups in ((of_objects, node.of_objects), (of_arrays, node.of_arrays)):
                now[number] = min(_MOST, 1 + sum(now[one] for one in node.here) + _most(groups, below))
        now = [max(both) for both in zip(of_objects, of_arrays, strict=True)]
        counted.append(now[read.root])
        if now == below:
            break
        below = now
    return tuple(counted)


def depth_of(value: Json) -> int:
    """Return how many levels of lists and objects a value has."""
    depth, level = 0, [value]
    while True:
        level = [item for one in level if isinstance(one, dict | list) for item in _items(one)]
        if not level or depth >= MOST_LEVELS:
            return depth
        depth += 1


def _items(value: JsonObject | list[Json]) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value


def _most(groups: list[list[int]], below: list[int]) -> int:
    return sum(max((below[one] for one in group), default=0) for group in groups)


def _from_the_inside(nodes: list[_Looks]) -> list[int]:
    """Return all nodes, each behind those that are looked at for the same value; a way back to itself is left out."""
    found: dict[int, None] = {}
    for start in range(len(nodes)):
        ahead = [start]
        while ahead:
            number = ahead[-1]
            rest = [one for one in nodes[number].here if one not in found and one not in ahead]
            if rest:
                ahead.append(rest[0])
            else:
                found[ahead.pop()] = None
    return [*found]


class _Reader:
    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._numbers: dict[int, int] = {}
        self._named: dict[str, Json] = {}
        self.nodes: list[_Looks] = [_Looks()]  # the first stands for all that lead nowhere
        self._ahead: list[JsonObject] = []
        self._collect_names(document)
        self.root = (self._number(document) or [0])[0]
        while self._ahead:
            self._read(self._ahead.pop())

    def _number(self, schema: Json) -> list[int]:
        if not isinstance(schema, dict):
            return []
        if _LEADING_ON.isdisjoint(schema):
            return [0]
        if id(schema) not in self._numbers:
            self._numbers[id(schema)] = len(self.nodes)
            self.nodes.append(_Looks())
            self._ahead.append(schema)
        return [self._numbers[id(schema)]]

    def _all(self, schemas: Json) -> list[int]:
        found = _items(schemas) if isinstance(schemas, dict | list) else ()
        return [number for schema in found for number in self._number(schema)]

    def _read(self, schema: JsonObject) -> None:
        node = self.nodes[self._numbers[id(schema)]]
        for keyword in (*_LISTS_HERE, *_BY_NAME_HERE):
            node.here += self._all(schema.get(keyword))
        for keyword in _HERE:
            node.here += self._number(schema.get(keyword))
        for keyword in _REFERENCES:
            node.here += self._number(self._target(schema.get(keyword)))
        named = [*self._all(schema.get("properties")), *self._number(schema.get("additionalProperties"))]
        patterns = [[one] for one in self._all(schema.get("patternProperties"))]
        node.of_objects = [named, *patterns, self._number(schema.get("propertyNames"))]
        node.of_objects.append(self._number(schema.get("unevaluatedProperties")))
        items = [*self._all(schema.get("prefixItems")), *self._number(schema.get("items"))]
        node.of_arrays = [items, self._number(schema.get("contains")), self._number(schema.get("unevaluatedItems"))]

    def _target(self, reference: Json) -> Json:
        if not isinstance(reference, str):
            return None
        if reference == "#":
            return self._document
        if reference.startswith("#/"):
            parts = [unquote(part).replace("~1", "/").replace("~0", "~") for part in reference[2:].split("/")]
            return follow(self._document, parts, None)
        return self._named.get(reference.removeprefix("#"))

    def _collect_names(self, value: Json) -> None:
        ahead = [value]
        while ahead:
            one = ahead.pop()
            if isinstance(one, dict | list):
                ahead += _items(one)
            if isinstance(one, dict):
                for keyword in ("$anchor", "$dynamicAnchor", "$id"):
                    if isinstance(name := one.get(keyword), str):
                        self._named.setdefault(name, one)
