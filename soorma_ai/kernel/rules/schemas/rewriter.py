"""A schema rewritten in the words that providers know, strict or loose, and how much there is in it."""

from dataclasses import dataclass, field

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact
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
from soorma_ai.kernel.rules.schemas.inline import ANNOTATIONS

MAX_PROPERTIES = 5_000
MAX_DEPTH = 10
MAX_ENUM_VALUES = 1_000
MAX_CHARS = 120_000
LONG_ENUM, MAX_LONG_ENUM_CHARS = 250, 15_000

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SAID = frozenset({"type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "const"})
_SILENT = (ANNOTATIONS - {"default"}) | {"discriminator", "unevaluatedProperties", "unevaluatedItems"}
_UNSHOWN = frozenset({"dependentSchemas", "if", "then", "else", "patternProperties"})


class SchemaCounts(Struct):
    """Amounts that providers limit. `unions` counts choices and nullables, `depth` objects and arrays in each other;
    `longest_enum` is its number of values and of their characters."""

    properties: int = 0
    unions: int = 0
    chars: int = 0
    enum_values: int = 0
    longest_enum: tuple[int, int] = (0, 0)
    depth: int = 0

    def add(self, part: "SchemaCounts", depth: int) -> None:
        """Add the counts of a part at this depth."""
        self.properties += part.properties
        self.unions += part.unions
        self.chars += part.chars
        self.enum_values += part.enum_values
        self.longest_enum = max(self.longest_enum, part.longest_enum)
        self.reach(depth + part.depth)

    def add_enum(self, values: list[Json]) -> None:
        chars = sum(len(str(value)) for value in values)
        self.enum_values += len(values)
        self.chars += chars
        self.longest_enum = max(self.longest_enum, (len(values), chars))

    def reach(self, depth: int) -> None:
        self.depth = max(self.depth, depth)

    def excess(self) -> str:
        """Return the first limit of the strictest of the big providers that is broken; "" where none is."""
        for found, most, what in (
            (self.properties, MAX_PROPERTIES, "properties"),
            (self.depth, MAX_DEPTH, "levels of nesting"),
            (self.enum_values, MAX_ENUM_VALUES, "enum values"),
            (self.chars, MAX_CHARS, "characters of names and values"),
        ):
            if found > most:
                return f"{found} {what}, {most} are possible"
        values, chars = self.longest_enum
        if values > LONG_ENUM and chars > MAX_LONG_ENUM_CHARS:
            return f"one enum of {values} values has {chars} characters, {MAX_LONG_ENUM_CHARS} are possible"
        return ""


@dataclass
class Rewriter:
    """Rewriter of one schema without references. `why` is its first unenforceable rule."""

    strict: bool
    why: str = ""
    tally: SchemaCounts = field(default_factory=SchemaCounts)

    def complain(self, path: str, reason: str) -> None:
        self.why = self.why or f"{path}: {reason}"

    def rewrite(self, schema: Json, path: str, depth: int) -> JsonObject:
        if not isinstance(schema, dict):
            self.complain(path, "anything is possible" if schema else "nothing is possible")
            return {}
        schema = fold_all_of(schema)
        branches = _branches(schema)
        noted: JsonObject = {}
        if branches is not None:
            self.tally.unions += 1
            out: JsonObject = {"anyOf": [self.rewrite(b, f"{path}|{i}", depth) for i, b in enumerate(branches)]}
        else:
            out = self._plain(schema, path, depth)
            said = _SAID if "enum" in out or values_of(schema) is None else _SAID - {"enum", "const"}
            noted = {key: schema[key] for key in schema if key not in out and key not in said | _SILENT}
        return _describe(out, schema, noted)

    def rewrite_property(self, name: str, schema: Json, path: str, depth: int) -> JsonObject:
        return self.rewrite(schema, path, depth)

    def nullable(self, shown: JsonObject) -> JsonObject:
        """Return the schema with null, which means `left out`."""
        alternatives = shown.get("anyOf")
        null: JsonObject = {"type": "null"}
        if isinstance(alternatives, list):
            return {**shown, "anyOf": [*alternatives, null]} if null not in alternatives else shown
        kind = shown.get("type")
        if kind == "null" or (isinstance(kind, list) and "null" in kind):
            return shown
        self.tally.unions += 1
        bare: JsonObject = {key: value for key, value in shown.items() if key != "description"}
        described: JsonObject = {key: value for key, value in shown.items() if key == "description"}
        return {**described, "anyOf": [bare, null]}

    def _plain(self, schema: JsonObject, path: str, depth: int) -> JsonObject:
        self.tally.reach(depth)
        values = values_of(schema)
        kinds = kinds_of(schema)
        if values is not None:
            return self._enum(values, path)
        if "object" in kinds:
            return self._object(schema, path, depth + 1)
        if "array" in kinds:
            return self._array(schema, path, depth + 1)
        if not kinds:
            self.complain(path, "anything is possible")
            return {}
        self.tally.unions += len(kinds) > 1
        return {"type": schema["type"], **_scalar_rules(schema)}

    def _enum(self, values: list[Json], path: str) -> JsonObject:
        if any(isinstance(value, dict | list) for value in values):
            self.complain(path, "a fixed object or array")
            return {}
        self.tally.add_enum(values)
        kinds: list[Json] = [*dict.fromkeys(kind_of(value) for value in values)]
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}

    def _object(self, schema: JsonObject, path: str, depth: int) -> JsonObject:
        properties = object_in(schema.get("properties"))
        required = [name for name in list_in(schema.get("required")) if isinstance(name, str)]
        self.tally.reach(depth)
        for reason in _reasons_open(schema, properties, required):
            self.complain(path, reason)
        written: JsonObject = {}
        for name, child in properties.items():
            self.tally.properties += 1
            self.tally.chars += len(name)
            shown = self.rewrite_property(name, child, f"{path}.{name}", depth)
            written[name] = self.nullable(shown) if self.strict and name not in required else shown
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
        self.tally.reach(depth)
        first = list_in(schema.get("prefixItems"))
        rest = schema.get("items", True)
        kinds = [*first, rest] if rest is not False else first
        item: Json = kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else False
        out: JsonObject = {"type": "array", "items": self.rewrite(item, f"{path}[]", depth)}
        return out | {key: schema[key] for key in ("minItems", "maxItems") if key in schema}


def _branches(schema: JsonObject) -> list[Json] | None:
    """Return the alternatives of a schema, each complete in itself; None when there are none worth showing."""
    for keyword in ALTERNATIVES:
        alternatives = list_in(schema.get(keyword))
        if any(not isinstance(branch, dict) or _shows(branch) for branch in alternatives):
            base: JsonObject = {k: v for k, v in schema.items() if k != keyword and k not in ANNOTATIONS}
            return [merge(base, fold_all_of(b)) if isinstance(b, dict) else b for b in alternatives if b is not False]
    kinds = kinds_of(schema)
    if len(kinds) > 1 and ("object" in kinds or "array" in kinds) and values_of(schema) is None:
        base = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
        return [base | {"type": kind} for kind in kinds]
    return None


def _shows(branch: JsonObject) -> bool:
    """Tell whether a branch describes the value, and not only its required properties."""
    told = _SAID | {*ALTERNATIVES, "$ref"}
    return bool(fold_all_of(branch).keys() & told - {"required", "additionalProperties"})


def _scalar_rules(schema: JsonObject) -> JsonObject:
    out: JsonObject = {key: schema[key] for key in _BOUNDS if key in schema}
    if schema.get("format") in _FORMATS:
        out["format"] = schema["format"]
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and "(?" not in pattern:
        out["pattern"] = pattern
    return out


def _reasons_open(schema: JsonObject, properties: JsonObject, required: list[str]) -> list[str]:
    """Return the reasons why this object cannot be closed without taking something away from it."""
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


def _describe(out: JsonObject, schema: JsonObject, noted: JsonObject) -> JsonObject:
    """Add in words the rules beyond the schema: first the value's kind, then its rules."""
    words = schema.get("description")
    rules = ", ".join(f"{key}={clip(compact(value), 200)}" for key, value in noted.items())
    text = " ".join(
        part for part in (words if isinstance(words, str) else "", f"Rules: {rules}." if rules else "") if part
    )
    return {"description": text, **out} if text else out
