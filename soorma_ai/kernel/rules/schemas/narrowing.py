"""Comparison of two schemas: the gaps between them.

A value that fits the inner schema should fit the outer one. The comparison is conservative: it follows the common
keywords one by one, and reports any other keyword as a gap unless both schemas spell it the same.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

from soorma_ai.kernel.domain.schemas import path_part, violations
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact, follow
from soorma_ai.kernel.rules.schemas.combine import list_in, merge, object_in, values_of

MOST_COMPARED = 2_000
MOST_GAPS = 8

_KINDS = ("null", "boolean", "integer", "number", "string", "array", "object")
_DEFS = ("$defs", "definitions")
_NAMED = re.compile(r'"\$(?:id|anchor|dynamicAnchor|dynamicRef)":')
# A reference to anything but a definition.
_FAR = re.compile(r'"\$ref":"(?!#/(?:\$defs|definitions)/)')
# Keywords compared by their spelling alone, each with those that belong to it.
_SPELLED = (
    ("not",),
    ("if", "then", "else"),
    ("dependentSchemas",),
    ("dependentRequired",),
    ("dependencies",),
    ("unevaluatedProperties",),
    ("unevaluatedItems",),
    ("contains", "minContains", "maxContains"),
    ("propertyNames",),
    ("patternProperties",),
    ("pattern",),
    ("format",),
)
_OF_KIND = {
    "string": ("pattern", "format"),
    "array": ("unevaluatedItems", "contains"),
    "object": (
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "unevaluatedProperties",
        "propertyNames",
        "patternProperties",
    ),
}
_ALWAYS = ("not", "if")
_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}
_MOST = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}


class Gap(Struct, frozen=True):
    """Reason for a value of the inner schema not to fit the outer one. `path` as in `$.items[].qty`."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def find_gaps(inner: JsonObject, outer: JsonObject, *, promises: bool = False) -> list[Gap]:
    """Return the gaps between two documents; empty where every value of `inner` fits `outer`.

    Undeclared properties of an open `inner` are taken as absent: a further optional property is no gap. With
    `promises`, the values are results: a property that only `outer` declares is a gap.
    """
    if compact(inner) == compact(outer):
        return []
    comparison = _Comparison(inner, outer, promises=promises)
    found = dict.fromkeys(comparison.gaps(inner, outer, "$"))
    return list(found)[:MOST_GAPS]


class _TooLarge(Exception):
    """Schemas with too many parts to compare."""


