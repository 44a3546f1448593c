"""Visits of a validator: the number of its looks at parts of a schema for a value of some depth.

Each alternative is examined on its own, so references with branches, or back to alternatives, multiply. The schema and
the depth of the value give this number before the check.
"""

from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote, urldefrag, urljoin

from msgspec import Struct, field

from soorma_ai.kernel.domain.values import MOST_LEVELS, Json, JsonObject, follow

_LISTS_HERE = ("allOf", "anyOf", "oneOf")
_HERE = ("not", "if", "then", "else")
_BY_NAME_HERE = ("dependentSchemas", "dependencies")  # the latter of older drafts, which is followed still
_REFERENCES = ("$ref", "$dynamicRef")
_WITHIN = frozenset(
    {"properties", "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"}
    | {"prefixItems", "items", "contains", "unevaluatedItems"}
)
_LEADING_ON = _WITHIN.union(_LISTS_HERE, _HERE, _BY_NAME_HERE, _REFERENCES)
_OF_NAMES = {("properties",), ("patternProperties",), ("dependentSchemas",), ("$defs",), ("definitions",)}
_VALUES = ("enum", "const", "default", "examples")
_MOST = 10**15

Place = tuple[str | int, ...]


class SchemaNode(Struct):
    """Schema, with the numbers of the schemas for the same value, and of those for its parts: of each group, one for
    any one place."""

    schema: JsonObject
    here: list[int] = field(default_factory=list[int])
    of_objects: list[list[int]] = field(default_factory=list[list[int]])
    of_arrays: list[list[int]] = field(default_factory=list[list[int]])


def visits_of_root(graph: "SchemaGraph") -> tuple[int, ...]:
    """Return the most visits for a value without parts, for one of one level, and so on; the last number is for all
    deeper values."""
    return tuple(row[graph.root] for row in graph.visits)


