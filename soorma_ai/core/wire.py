"""The schema that a model is shown, and the way back.

Providers take less than JSON Schema. What they cannot express goes into the description, so the wire schema lets more
through than the document; the judge is always the document itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from soorma_ai.core.inline import ANNOTATIONS, inlined
from soorma_ai.domain.schemas import violations
from soorma_ai.domain.values import Json, JsonObject, clip, compact

__all__ = ["Wire", "inlined", "is_too_large", "portable", "without_wire_nulls"]

MAX_PROPERTIES = 5_000
MAX_DEPTH = 10
MAX_ENUM_VALUES = 1_000
MAX_CHARS = 120_000
LONG_ENUM, MAX_LONG_ENUM_CHARS = 250, 15_000

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SAID = frozenset({"type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "const"})
_ALTERNATIVES = ("anyOf", "oneOf")
_SILENT = (ANNOTATIONS - {"default"}) | {"discriminator", "unevaluatedProperties", "unevaluatedItems"}
_UNSHOWN = frozenset({"dependentSchemas", "if", "then", "else", "patternProperties"})


@dataclass(frozen=True)
class Wire:
    """`strict`: a provider can be held to it. Else `why` names the first thing it cannot be held to, optional
    properties stay optional and open objects open. `unions` counts choices and nullables: some providers take few."""

    schema: JsonObject
    strict: bool
    why: str
    unions: int


def portable(document: JsonObject) -> Wire:
    """The widened copy of `document` that most providers accept."""
    plain = inlined(document)
    closed = _Rewriter(strict=True)
    schema = closed.rewrite(plain, "$", 0)
    if schema.get("type") != "object":
        closed.complain("$", "the root is no plain object")
    closed.count()
    if not closed.why:
        return Wire(schema, strict=True, why="", unions=closed.unions)
    loose = _Rewriter(strict=False)
    return Wire(loose.rewrite(plain, "$", 0), strict=False, why=closed.why, unions=loose.unions)


def is_too_large(document: JsonObject) -> bool:
    """Is there more in it than the strictest of the big providers takes?"""
    counted = _Rewriter(strict=True)
    counted.rewrite(document, "$", 0)
    counted.why = ""
    counted.count()
    return bool(counted.why)


@dataclass
class _Rewriter:
    strict: bool
    why: str = ""
    unions: int = 0
    properties: int = 0
    depth: int = 0
    chars: int = 0
    enum_values: int = 0
    longest_enum: tuple[int, int] = field(default=(0, 0))

    def complain(self, path: str, reason: str) -> None:
        self.why = self.why or f"{path}: {reason}"

    def count(self) -> None:
        """The limits of the strictest of the big providers."""
        for found, most, what in (
            (self.properties, MAX_PROPERTIES, "properties"),
            (self.depth, MAX_DEPTH, "levels of nesting"),
            (self.enum_values, MAX_ENUM_VALUES, "enum values"),
            (self.chars, MAX_CHARS, "characters of names and values"),
        ):
            if found > most:
                self.complain("$", f"{found} {what}, {most} are possible")
        values, chars = self.longest_enum
        if values > LONG_ENUM and chars > MAX_LONG_ENUM_CHARS:
            self.complain(
                "$", f"one enum of {values} values has {chars} characters, {MAX_LONG_ENUM_CHARS} are possible"
            )

    def rewrite(self, schema: Json, path: str, depth: int) -> JsonObject:
        if not isinstance(schema, dict):
            self.complain(path, "anything is possible" if schema else "nothing is possible")
            return {}
        schema = merged(schema)
        branches = _branches(schema)
        noted: JsonObject = {}
        if branches is not None:
            self.unions += 1
            out: JsonObject = {"anyOf": [self.rewrite(b, f"{path}|{i}", depth) for i, b in enumerate(branches)]}
        else:
            out = self._plain(schema, path, depth)
            said = _SAID if "enum" in out or _values(schema) is None else _SAID - {"enum", "const"}
            noted = {key: schema[key] for key in schema if key not in out and key not in said | _SILENT}
        return _described(out, schema, noted)

    def _plain(self, schema: JsonObject, path: str, depth: int) -> JsonObject:
        self.depth = max(self.depth, depth)
        values = _values(schema)
        kinds = _kinds(schema)
        if values is not None:
            return self._enum(values, path)
        if "object" in kinds:
            return self._object(schema, path, depth + 1)
        if "array" in kinds:
            return self._array(schema, path, depth + 1)
        if not kinds:
            self.complain(path, "anything is possible")
            return {}
        self.unions += len(kinds) > 1
        return {"type": schema["type"], **_scalar_rules(schema)}

    def _enum(self, values: list[Json], path: str) -> JsonObject:
        if any(isinstance(value, dict | list) for value in values):
            self.complain(path, "a fixed object or array")
            return {}
        chars = sum(len(str(value)) for value in values)
        self.enum_values += len(values)
        self.chars += chars
        self.longest_enum = max(self.longest_enum, (len(values), chars))
        kinds: list[Json] = [*dict.fromkeys(_kind(value) for value in values)]
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}

    def _object(self, schema: JsonObject, path: str, depth: int) -> JsonObject:
        properties = _mapping(schema.get("properties"))
        required = [name for name in _sequence(schema.get("required")) if isinstance(name, str)]
        self.depth = max(self.depth, depth)
        for reason in _open(schema, properties, required):
            self.complain(path, reason)
        written: JsonObject = {}
        for name, child in properties.items():
            self.properties += 1
            self.chars += len(name)
            shown = self.rewrite(child, f"{path}.{name}", depth)
            if self.strict and name not in required:
                shown, new = _nullable(shown)
                self.unions += new
            written[name] = shown
        needed: list[Json] = [name for name in written if self.strict or name in required]
        out: JsonObject = {"type": "object"}
        if self.strict or written:
            out |= {"properties": written, "required": needed}
        extra = schema.get("additionalProperties")
        if self.strict or (extra is False and "patternProperties" not in schema):
            out["additionalProperties"] = False
        elif isinstance(extra, dict) and "patternProperties" not in schema:
            out["additionalProperties"] = self.rewrite(extra, f"{path}.*", depth)
        return out

    def _array(self, schema: JsonObject, path: str, depth: int) -> JsonObject:
        self.depth = max(self.depth, depth)
        first = _sequence(schema.get("prefixItems"))
        rest = schema.get("items", True)
        kinds = [*first, rest] if rest is not False else first
        item: Json = kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else False
        out: JsonObject = {"type": "array", "items": self.rewrite(item, f"{path}[]", depth)}
        return out | {key: schema[key] for key in ("minItems", "maxItems") if key in schema}


def merged(schema: JsonObject) -> JsonObject:
    """The schema with `allOf` folded in; where two rules cannot be one, the second is left out."""
    out: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    for part in _sequence(schema.get("allOf")):
        if isinstance(part, dict):
            out = _both(out, merged(part))
    return out


def _both(first: JsonObject, second: JsonObject) -> JsonObject:
    out = dict(first)
    for key, value in second.items():
        join = _JOINS.get(key)
        if key not in out:
            out[key] = value
        elif join is not None:
            out[key] = join(out[key], value)
    return out


def _join_properties(one: Json, other: Json) -> Json:
    out = dict(_mapping(one))
    for name, schema in _mapping(other).items():
        out[name] = {"allOf": [out[name], schema]} if name in out and out[name] != schema else schema
    return out


def _join_required(one: Json, other: Json) -> Json:
    return [*_sequence(one), *(name for name in _sequence(other) if name not in _sequence(one))]


def _join_types(one: Json, other: Json) -> Json:
    have = _sequence(one) if isinstance(one, list) else [one]
    want = _sequence(other) if isinstance(other, list) else [other]
    if "number" in have and "integer" in want:
        have = ["integer" if kind == "number" else kind for kind in have]
    left = [kind for kind in have if kind in want or (kind == "integer" and "number" in want)]
    return one if not left else left[0] if len(left) == 1 else left


def _join_values(one: Json, other: Json) -> Json:
    return [value for value in _sequence(one) if value in _sequence(other)] or one


def _join_schemas(one: Json, other: Json) -> Json:
    if one is False or other is False:
        return False
    return {"allOf": [one, other]} if one is not True and other is not True else other if one is True else one


_JOINS: dict[str, Callable[[Json, Json], Json]] = {
    "properties": _join_properties,
    "required": _join_required,
    "type": _join_types,
    "enum": _join_values,
    "items": _join_schemas,
    "additionalProperties": _join_schemas,
}


def _branches(schema: JsonObject) -> list[Json] | None:
    """The alternatives of a schema, each complete in itself; None when there are none worth showing."""
    for keyword in _ALTERNATIVES:
        alternatives = _sequence(schema.get(keyword))
        if any(not isinstance(branch, dict) or _shows(branch) for branch in alternatives):
            base: JsonObject = {k: v for k, v in schema.items() if k != keyword and k not in ANNOTATIONS}
            return [_both(base, merged(b)) if isinstance(b, dict) else b for b in alternatives if b is not False]
    kinds = _kinds(schema)
    if len(kinds) > 1 and ("object" in kinds or "array" in kinds) and _values(schema) is None:
        base = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
        return [base | {"type": kind} for kind in kinds]
    return None


def _shows(branch: JsonObject) -> bool:
    """Does it say what the value is, and not only which of its properties must be there?"""
    return bool(merged(branch).keys() & (_SAID | set(_ALTERNATIVES)) - {"required", "additionalProperties"})


def _kinds(schema: JsonObject) -> list[Json]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return kind
    if kind is not None:
        return [kind]
    if "properties" in schema or "additionalProperties" in schema:
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else []


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"


def _values(schema: JsonObject) -> list[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _scalar_rules(schema: JsonObject) -> JsonObject:
    out: JsonObject = {key: schema[key] for key in _BOUNDS if key in schema}
    if schema.get("format") in _FORMATS:
        out["format"] = schema["format"]
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and "(?" not in pattern:
        out["pattern"] = pattern
    return out


def _open(schema: JsonObject, properties: JsonObject, required: list[str]) -> list[str]:
    """Why this object cannot be closed without taking something away from it."""
    reasons: list[str] = []
    extra = schema.get("additionalProperties")
    unseen = schema.get("unevaluatedProperties", False)
    if extra not in (None, False) or unseen is not False or (extra is None and "properties" not in schema):
        reasons.append("an open object")
    if hidden := sorted(_UNSHOWN & schema.keys()):
        reasons.append(f"properties under {', '.join(hidden)}")
    if missing := [name for name in required if name not in properties]:
        reasons.append(f"{', '.join(missing)} required but not described")
    return reasons


def _nullable(shown: JsonObject) -> tuple[JsonObject, bool]:
    """The same, or null for `left out`; and whether that made a new union."""
    alternatives = shown.get("anyOf")
    null: JsonObject = {"type": "null"}
    if isinstance(alternatives, list):
        return ({**shown, "anyOf": [*alternatives, null]} if null not in alternatives else shown), False
    kind = shown.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return shown, False
    bare: JsonObject = {key: value for key, value in shown.items() if key != "description"}
    told: JsonObject = {key: value for key, value in shown.items() if key == "description"}
    return {**told, "anyOf": [bare, null]}, True


def _described(out: JsonObject, schema: JsonObject, noted: JsonObject) -> JsonObject:
    """What could not be said in the schema is said in words, first what it is and then its rules."""
    words = schema.get("description")
    rules = ", ".join(f"{key}={clip(compact(value), 200)}" for key, value in noted.items())
    text = " ".join(
        part for part in (words if isinstance(words, str) else "", f"Rules: {rules}." if rules else "") if part
    )
    return {"description": text, **out} if text else out


def without_wire_nulls(value: Json, document: JsonObject) -> Json:
    """`value` without the nulls that stand for absent optional properties; a null that `document` takes is kept."""
    return _stripped(value, inlined(document))


def _stripped(value: Json, schema: Json) -> Json:
    if not isinstance(schema, dict) or not isinstance(value, dict | list):
        return value
    shape = _fitting(value, merged(schema))
    if isinstance(value, list):
        first, rest = _sequence(shape.get("prefixItems")), shape.get("items", True)
        return [_stripped(item, first[i] if i < len(first) else rest) for i, item in enumerate(value)]
    properties = _mapping(shape.get("properties"))
    required = _sequence(shape.get("required"))
    out: JsonObject = {}
    for name, item in value.items():
        child = properties.get(name, shape.get("additionalProperties", True))
        if item is None and name in properties and name not in required and not _takes(child, None):
            continue
        out[name] = _stripped(item, child)
    return out


def _fitting(value: Json, schema: JsonObject) -> JsonObject:
    """The schema with its alternatives decided by the value: by its tags where these tell, else by trying."""
    for keyword in _ALTERNATIVES:
        alternatives = [merged(branch) for branch in _sequence(schema.get(keyword)) if isinstance(branch, dict)]
        if not alternatives:
            continue
        base: JsonObject = {key: item for key, item in schema.items() if key != keyword}
        likely = [branch for branch in alternatives if _tags_fit(value, branch)]
        if len(likely) > 1:
            likely = [b for b in likely if _takes(b, _stripped(value, _both(base, b)))] or likely
        return _fitting(value, _both(base, likely[0])) if likely else base
    return schema


def _tags_fit(value: Json, branch: JsonObject) -> bool:
    kinds = _kinds(branch)
    if kinds and _kind(value) not in kinds:
        return False
    if not isinstance(value, dict):
        return True
    for name, schema in _mapping(branch.get("properties")).items():
        allowed = _values(schema) if isinstance(schema, dict) else None
        if allowed is not None and value.get(name) is not None and value[name] not in allowed:
            return False
    return True


def _takes(schema: Json, value: Json) -> bool:
    return not violations(schema, value) if isinstance(schema, dict) else bool(schema)


def _mapping(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _sequence(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def closed(properties: dict[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    """The schema of an object that has these properties, and no others."""
    required: list[Json] = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