class _Comparison:
    def __init__(self, inner: JsonObject, outer: JsonObject, *, promises: bool) -> None:
        self._inner, self._outer, self._promises = inner, outer, promises
        self._same_defs = all(compact(object_in(inner.get(k))) == compact(object_in(outer.get(k))) for k in _DEFS)
        self._within: set[tuple[str, str]] = set()
        self._count = 0

    def gaps(self, inner: Json, outer: Json, path: str) -> list[Gap]:
        if any(_NAMED.search(compact(one)) for one in (self._inner, self._outer)):
            return [Gap(path, "the schemas differ, and their dynamic references are not compared")]
        try:
            return self._compare(inner, outer, path)
        except (_TooLarge, RecursionError):
            return [Gap(path, "the schemas differ, and have too many parts to compare")]

    def _compare(self, inner: Json, outer: Json, path: str) -> list[Gap]:
        if outer is True or outer == {} or inner is False:
            return []
        if outer is False or not isinstance(outer, dict):
            return [Gap(path, "is not allowed any more")]
        if not isinstance(inner, dict) or not inner:
            return [Gap(path, f"must fit {clip(compact(outer), 120)} now")] if self._tells_something(outer) else []
        place = compact(inner), compact(outer)
        if place in self._within or (place[0] == place[1] and self._is_closed(place[0])):
            return []  # under comparison already: a way back to itself adds nothing
        self._count += 1
        if self._count > MOST_COMPARED:
            raise _TooLarge
        self._within.add(place)
        try:
            return self._by_alternatives(self._merged(inner), self._with_target(outer), path)
        finally:
            self._within.discard(place)

    def _is_closed(self, spelled: str) -> bool:
        """Tell whether equal spellings have an equal meaning in both documents."""
        return '"$ref":' not in spelled or (self._same_defs and not _FAR.search(spelled))

    def _tells_something(self, outer: JsonObject) -> bool:
        return bool(self._by_alternatives({}, self._with_target(outer), ""))

    def _merged(self, schema: JsonObject) -> JsonObject:
        """Return an inner schema with its reference and its `allOf` written out. Rules that cannot be one are left out,
        which makes it wider."""
        target = _target(self._inner, schema)
        out = {name: one for name, one in schema.items() if name not in ("$ref", "allOf")}
        for part in ([target] if target is not None else []) + list_in(schema.get("allOf")):
            if isinstance(part, dict):
                out = merge(out, self._merged(part))
            elif part is False:
                out["enum"] = []
        return out

    def _with_target(self, schema: JsonObject) -> JsonObject:
        """Return an outer schema with the target of its reference beside it."""
        if "$ref" not in schema:
            return schema
        target, rest = _target(self._outer, schema), {name: one for name, one in schema.items() if name != "$ref"}
        return {**rest, "allOf": [*list_in(rest.get("allOf")), False if target is None else target]}

    def _by_alternatives(self, inner: JsonObject, outer: JsonObject, path: str) -> list[Gap]:
        """Compare each alternative of the inner schema, and each of its kinds, alone."""
        for keyword in ("anyOf", "oneOf"):
            if keyword in inner:
                rest = {name: one for name, one in inner.items() if name != keyword}
                options = (one for one in list_in(inner[keyword]) if one is not False)
                parts = [self._merged(one) if isinstance(one, dict) else {} for one in options]
                return _flat(self._by_alternatives(merge(rest, part), outer, path) for part in parts)
        if (values := values_of(inner)) is not None:
            return self._values(values, outer, path)
        kinds = _kinds_of(inner)
        return _flat(self._of_kind({**inner, "type": kind}, outer, path) for kind in kinds)

    def _values(self, values: list[Json], outer: JsonObject, path: str) -> list[Gap]:
        defs = {name: self._outer[name] for name in _DEFS if name in self._outer}
        if _FAR.search(compact({**outer, **defs})):
            return [Gap(path, "its values are not compared with a schema of such references")]
        refused = [one for one in values if violations({**outer, **defs}, one)]
        names = ", ".join(clip(compact(one), 60) for one in refused[:4])
        return [Gap(path, f"the value {names} is not allowed any more")] if refused else []

    def _of_kind(self, inner: JsonObject, outer: JsonObject, path: str) -> list[Gap]:
        kind = str(inner["type"])
        found = _flat(self._compare(inner, one, path) for one in list_in(outer.get("allOf")))
        for keyword in ("anyOf", "oneOf"):
            if keyword in outer:
                found += self._alternative(inner, list_in(outer[keyword]), keyword, path)
        if not _takes_kind(outer, kind):
            return [*found, Gap(path, f"{kind} is not allowed any more")]
        if "enum" in outer or "const" in outer:
            options = outer.get("enum", [outer.get("const")])
            found.append(Gap(path, f"only {clip(compact(options), 120)} is allowed now"))
        if kind == "boolean" or kind == "null":
            return [*found, *self._spelled(inner, outer, (), path)]
        found += self._spelled(inner, outer, _OF_KIND.get(kind, ()), path)
        match kind:
            case "integer" | "number":
                found += _numbers(inner, outer, path)
            case "array":
                found += [*_sizes(inner, outer, kind, path), *self._items(inner, outer, path)]
            case "object":
                found += [*_sizes(inner, outer, kind, path), *self._properties(inner, outer, path)]
            case _:
                found += _sizes(inner, outer, kind, path)
        return found

    def _alternative(self, inner: JsonObject, options: list[Json], keyword: str, path: str) -> list[Gap]:
        """One alternative must take every value. Of `oneOf`, no other one may."""
        tried = [self._compare(inner, one, path) for one in options]
        fitting = next((at for at, gaps in enumerate(tried) if not gaps), None)
        if fitting is None:
            closest = min(tried, key=len, default=list[Gap]())
            return closest if len(options) == 1 else [Gap(path, "fits none of the alternatives as a whole")]
        others = (one for at, one in enumerate(options) if at != fitting)
        if keyword == "oneOf" and not all(self._are_apart(inner, one) for one in others):
            return [Gap(path, "may fit more than one alternative now")]
        return []

    def _are_apart(self, inner: JsonObject, other: Json) -> bool:
        """Tell whether no value can fit both, by their kinds, their values or their tags."""
        if not isinstance(other, dict):
            return other is False
        if "$ref" in other:
            target = _target(self._outer, other)
            return target is not None and self._are_apart(inner, target)
        kinds, values = _kinds_of(other), values_of(other)
        if not any(_takes_kind(inner, kind) or _takes_kind(other, str(inner.get("type"))) for kind in kinds):
            return True
        own = values_of(inner)
        if own is not None and values is not None:
            return not any(one in values for one in own)
        required = [*list_in(inner.get("required")), *list_in(other.get("required"))]
        tags, others = object_in(inner.get("properties")), object_in(other.get("properties"))
        return any(
            self._are_apart(tag, others[name])
            for name, tag in tags.items()
            if name in others and name in required and isinstance(tag, dict) and values_of(tag) is not None
        )

    def _spelled(self, inner: JsonObject, outer: JsonObject, names: Iterable[str], path: str) -> list[Gap]:
        wanted = {*names, *_ALWAYS}
        return [
            Gap(path, f"{keywords[0]} {clip(compact(outer[keywords[0]]), 80)} is new, or another one")
            for keywords in _SPELLED
            if keywords[0] in wanted and keywords[0] in outer and not self._is_spelled(inner, outer, keywords)
        ]

    def _is_spelled(self, inner: JsonObject, outer: JsonObject, keywords: Iterable[str]) -> bool:
        one, other = ({name: schema[name] for name in keywords if name in schema} for schema in (inner, outer))
        if "unevaluatedProperties" in one or "unevaluatedItems" in one:
            one, other = inner, outer
        return compact(one) == compact(other) and self._is_closed(compact(one))

    def _items(self, inner: JsonObject, outer: JsonObject, path: str) -> list[Gap]:
        found = list[Gap]()
        if outer.get("uniqueItems") is True and inner.get("uniqueItems") is not True:
            found.append(Gap(path, "its items must be unique now"))
        first, others = list_in(inner.get("prefixItems")), list_in(outer.get("prefixItems"))
        rest, outer_rest = inner.get("items", True), outer.get("items", True)
        for at in range(max(len(first), len(others))):
            one = first[at] if at < len(first) else rest
            other = others[at] if at < len(others) else outer_rest
            found += self._compare(one, other, f"{path}[{at}]")
        return [*found, *self._compare(rest, outer_rest, f"{path}[]")]

    def _properties(self, inner: JsonObject, outer: JsonObject, path: str) -> list[Gap]:
        given, wanted = object_in(inner.get("properties")), object_in(outer.get("properties"))
        always = list_in(inner.get("required"))
        missing = "is not promised any more" if self._promises else "is required now"
        names = [str(name) for name in list_in(outer.get("required")) if name not in always]
        found = [Gap(path + path_part(name), missing) for name in names]
        rest, outer_rest = inner.get("additionalProperties", True), outer.get("additionalProperties", True)
        for name, other in wanted.items():
            found += self._property(inner, name, other, path + path_part(name))
        for name, one in given.items():
            if name not in wanted:
                found += self._compare(one, outer_rest, path + path_part(name))
        for pattern, one in object_in(inner.get("patternProperties")).items():
            if pattern not in object_in(outer.get("patternProperties")):
                found += self._compare(one, outer_rest, f"{path}.*")
        if outer_rest is False and rest is not False:
            return [*found, Gap(path, "further properties are not allowed any more")]
        return [*found, *self._compare(rest, outer_rest, f"{path}.*")]

    def _property(self, inner: JsonObject, name: str, other: Json, path: str) -> list[Gap]:
        """Compare a property that the outer schema declares."""
        given = object_in(inner.get("properties"))
        if name in given:
            return self._compare(given[name], other, path)
        if "patternProperties" in inner:
            return self._compare(True, other, path)
        if self._promises:
            return [Gap(path, "is not promised any more")]
        rest = inner.get("additionalProperties", True)
        return [] if rest is True or rest == {} else self._compare(rest, other, path)