def sizes_of_levels(value: Json) -> Iterator[int]:
    """Yield how many values there are on each level below the first."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [item for one in level if isinstance(one, dict | list) for item in _items(one)]
        if not level:
            return
        yield len(level)


def _items(value: JsonObject | list[Json]) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value


def _most(groups: list[list[int]], below: list[int]) -> int:
    return sum(max((below[one] for one in group), default=0) for group in groups)


def _leads_on(node: SchemaNode) -> bool:
    return bool(node.here) or any(node.of_objects) or any(node.of_arrays)


def _from_the_inside(nodes: list[SchemaNode]) -> list[int]:
    """Return all nodes, each behind those for the same value; a way back to itself is left out."""
    found: dict[int, None] = {}
    for start in range(len(nodes)):
        if not nodes[start].here:
            found.setdefault(start)
            continue
        ahead, within = [start], {start}
        while ahead:
            number = ahead[-1]
            following = next((one for one in nodes[number].here if one not in found and one not in within), None)
            if following is not None:
                ahead.append(following)
                within.add(following)
            else:
                found[ahead.pop()] = None
                within.discard(number)
    return [*found]


class SchemaGraph:
    """The schemas of a document, and how the check of one leads to the check of others."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._numbers: dict[int, int] = {}
        self._named: dict[str, Json] = {}
        self._bases: dict[int, str] = {}
        self.places: dict[int, Place] = {}
        self.nodes: list[SchemaNode] = [SchemaNode({})]  # the first stands for all that are no object
        self.leads_out = False
        self._ahead: list[JsonObject] = []
        self._collect_names()
        self.root = (self._number(document) or [0])[0]
        while self._ahead:
            self._read(self._ahead.pop())
        self._order = [number for number in _from_the_inside(self.nodes) if _leads_on(self.nodes[number])]
        self.visits = self.totals(lambda _: 1)

    @property
    def resources(self) -> int:
        """Number of schemas with a base of their own."""
        return len(set(self._bases.values()))

    def number_of(self, schema: JsonObject) -> int:
        return self._numbers.get(id(schema), 0)

    def totals(self, weigh: Callable[[JsonObject], int]) -> list[list[int]]:
        """Return the work of each node, for values of each depth up to the end of its growth, by the work of each
        schema alone."""
        nodes, own = self.nodes, [weigh(node.schema) for node in self.nodes]
        counted: list[list[int]] = []
        below = [0] * len(nodes)
        for _ in range(MOST_LEVELS + 1):
            of_objects, of_arrays = [*own], [*own]
            for number in self._order:
                node = nodes[number]
                for now, groups in ((of_objects, node.of_objects), (of_arrays, node.of_arrays)):
                    here = sum(now[one] for one in node.here)
                    now[number] = min(_MOST, own[number] + here + _most(groups, below))
            now = [*own]
            for number in self._order:
                now[number] = max(of_objects[number], of_arrays[number])
            counted.append(now)
            if now == below:
                break
            below = now
        return counted

    def target(self, schema: JsonObject, reference: Json) -> Json:
        """Return the schema of a reference in this one; None for one out of the document."""
        if not isinstance(reference, str):
            return None
        base = self._bases.get(id(schema), "")
        # `urljoin` knows no scheme such as `urn`.
        resource, fragment = urldefrag(base + reference if reference.startswith("#") else urljoin(base, reference))
        start = self._named.get(resource) if resource else self._document
        if fragment.startswith("/") and isinstance(start, dict):
            parts = [unquote(part).replace("~1", "/").replace("~0", "~") for part in fragment[1:].split("/")]
            return follow(start, parts, None)
        return self._named.get(f"{resource}#{fragment}") if fragment else start

    def _number(self, schema: Json) -> list[int]:
        if not isinstance(schema, dict):
            return []
        if id(schema) not in self._numbers:
            self._numbers[id(schema)] = len(self.nodes)
            self.nodes.append(SchemaNode(schema))
            self._ahead.append(schema)
        return [self._numbers[id(schema)]]

    def _all(self, schemas: Json) -> list[int]:
        found = _items(schemas) if isinstance(schemas, dict | list) else ()
        return [number for schema in found for number in self._number(schema)]

    def _read(self, schema: JsonObject) -> None:
        node = self.nodes[self._numbers[id(schema)]]
        if _LEADING_ON.isdisjoint(schema):
            return
        for keyword in (*_LISTS_HERE, *_BY_NAME_HERE):
            node.here += self._all(schema.get(keyword))
        for keyword in _HERE:
            node.here += self._number(schema.get(keyword))
        for keyword in _REFERENCES:
            target = self.target(schema, schema.get(keyword))
            self.leads_out |= keyword in schema and target is None
            node.here += self._number(target)
        named = [*self._all(schema.get("properties")), *self._number(schema.get("additionalProperties"))]
        patterns = [[one] for one in self._all(schema.get("patternProperties"))]
        node.of_objects = [named, *patterns, self._number(schema.get("propertyNames"))]
        node.of_objects.append(self._number(schema.get("unevaluatedProperties")))
        items = [*self._all(schema.get("prefixItems")), *self._number(schema.get("items"))]
        node.of_arrays = [items, self._number(schema.get("contains")), self._number(schema.get("unevaluatedItems"))]

    def _collect_names(self) -> None:
        """Note the place, the base and the names of every possible schema."""
        ahead: list[tuple[Json, Place, str]] = [(self._document, (), "")]
        while ahead:
            one, place, base = ahead.pop()
            if isinstance(one, dict):
                base = self._note(one, place, base)
                is_schema = place[-1:] not in _OF_NAMES
                inner = ((key, item) for key, item in one.items() if not (is_schema and key in _VALUES))
                ahead += [(item, (*place, key), base) for key, item in inner if isinstance(item, dict | list)]
            elif isinstance(one, list):
                ahead += [(item, (*place, at), base) for at, item in enumerate(one) if isinstance(item, dict | list)]

    def _note(self, one: JsonObject, place: Place, base: str) -> str:
        name = one.get("$id")
        if isinstance(name, str):
            base = urldefrag(urljoin(base, name))[0]
            self._named.setdefault(base, one)
        self.places[id(one)], self._bases[id(one)] = place, base
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := one.get(keyword), str):
                self._named.setdefault(f"{base}#{name}", one)
        return base
