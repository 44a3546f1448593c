"""Check of a value in pieces: for data and schemas too large for one call of the validator.

The walk follows the schema keyword by keyword. A small piece goes to the compiled validator. It yields the work done,
in units, and each fault on its discovery.
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from soorma_ai.kernel.domain.schema_annotations import Annotations
from soorma_ai.kernel.domain.schema_cost import MOST_AT_ONCE
from soorma_ai.kernel.domain.schema_parts import Parts
from soorma_ai.kernel.domain.schema_steps import (
    MOST_NESTED,
    OF_A_STEP,
    OF_AN_ITEM,
    At,
    SchemaFault,
    Step,
    Steps,
    Tell,
    Verdict,
    is_free,
    list_in,
    map_in,
)
from soorma_ai.kernel.domain.values import Json, JsonObject, excerpt

T = TypeVar("T")
_MOST_IN_A_BATCH = 2_048
_MOST_COMPILED = 200  # schemas in one group
_QUICK = frozenset(
    {"type", "required", "dependentRequired", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum"}
    | {"exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)
_MEMBERS = ("properties", "patternProperties", "additionalProperties")
_TRUE, _FALSE = object(), object()
_OF_AN_ITEM = 20


class Walk:
    """One check of one value."""

    def __init__(self, parts: Parts, tell: Tell) -> None:
        self._parts = parts
        self._tell = tell

    def faults(self, schema: Json, value: Json, at: At) -> Steps:
        """Yield the work done, and each fault on its discovery."""
        if not isinstance(schema, dict):
            if schema is False:
                yield SchemaFault(at.path, self._parts.place(schema), "falseSchema", value, None)
            return
        estimate = self._parts.costs.check(schema, value)
        yield estimate.spent
        if not estimate.is_little:
            yield from self._by_keywords(schema, value, at)
            return
        yield estimate.units
        validator = self._parts.validator(schema)
        if validator.is_valid(value):
            return
        telling = self._parts.costs.telling(schema, value)
        if telling is None:
            yield from self._by_keywords(schema, value, at)
        else:
            yield telling
            yield from self._tell(validator, value, at.path)

    def fits(self, schema: Json, value: Json, at: At) -> Verdict:
        """Tell whether a value fits; yields the work done."""
        if not isinstance(schema, dict):
            return schema is not False
        estimate = self._parts.costs.check(schema, value)
        yield estimate.spent
        if estimate.is_little:
            yield estimate.units
            return self._parts.validator(schema).is_valid(value)
        return (yield from is_free(self._by_keywords(schema, value, at)))

    def _by_keywords(self, schema: JsonObject, value: Json, at: At) -> Steps:
        yield OF_A_STEP
        if at.nested > MOST_NESTED:
            yield SchemaFault(at.path, self._parts.place(schema), "nesting", value, MOST_NESTED)
            return
        yield from self._assertions(schema, value, at)
        yield from self._alternatives(schema, value, at)
        if isinstance(value, dict):
            yield from self._members(schema, value, at)
            yield from self._names(schema, value, at)
        elif isinstance(value, list):
            yield from self._items(schema, value, at)
            yield from self._contained(schema, value, at)
        yield from self._unevaluated(schema, value, at)

    def _fault(self, schema: JsonObject, rule: str, value: Json, at: At) -> SchemaFault:
        return SchemaFault(at.path, (*self._parts.place(schema), rule), rule, value, schema.get(rule))

    # Assertions about the value itself.

    def _assertions(self, schema: JsonObject, value: Json, at: At) -> Steps:
        given: JsonObject = {name: one for name, one in schema.items() if name in _QUICK}
        if dependencies := map_in(schema.get("dependencies")):
            given["dependencies"] = {name: one for name, one in dependencies.items() if isinstance(one, list)}
        yield sum(len(one) for one in given.values() if isinstance(one, dict | list))
        if given and not self._parts.group(given).is_valid(value):
            for name, wanted in given.items():
                yield from self._assertion(schema, {name: wanted}, value, at)
        if isinstance(value, str) and isinstance(pattern := schema.get("pattern"), str):
            yield MOST_AT_ONCE if len(value) > MOST_AT_ONCE // 100 else len(value)
            if not (matched := self._parts.matches(pattern, value)):
                fault = self._fault(schema, "pattern", value, at)
                yield fault if matched is False else _too_long(fault)
        if "enum" in schema or "const" in schema:
            yield from self._options(schema, value, at)
        if schema.get("uniqueItems") is True and isinstance(value, list):
            yield from self._uniqueness(schema, value, at)

    def _assertion(self, schema: JsonObject, given: Mapping[str, Json], value: Json, at: At) -> Steps:
        validator, name = self._parts.group(given), next(iter(given))
        if validator.is_valid(value):
            return
        yield OF_A_STEP
        if name == "required" and isinstance(value, dict):
            missing = (one for one in cast(list[str], given[name]) if one not in value)
            for one in missing:
                words = f'"{one}" is a required property'
                yield SchemaFault(at.path, (*self._parts.place(schema), name), name, value, one, words)
        else:
            yield self._fault(schema, name, value, at)

    def _options(self, schema: JsonObject, value: Json, at: At) -> Steps:
        found = yield from identity(value)
        for rule in ("enum", "const"):
            if rule not in schema:
                continue
            options = schema[rule] if rule == "enum" else [schema[rule]]
            for option in cast(list[Json], options):
                yield 1
                if (yield from identity(option)) == found:
                    break
            else:
                yield self._fault(schema, rule, value, at)

    def _uniqueness(self, schema: JsonObject, value: list[Json], at: At) -> Steps:
        seen: set[object] = set()
        for item in list(value):
            yield OF_AN_ITEM
            known = yield from identity(item)
            if known in seen:
                yield self._fault(schema, "uniqueItems", value, at)
                return
            seen.add(known)

    # Schemas for the same value.

    def _alternatives(self, schema: JsonObject, value: Json, at: At) -> Steps:
        within = at.into()
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in schema:
                yield from self.faults(self._parts.graph.target(schema, schema[keyword]), value, within)
        for one in list_in(schema.get("allOf")):
            yield from self.faults(one, value, within)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._choice(schema, keyword, value, at)
        if "not" in schema and (yield from self.fits(schema["not"], value, within)):
            yield self._fault(schema, "not", value, at)
        if "if" in schema:
            branch = "then" if (yield from self.fits(schema["if"], value, within)) else "else"
            yield from self.faults(schema.get(branch, True), value, within)
        if isinstance(value, dict):
            for keyword in ("dependentSchemas", "dependencies"):
                for name, one in map_in(schema.get(keyword)).items():
                    if name in value and not isinstance(one, list):
                        yield from self.faults(one, value, within)

    def _choice(self, schema: JsonObject, keyword: str, value: Json, at: At) -> Steps:
        options, fitting = list_in(schema[keyword]), 0
        for one in options:
            fitting += yield from self.fits(one, value, at.into())
            if fitting and (keyword == "anyOf" or fitting > 1):
                break
        if fitting == 0:
            meant = yield from self._likely_option(options, value, at)
            if meant is not None:
                yield from self.faults(meant, value, at.into())
                return
        if fitting != 1:
            words = "it fits more than one of the schemas, of which it must fit one" if fitting else ""
            yield SchemaFault(at.path, (*self._parts.place(schema), keyword), keyword, value, None, words)

    def _likely_option(self, options: list[Json], value: Json, at: At) -> Generator[int, None, Json]:
        """Return the one alternative of this type, and of this tag; None if it is ambiguous."""
        likely = [one for one in options if isinstance(one, dict)]
        for is_meant in (self._is_of_type, self._is_tagged):
            kept: list[JsonObject] = []
            for one in likely:
                yield OF_A_STEP
                if is_meant(self._plain(one), value):
                    kept.append(one)
            likely = kept
            if len(likely) == 1:
                return likely[0]
        return None

    def _plain(self, schema: JsonObject) -> JsonObject:
        """Return a schema, or the target of a mere reference."""
        for _ in range(MOST_NESTED):
            target = self._parts.graph.target(schema, schema.get("$ref"))
            if not isinstance(target, dict):
                break
            schema = target
        return schema

    def _is_of_type(self, schema: JsonObject, value: Json) -> bool:
        return "type" not in schema or self._parts.group({"type": schema["type"]}).is_valid(value)

    def _is_tagged(self, schema: JsonObject, value: Json) -> bool:
        tags = map_in(schema.get("properties")) if isinstance(value, dict) else {}
        for name, tag in tags.items():
            given = {rule: tag[rule] for rule in ("const", "enum") if isinstance(tag, dict) and rule in tag}
            found = value.get(name) if isinstance(value, dict) else None
            if given and isinstance(found, str) and not self._parts.group(given).is_valid(found):
                return False
        return True

    # Schemas for the properties and items of the value.

    def _members(self, schema: JsonObject, value: JsonObject, at: At) -> Steps:
        given: JsonObject = {name: schema[name] for name in _MEMBERS if name in schema}
        if not given:
            return
        is_small = sum(len(map_in(schema.get(name))) for name in _MEMBERS) <= _MOST_COMPILED
        validator, names = self._parts.group(given) if is_small else None, [*value]
        for start, stop, units in self._batches(schema, names, lambda some: {name: value[name] for name in some}):
            yield units or OF_AN_ITEM
            some = {name: value[name] for name in names[start:stop]}
            if units and validator is not None and validator.is_valid(some):
                continue
            for name, item in some.items():
                if (yield from self._member(schema, name, item, at)):
                    return

    def _member(self, schema: JsonObject, name: str, item: Json, at: At) -> Generator[Step, None, bool]:
        """Yield the faults of one property. Return whether it is a forbidden one."""
        yield OF_AN_ITEM
        properties, patterns = map_in(schema.get("properties")), map_in(schema.get("patternProperties"))
        found = [properties[name]] if name in properties else []
        for pattern, one in patterns.items():
            yield 1
            matched = self._parts.matches(pattern, name)
            if matched is None:
                yield _too_long(self._fault(schema, "patternProperties", name, at))
            elif matched:
                found.append(one)
        if not found and schema.get("additionalProperties") is False:
            words = f"{excerpt(name, 80)} is not among the properties that it may have"
            yield SchemaFault(
                at.path, (*self._parts.place(schema), "additionalProperties"), "falseSchema", item, None, words
            )
            return True
        for one in found or [schema.get("additionalProperties", True)]:
            yield from self.faults(one, item, at.into(name))
        return False

    def _names(self, schema: JsonObject, value: JsonObject, at: At) -> Steps:
        if "propertyNames" not in schema:
            return
        named, names = schema["propertyNames"], [*value]
        validator = self._parts.group({"propertyNames": named})
        for start, stop, units in self._batches(schema, names):
            yield units or OF_AN_ITEM
            if units and validator.is_valid(dict.fromkeys(names[start:stop])):
                continue
            for name in names[start:stop]:
                if named is False:
                    yield self._fault(schema, "propertyNames", name, at)
                else:
                    yield from self.faults(named, name, at.into())

    def _items(self, schema: JsonObject, value: list[Json], at: At) -> Steps:
        first = list_in(schema.get("prefixItems"))
        for number, (one, item) in enumerate(zip(first, value, strict=False)):
            yield from self.faults(one, item, at.into(number))
        rest, items = schema.get("items", True), value[len(first) :]
        if rest is False and items:
            yield self._fault(schema, "items", value, at)
        if not isinstance(rest, dict):
            return
        validator = self._parts.group({"items": rest})
        for start, stop, units in self._batches(schema, items):
            yield units or OF_AN_ITEM
            if units and validator.is_valid(items[start:stop]):
                continue
            for number, item in enumerate(items[start:stop], len(first) + start):
                yield from self.faults(rest, item, at.into(number))

    def _contained(self, schema: JsonObject, value: list[Json], at: At) -> Steps:
        if "contains" not in schema:
            return
        wanted, items = schema["contains"], list(value)
        found, least, most = 0, schema.get("minContains", 1), schema.get("maxContains")
        any_one, every_one = self._parts.group({"contains": wanted}), self._parts.group({"items": wanted})
        for start, stop, units in self._batches(schema, items):
            yield 2 * units or OF_AN_ITEM
            if units and every_one.is_valid(items[start:stop]):
                found += stop - start
            elif not units or any_one.is_valid(items[start:stop]):
                for number, item in enumerate(items[start:stop], start):
                    found += yield from self.fits(wanted, item, at.into(number))
            if most is None and found >= cast(float, least):
                return
        if found < cast(float, least):
            yield self._fault(schema, "contains" if least == 1 else "minContains", value, at)
        if most is not None and found > cast(float, most):
            yield self._fault(schema, "maxContains", value, at)

    def _batches(
        self, schema: JsonObject, items: Sequence[T], part_of: Callable[[Sequence[T]], object] | None = None
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the bounds of items for one call, and its units; 0 for an item too large for one. `part_of` makes the
        part of the value for some of them."""
        start, number = 0, _MOST_IN_A_BATCH
        while start < len(items):
            stop = min(len(items), start + number)
            some = items[start:stop]
            units = self._parts.costs.check_spelled(schema, part_of(some) if part_of else some)
            if units is not None or stop - start == 1:
                yield start, stop, units or 0
                start, number = stop, min(2 * number, _MOST_IN_A_BATCH)
            else:
                number = max(1, (stop - start) // 4)

    # Properties and items that no other keyword has looked at.

    def _unevaluated(self, schema: JsonObject, value: Json, at: At) -> Steps:
        if isinstance(value, dict) and "unevaluatedProperties" in schema:
            rule, keys = "unevaluatedProperties", cast(Iterable[str | int], [*value])
        elif isinstance(value, list) and "unevaluatedItems" in schema:
            rule, keys = "unevaluatedItems", range(len(value))
        else:
            return
        others: JsonObject = {name: one for name, one in schema.items() if name != rule}
        seen = yield from Annotations(self._parts, self.fits).examined(schema, others, value, at)
        for key in keys:
            yield OF_AN_ITEM
            if key in seen:
                continue
            if schema[rule] is False:
                yield self._fault(schema, rule, value, at)
                return
            item = value[cast(str, key)] if isinstance(value, dict) else value[cast(int, key)]
            yield from self.faults(schema[rule], item, at.into(key))


def _too_long(fault: SchemaFault) -> SchemaFault:
    return replace(fault, message="it is too long for a pattern of this kind to be matched in time")


def identity(value: Json) -> Generator[int, None, Hashable]:
    """Return the common key of equal values; yields the work done."""
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, int | float):
        # Digits, since others can choose numbers that have one hash, and no texts that do.
        return (hex(int(value)) if value == value // 1 else repr(value)).encode()
    if isinstance(value, dict):
        members: set[tuple[str, Hashable]] = set()
        for name, item in value.items():
            yield _OF_AN_ITEM
            members.add((name, (yield from identity(item))))
        return frozenset(members)
    if isinstance(value, list):
        items: list[Hashable] = []
        for item in value:
            yield _OF_AN_ITEM
            items.append((yield from identity(item)))
        return tuple(items)
    return value
