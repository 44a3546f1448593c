"""Annotations of a schema: the properties and items examined by its keywords, for `unevaluated...`."""

from collections.abc import Callable, Generator

from soorma_ai.kernel.domain.schema_parts import Parts
from soorma_ai.kernel.domain.schema_steps import MOST_NESTED, OF_A_STEP, OF_AN_ITEM, At, Verdict, list_in, map_in
from soorma_ai.kernel.domain.values import Json, JsonObject

Fits = Callable[[Json, Json, At], Verdict]
Seen = Generator[int, None, set[str | int]]


class Annotations:
    """Annotations of keywords, by the parts of one document and the check of one schema for one value."""

    def __init__(self, parts: Parts, fits: Fits) -> None:
        self._parts = parts
        self._fits = fits

    def examined(self, schema: JsonObject, given: JsonObject, value: Json, at: At) -> Seen:
        """Return the names or numbers examined by the schema's keywords `given`; yields the work done."""
        seen = yield from self._examine(given, value, at)
        within = at.into()
        if within.nested > MOST_NESTED:
            return seen
        here = [self._parts.graph.target(schema, given[name]) for name in ("$ref", "$dynamicRef") if name in given]
        here += [one for name in ("allOf", "anyOf", "oneOf") for one in list_in(given.get(name))]
        if isinstance(value, dict):
            for keyword in ("dependentSchemas", "dependencies"):
                here += [one for name, one in map_in(given.get(keyword)).items() if name in value]
        if "if" in given:
            is_so = yield from self._fits(given["if"], value, within)
            here += [given["if"], given.get("then", True)] if is_so else [given.get("else", True)]
        for one in here:
            yield OF_A_STEP
            if isinstance(one, dict) and (yield from self._fits(one, value, within)):
                seen |= yield from self.examined(one, one, value, within)
        return seen

    def _examine(self, given: JsonObject, value: Json, at: At) -> Seen:
        seen: set[str | int] = set()
        if isinstance(value, dict):
            properties, patterns = map_in(given.get("properties")), map_in(given.get("patternProperties"))
            takes_all = "additionalProperties" in given or "unevaluatedProperties" in given
            for name in [*value]:
                yield OF_AN_ITEM * (1 + len(patterns))
                if takes_all or name in properties or any(self._parts.matches(one, name) for one in patterns):
                    seen.add(name)
        elif isinstance(value, list):
            takes_all = "items" in given or "unevaluatedItems" in given
            first = len(value) if takes_all else min(len(value), len(list_in(given.get("prefixItems"))))
            yield first
            seen.update(range(first))
            for number, item in enumerate(list(value) if "contains" in given else []):
                if (yield from self._fits(given["contains"], item, at.into(number))):
                    seen.add(number)
        return seen
