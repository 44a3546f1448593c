"""The way back from a wire schema: nulls that stand only for absent properties are removed."""

from msgspec import Struct
from msgspec.json import Encoder

from soorma_ai.kernel.domain.schema_cost import MOST_AT_ONCE, length_of
from soorma_ai.kernel.domain.schema_steps import OF_A_STEP
from soorma_ai.kernel.domain.schemas import fits, violations
from soorma_ai.kernel.domain.slices import Slices, Work, sliced
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.bounded import show
from soorma_ai.kernel.rules.schemas.combine import (
    ALTERNATIVES,
    fold_all_of,
    kind_of,
    kinds_of,
    list_in,
    merge,
    object_in,
    values_of,
)

_BATCH = 1_000
_OF_A_CHARACTER = 8  # of a schema that is compiled
_BYTES = 6  # that are spelled in one unit

_encode = Encoder().encode


def strip_wire_nulls(value: Json, document: JsonObject) -> Slices[Json]:
    """Remove the nulls that stand for absent optional properties; a null that `document` accepts is kept, and so is all
    where the document was shown in outline, which asks for no nulls. A value that takes too long stays as it is."""
    if not isinstance(value, dict | list):
        return value
    try:
        spelled = _encode(value)
    except (TypeError, ValueError, RecursionError):
        spelled = b"null"
    has_nulls, units = b"null" in spelled, len(spelled) // _BYTES
    if (not has_nulls and units <= MOST_AT_ONCE) or (shown := show(document)).cut:
        return value
    stripped = yield from sliced(_strip(value, shown.plain, units, has_nulls=has_nulls))
    return value if stripped is None else stripped


def _strip(value: Json, schema: JsonObject, units: int, *, has_nulls: bool) -> Work[Json]:
    yield units
    return (yield from _NullRemoval().strip(value, schema)) if has_nulls else value


class _Branch(Struct, frozen=True):
    """An alternative: alone, and merged with the rules beside it. `tags` are the values that its properties allow."""

    alone: JsonObject
    merged: JsonObject
    kinds: list[Json]
    tags: dict[str, list[Json]]


class _SchemaChoice(Struct, frozen=True):
    """Alternatives of a schema, and the rules beside them."""

    base: JsonObject
    branches: list[_Branch]
    units: int


class _NullRemoval:
    """Removal of nulls from one value. The folded schemas are kept until its end."""

    def __init__(self) -> None:
        # By identity, with the schema that keeps it.
        self._folded: dict[int, tuple[JsonObject, JsonObject]] = {}
        self._choices: dict[int, tuple[JsonObject, _SchemaChoice | None]] = {}
        self._nullable: dict[int, tuple[Json, bool]] = {}

    def strip(self, value: Json, schema: Json) -> Work[Json]:
        if not isinstance(schema, dict) or not isinstance(value, dict | list):
            return value
        yield OF_A_STEP
        return (yield from self._by_alternatives(value, self._fold(schema)))

    def _by_alternatives(self, value: Json, schema: JsonObject) -> Work[Json]:
        """Follow one of the alternatives: by tags in the value where these tell, else by trying."""
        choice = self._choice(schema)
        if choice is None:
            return (yield from self._by_shape(value, schema))
        yield choice.units
        likely = [branch for branch in choice.branches if _tags_fit(value, branch)]
        if not likely:
            return (yield from self._by_shape(value, choice.base))
        first = stripped = yield from self._by_alternatives(value, likely[0].merged)
        if len(likely) == 1:
            return first
        for branch in likely:
            if branch is not likely[0]:
                stripped = yield from self._by_alternatives(value, branch.merged)
            if (yield from fits(branch.alone, stripped)):
                return stripped
        return first

    def _by_shape(self, value: Json, shape: JsonObject) -> Work[Json]:
        if isinstance(value, list):
            first, rest = list_in(shape.get("prefixItems")), shape.get("items", True)
            items: list[Json] = []
            for number, item in enumerate(value):
                if number % _BATCH == 0:
                    yield min(_BATCH, len(value) - number)
                is_plain = not isinstance(item, dict | list)
                child = first[number] if number < len(first) else rest
                items.append(item if is_plain else (yield from self.strip(item, child)))
            return items
        properties, required = object_in(shape.get("properties")), list_in(shape.get("required"))
        others = shape.get("additionalProperties", True)
        out: JsonObject = {}
        value = object_in(value)
        for number, (name, item) in enumerate(value.items()):
            if number % _BATCH == 0:
                yield min(_BATCH, len(value) - number)
            child = properties.get(name, others)
            if isinstance(item, dict | list):
                out[name] = yield from self.strip(item, child)
            elif item is not None or name not in properties or (yield from self._keeps_null(name, child, required)):
                out[name] = item
        return out

    def _keeps_null(self, name: str, schema: Json, required: list[Json]) -> Work[bool]:
        yield len(required)
        if name in required or not isinstance(schema, dict):
            return name in required or bool(schema)
        if id(schema) not in self._nullable:
            yield _OF_A_CHARACTER * (length_of(schema) or 0)
            self._nullable[id(schema)] = schema, not violations(schema, None)
        return self._nullable[id(schema)][1]

    def _fold(self, schema: JsonObject) -> JsonObject:
        if id(schema) not in self._folded:
            self._folded[id(schema)] = schema, fold_all_of(schema)
        return self._folded[id(schema)][1]

    def _choice(self, schema: JsonObject) -> _SchemaChoice | None:
        if id(schema) not in self._choices:
            self._choices[id(schema)] = schema, _choice_of(schema)
        return self._choices[id(schema)][1]


def _choice_of(schema: JsonObject) -> _SchemaChoice | None:
    for keyword in ALTERNATIVES:
        alternatives = [fold_all_of(branch) for branch in list_in(schema.get(keyword)) if isinstance(branch, dict)]
        if alternatives:
            base: JsonObject = {key: item for key, item in schema.items() if key != keyword}
            branches = [_Branch(one, merge(base, one), kinds_of(one), _tags_of(one)) for one in alternatives]
            tags = sum(len(values) for branch in branches for values in branch.tags.values())
            return _SchemaChoice(base, branches, OF_A_STEP * len(branches) + tags)
    return None


def _tags_of(branch: JsonObject) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for name, schema in object_in(branch.get("properties")).items():
        allowed = values_of(schema) if isinstance(schema, dict) else None
        if allowed is not None:
            found[name] = allowed
    return found


def _tags_fit(value: Json, branch: _Branch) -> bool:
    if branch.kinds and kind_of(value) not in branch.kinds:
        return False
    if not isinstance(value, dict):
        return True
    tags = ((value.get(name), allowed) for name, allowed in branch.tags.items())
    return all(found is None or found in allowed for found, allowed in tags)
