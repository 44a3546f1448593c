"""Schema for a model.

Providers accept less than JSON Schema. Rules beyond them go into the description, so the wire schema lets more through
than the document; the judge is always the document itself.

A document is a frame of ours around foreign parts: the payloads and results under `data` and `result`. A part is
rewritten once, and kept as long as it is offered; its faults are its own and take nothing from the others.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json, JsonObject, Same, compact, identity_of
from soorma_ai.kernel.rules.schemas.combine import list_in, object_in, values_of
from soorma_ai.kernel.rules.schemas.inline import inline
from soorma_ai.kernel.rules.schemas.rewriter import MAX_DEPTH, Rewriter, SchemaCounts

PARTS = frozenset({"data", "result"})
DEFINITIONS = "#/$defs/"
AGAIN = "the same as for this action alone"


class Wire(Struct, frozen=True, dict=True):
    """A schema for providers. `strict`: they can be held to it. Else `why` names the first thing that they cannot be
    held to, and optional properties stay optional and open objects open. `unions` counts choices and nullables, of
    which some providers take few. At `texts` a value is to be given as JSON text."""

    schema: JsonObject
    strict: bool
    why: str
    unions: int
    texts: frozenset[Same[JsonObject]] = frozenset()

    @cached_property
    def text(self) -> str:
        """Return the schema as JSON, in its own order: the first option is chosen first."""
        return json.dumps(self.schema, separators=(",", ":"))


def wire_of(document: JsonObject, *, held: bool = True, shared: bool = True) -> Wire:
    """Return the widened copy of `document` accepted by most providers; the same one for the same document.

    With `held`, for providers with constrained decoding, an unenforceable part is asked for as JSON text, and the rest
    stays strict. With `shared`, `$defs` stay; else each is written out at its first use, and in outline at any other.
    """
    return _wire_of(identity_of(document), held, shared)


@lru_cache(maxsize=128)
def _wire_of(same: Same[JsonObject], held: bool, shared: bool) -> Wire:
    strict = _write(same(), strict=True, held=held, shared=shared)
    if not (why := strict.why or strict.excess):
        return Wire(strict.schema, strict=True, why="", unions=strict.tally.unions, texts=frozenset(strict.texts))
    loose = _write(same(), strict=False, held=False, shared=shared)
    return Wire(loose.schema, strict=False, why=why, unions=loose.tally.unions)


def is_too_large(document: JsonObject) -> bool:
    """Tell whether there is more in it than the strictest of the big providers takes."""
    return bool(_write(document, strict=True, held=True, shared=True).excess)


class _PortablePart(Struct, frozen=True):
    """Part on its own: `why` is its unenforceable rule, by its path from `$`."""

    schema: JsonObject
    why: str
    tally: SchemaCounts


@lru_cache(maxsize=4096)
def _part(same: Same[JsonObject], strict: bool) -> _PortablePart:
    rewriter = Rewriter(strict)
    schema = rewriter.rewrite(inline(same()), "$", 0)
    return _PortablePart(schema, rewriter.why, rewriter.tally)


@lru_cache(maxsize=4096)
def _as_text(same: Same[JsonObject]) -> str:
    return f"The value as JSON text; it must fit this schema: {compact(same())}"


def _write(document: JsonObject, *, strict: bool, held: bool, shared: bool) -> "_PortableRewriter":
    plain = document if _is_framed(document) else inline(document)
    definitions = object_in(plain.get("$defs"))
    frame = _PortableRewriter(strict, held=held, shared=shared, definitions=definitions)
    frame.write({key: value for key, value in plain.items() if key != "$defs"})
    return frame


@dataclass
class _PortableRewriter(Rewriter):
    """Rewriter of our frame, with the parts put in their places. `used` are the met definitions, with their greatest
    depth."""

    held: bool = field(default=False, kw_only=True)
    shared: bool = field(default=True, kw_only=True)
    definitions: JsonObject = field(default_factory=dict[str, Json], kw_only=True)
    used: dict[str, int] = field(default_factory=dict[str, int], kw_only=True)
    texts: set[Same[JsonObject]] = field(default_factory=set[Same[JsonObject]], kw_only=True)
    schema: JsonObject = field(default_factory=dict[str, Json], kw_only=True)

    def write(self, document: JsonObject) -> None:
        self.schema = self.rewrite(document, "$", 0)
        if self.schema.get("type") != "object":
            self.complain("$", "the root is no plain object")
        if self.shared and self.used:
            written: JsonObject = {}
            for name, depth in self.used.items():
                written[name] = super().rewrite(self.definitions[name], name, depth)
            self.schema = {**self.schema, "$defs": written}

    @property
    def excess(self) -> str:
        broken = self.tally.excess()
        return f"$: {broken}" if broken else ""

    def rewrite(self, schema: Json, path: str, depth: int) -> JsonObject:
        name = _reference(schema)
        if name is None:
            return super().rewrite(schema, path, depth)
        is_first = name not in self.used
        self.used[name] = max(depth, self.used.get(name, 0))
        if self.shared:
            return {"$ref": f"{DEFINITIONS}{name}"}
        return super().rewrite(self.definitions[name], path, depth) if is_first else self._again(name, path, depth)

    def rewrite_property(self, name: str, schema: Json, path: str, depth: int) -> JsonObject:
        if name not in PARTS or not isinstance(schema, dict):
            return self.rewrite(schema, path, depth)
        part = _part(identity_of(schema), self.strict)
        if self.strict and self.held and (part.why or depth + part.tally.depth > MAX_DEPTH):
            return self._text(_as_text(identity_of(schema)))
        if part.why:
            self.complain(f"{path}{part.why.removeprefix('$').partition(':')[0]}", part.why.partition(": ")[2])
        self.tally.add(part.tally, depth)
        return part.schema

    def nullable(self, shown: JsonObject) -> JsonObject:
        if identity_of(shown) not in self.texts:
            return super().nullable(shown)
        self.tally.unions += 1
        return {"anyOf": [shown, {"type": "null"}]}

    def _text(self, description: str) -> JsonObject:
        shown: JsonObject = {"type": "string", "description": description}
        self.texts.add(identity_of(shown))
        return shown

    def _again(self, name: str, path: str, depth: int) -> JsonObject:
        """Return the outline of a definition written out before: its actions, and their fields. A definition of another
        form is no larger for being written out."""
        branches = _alternatives(self.definitions[name])
        fields = [object_in(branch.get("properties")) for branch in branches]
        needed = [{str(name) for name in list_in(branch.get("required"))} for branch in branches]
        if not all(one and {*one} == all_of_it for one, all_of_it in zip(fields, needed, strict=True)):
            return super().rewrite(self.definitions[name], path, depth)
        names = [*dict.fromkeys(key for one in fields for key in one)]
        shapes = {key: [object_in(one[key]) for one in fields if key in one] for key in names}
        self.tally.properties += len(names)
        self.tally.chars += sum(map(len, names))
        self.tally.reach(depth + 1)
        return object_schema({key: self._outline(shapes[key], f"{path}.{key}") for key in names})

    def _outline(self, shapes: Sequence[JsonObject], path: str) -> JsonObject:
        values = [values_of(shape) for shape in shapes]
        if None not in values:
            return self._enum([value for some in values if some for value in some], path)
        if self.strict:
            return self._text(f"JSON text of the value, {AGAIN}")
        return {"type": "object", "description": AGAIN}


def _alternatives(schema: Json) -> list[JsonObject]:
    if not isinstance(schema, dict):
        return []
    branches = [one for one in list_in(schema.get("anyOf")) if isinstance(one, dict)]
    return branches or [schema]


def _is_framed(document: JsonObject) -> bool:
    """Tell whether all references are to definitions, and none of these holds one: parts, which are written out each by
    itself, not looked into."""
    definitions = object_in(document.get("$defs"))
    rest: JsonObject = {key: value for key, value in document.items() if key != "$defs"}
    return all(name in definitions for name in _references(rest)) and not _references([*definitions.values()])


def _references(value: Json) -> list[str | None]:
    """Return the names of the definitions that a frame refers to; None for any other keyword that counts on a place."""
    found: list[str | None] = []
    rest: list[Json] = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, list):
            rest += one
        elif isinstance(one, dict):
            if any(key.startswith("$") or key == "definitions" for key in one):
                found.append(_reference(one))
            rest += [child for key, child in one.items() if not (key in PARTS and isinstance(child, dict))]
    return found


def _reference(schema: Json) -> str | None:
    target = schema.get("$ref") if isinstance(schema, dict) and len(schema) == 1 else None
    is_ours = isinstance(target, str) and target.startswith(DEFINITIONS) and "/" not in target[len(DEFINITIONS) :]
    return target[len(DEFINITIONS) :] if is_ours and isinstance(target, str) else None


def object_schema(properties: dict[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    """Return the schema of an object that has these properties, and no others."""
    required: list[Json] = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
