"""Compiled parts of a schema: each subschema, and groups of keywords, for a check in pieces."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urldefrag, urljoin

from soorma_ai.kernel.domain.patterns import is_affordable, is_backtracking, steps_for
from soorma_ai.kernel.domain.schema_cost import SchemaCosts
from soorma_ai.kernel.domain.schema_graph import Place, SchemaGraph
from soorma_ai.kernel.domain.values import Json, JsonObject, compact

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, FancyRegexOptions, Registry

_BASE = "json-schema:///"
Compile = Callable[[JsonObject, "Registry | None", "FancyRegexOptions | None"], "Draft202012Validator"]


class Parts:
    """The schemas of a document, their costs, and their validators, each compiled at its first use."""

    def __init__(self, document: JsonObject, whole: "Draft202012Validator", compile_schema: Compile) -> None:
        from jsonschema_rs import Registry

        document = {name: one for name, one in document.items() if name != "$schema"}
        self.document = document
        self.graph = SchemaGraph(document)
        self.costs = SchemaCosts(self.graph)
        self._whole = whole
        self._compile = compile_schema
        name = document.get("$id")
        self._uri = urldefrag(urljoin(_BASE, name if isinstance(name, str) else "document"))[0]
        self._registry = Registry([(self._uri, document)])
        self._made: dict[str, Draft202012Validator] = {}

    @property
    def are_known(self) -> bool:
        """Tell whether each reference leads to one schema of the document, by every way to it."""
        is_dynamic = any("$dynamicRef" in node.schema for node in self.graph.nodes)
        return not self.graph.leads_out and not (is_dynamic and self.graph.resources > 1)

    def validator(self, schema: JsonObject) -> "Draft202012Validator":
        return self._whole if schema is self.document else self.group({"allOf": [schema]})

    def group(self, keywords: Mapping[str, Json]) -> "Draft202012Validator":
        """Return a validator of keywords, with the document's schemas."""
        outline: JsonObject = {name: self._refer(name, value) for name, value in keywords.items()}
        spelled = compact(outline)
        if spelled not in self._made:
            self._made[spelled] = self._compile(outline, self._registry, None)
        return self._made[spelled]

    def matches(self, pattern: str, text: str) -> bool | None:
        """Tell whether a pattern matches; None where a text is too long for it."""
        from jsonschema_rs import FancyRegexOptions

        if not is_affordable(pattern, len(text)):
            return None
        steps = steps_for(pattern, len(text)) if is_backtracking(pattern) else 1
        spelled = f"{steps} {pattern}"
        if spelled not in self._made:
            self._made[spelled] = self._compile({"pattern": pattern}, None, FancyRegexOptions(backtrack_limit=steps))
        return self._made[spelled].is_valid(text)

    def place(self, schema: Json) -> Place:
        return self.graph.places.get(id(schema), ())

    def _refer(self, name: str, value: Json) -> Json:
        if name in SCHEMA_HERE:
            return self._reference(value)
        if name in SCHEMAS_BY_NAME and isinstance(value, dict):
            return {key: self._reference(schema) for key, schema in value.items()}
        if name in SCHEMAS_IN_ORDER and isinstance(value, list):
            return [self._reference(schema) for schema in value]
        return value

    def _reference(self, schema: Json) -> Json:
        return (
            {"$ref": f"{self._uri}#{_pointer(self.graph.places[id(schema)])}"} if isinstance(schema, dict) else schema
        )


SCHEMA_HERE = frozenset({"additionalProperties", "propertyNames", "items", "contains"})
SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties"})
SCHEMAS_IN_ORDER = frozenset({"allOf"})


def _pointer(place: Iterable[str | int]) -> str:
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in place)
    return "".join(f"/{quote(part, safe='~')}" for part in parts)