def _target(document: JsonObject, schema: JsonObject) -> Json:
    """Return the target of a schema's reference; None for one without, or out of the document."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    parts = [part.replace("~1", "/").replace("~0", "~") for part in reference[1:].split("/")[1:]]
    return follow(document, parts, None)


def _kinds_of(schema: JsonObject) -> list[str]:
    kind = schema.get("type")
    named = [str(one) for one in kind] if isinstance(kind, list) else [str(kind)] if kind is not None else [*_KINDS]
    return [one for one in named if not (one == "integer" and "number" in named)]


def _takes_kind(schema: JsonObject, kind: str) -> bool:
    kinds = _kinds_of(schema)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _flat(found: Iterable[list[Gap]]) -> list[Gap]:
    return list(dict.fromkeys(chain.from_iterable(found)))


def _number(value: Json) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bound(schema: JsonObject, name: str, sign: int) -> tuple[float, bool] | None:
    """Return the tightest bound times `sign`, with whether it excludes its own value."""
    exclusive = f"exclusive{name[0].upper()}{name[1:]}"
    found = [(_number(schema.get(name)), False), (_number(schema.get(exclusive)), True)]
    return max(((sign * value, is_out) for value, is_out in found if value is not None), default=None)


def _numbers(inner: JsonObject, outer: JsonObject, path: str) -> Iterator[Gap]:
    for name, sign, words in (("minimum", 1, "least"), ("maximum", -1, "most")):
        wanted, given = _bound(outer, name, sign), _bound(inner, name, sign)
        if wanted is not None and (given is None or given < wanted):
            yield Gap(path, f"must be at {words} {sign * wanted[0]:g} now{' and not equal' if wanted[1] else ''}")
    step, own = _number(outer.get("multipleOf")), _number(inner.get("multipleOf"))
    own = own or (1 if inner["type"] == "integer" else None)
    if step and (not own or own % step != 0):
        yield Gap(path, f"must be a multiple of {step:g} now")


def _sizes(inner: JsonObject, outer: JsonObject, kind: str, path: str) -> Iterator[Gap]:
    least, most = _LEAST[kind], _MOST[kind]
    wanted, given = _number(outer.get(least)) or 0, _number(inner.get(least)) or 0
    if wanted > given:
        yield Gap(path, f"{least} is {wanted:g} now")
    wanted, given = _number(outer.get(most)), _number(inner.get(most))
    if wanted is not None and (given is None or given > wanted):
        yield Gap(path, f"{most} is {wanted:g} now")
