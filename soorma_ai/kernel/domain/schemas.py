"""JSON Schema 2020-12: schemas of payloads, and the faults of a payload.

`format` is checked too: the typed handler behind the event would refuse such a payload anyway. Text written by pydantic
for a type passes the format in the type's schema; for some types this is more than the format's own rule. References to
the network are never followed.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.patterns import MOST_STEPS
from soorma_ai.kernel.domain.schema_cost import MOST_AT_ONCE, MOST_IN_ALL, SchemaCosts, length_of
from soorma_ai.kernel.domain.schema_formats import FORMATS
from soorma_ai.kernel.domain.schema_graph import Place, SchemaGraph, sizes_of_levels, visits_of_root
from soorma_ai.kernel.domain.schema_parts import Parts
from soorma_ai.kernel.domain.schema_steps import OF_A_LOOK, At, SchemaFault, Verdict, is_free
from soorma_ai.kernel.domain.schema_types import TypeSchemas
from soorma_ai.kernel.domain.schema_walk import Walk
from soorma_ai.kernel.domain.slices import Slices, at_once
from soorma_ai.kernel.domain.values import (
    MOST_LEVELS,
    UNSTORABLE,
    Json,
    JsonObject,
    Same,
    clip,
    compact,
    excerpt,
    follow,
    identity_of,
    is_storable,
)
from soorma_ai.kernel.domain.verdicts import Key, Verdicts, key_of

if TYPE_CHECKING:
    # Loaded when the first schema is checked.
    from jsonschema_rs import Draft202012Validator, FancyRegexOptions, Registry, ValidationError

SchemaSource = Mapping[str, Any] | type

ANY_OBJECT: JsonObject = {"type": "object"}
MAX_REPORTED = 8
MOST_VISITS = 10_000_000  # of parts of a schema, to know whether a value fits: about a tenth of a second

_OLDER_DRAFT = re.compile(r"json-schema\.org/draft(?:-0[3467]|/2019-09)/")
# What older drafts have that 2020-12 does not, or says in another way.
_GONE: dict[str, str] = {
    "additionalItems": "items",
    "dependencies": "dependentRequired or dependentSchemas",
    "id": "$id",
    "$recursiveRef": "$dynamicRef",
    "$recursiveAnchor": "$dynamicAnchor",
}
_CHANGED: dict[str, tuple[type, str]] = {
    "items": (list, "prefixItems"),
    "exclusiveMinimum": (bool, "a number"),
    "exclusiveMaximum": (bool, "a number"),
    "required": (bool, "a list of names"),
}
_OF_NAMES = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_VALUES = frozenset({"const", "enum", "default", "examples"})


class Violation(Struct, frozen=True):
    """Fault of a value. `path` as in `$.items[0].qty`; `rule` is the schema keyword; `wanted` that keyword's value, as
    JSON."""

    path: str
    rule: str
    found: str
    wanted: str
    message: str
    more: bool = False  # faults follow that are not told

    def __str__(self) -> str:
        told = f"{self.path}: {self.message} (rule {self.rule}, found {self.found}, wanted {self.wanted})"
        return f"{told}; and more" if self.more else told


_VERDICTS = Verdicts[Violation]()


def schema_of(source: SchemaSource) -> JsonObject:
    """Return the schema of a mapping, a pydantic model or any other type known to pydantic."""
    if isinstance(source, Mapping):
        try:
            document = cast(JsonObject, json.loads(json.dumps(source)))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"a JSON Schema must be JSON, found {clip(repr(source), 200)}: {error}") from error
    else:
        try:
            document = cast(JsonObject, TypeAdapter[object](source).json_schema(schema_generator=TypeSchemas))
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise ConfigError(f"no JSON Schema can be made of {source!r}: {error}") from error
    check_schema(document)
    return document


def check_schema(document: JsonObject) -> None:
    """Raise ConfigError for a malformed schema, and for one of an older draft with another meaning today."""
    if not is_storable(document):
        raise ConfigError(f"a JSON Schema cannot be used: {UNSTORABLE}")
    if fault := _fault_of_draft(document):
        raise ConfigError(f"{fault}; write the schema in 2020-12")
    if _checker(compact(document)).most_levels < 0:
        raise ConfigError("a JSON Schema whose references branch into so many alternatives cannot be checked in time")


Passing = Callable[[str, Json], bool]


def violations(
    document: JsonObject, value: Json, *, passing: Passing | None = None, most: int = MOST_IN_ALL
) -> list[Violation]:
    """Return the first few faults of a value.

    `passing(rule, found)` excuses a breach caused only by a placeholder. A value too large for one call of the
    validator is checked in slices; `examine` lets others run between them. A check of more than `most` units of work is
    refused.
    """
    checker = _checker_of(identity_of(document))
    if checker.takes_at_once(value) and checker.validator.is_valid(value):
        return []
    return at_once(examine(document, value, passing=passing, most=most))


def try_violations(document: JsonObject, value: Json) -> list[Violation] | None:
    """Return the violations by one call of the validator; None where a check may take more."""
    checker = _checker_of(identity_of(document))
    if not checker.takes_at_once(value):
        return None
    return [] if checker.validator.is_valid(value) else at_once(examine(document, value))


def is_dear(document: JsonObject, value: Json) -> bool:
    """Tell whether a check may take more than one call of the validator."""
    return not _checker_of(identity_of(document)).takes_at_once(value)


def examine(
    document: JsonObject, value: Json, *, passing: Passing | None = None, most: int = MOST_IN_ALL
) -> Slices[list[Violation]]:
    """Return the violations; yields after each slice of the work. Verdicts on large values are remembered."""
    checker = _checker_of(identity_of(document))
    given_up: Key = ("", b"")
    key = key_of(checker.spelled, value, MOST_AT_ONCE // checker.cost) if passing is None else None
    if key is not None:
        given_up = f"{most} {key[0]}", key[1]
        for one in (key, given_up):
            if (known := _VERDICTS.recall(one)) is not None:
                return list(known)
        yield  # the key of a large value took as long as a slice
    found: dict[Violation, None] = {}  # in order, each once
    spent = whole = 0
    for step in checker.steps(value):
        if isinstance(step, SchemaFault):
            if passing is None or not passing(step.rule, step.found):
                found[_violation(step, document)] = None
            if len(found) > MAX_REPORTED:
                break
            continue
        spent, whole = spent + step, whole + step
        if whole > most:
            found = {_violation(_too_dear(value), document): None}
            break
        if spent > MOST_AT_ONCE:
            yield
            spent = step
    told = list(found)
    if len(told) > MAX_REPORTED:
        told = [*told[: MAX_REPORTED - 1], replace(told[MAX_REPORTED - 1], more=True)]
    if key is not None:
        _VERDICTS.remember(key if whole <= most or most == MOST_IN_ALL else given_up, told)
    return told


def fits(document: JsonObject, value: Json) -> Verdict:
    """Tell whether a value fits; yields the units of work."""
    checker, length = _checker_of(identity_of(document)), length_of(value)
    if length is None or length * checker.cost > MOST_AT_ONCE:
        return (yield from is_free(checker.steps(value)))
    yield length * checker.cost
    return checker.validator.is_valid(value)


def describe(faults: list[Violation]) -> str:
    return "; ".join(str(fault) for fault in faults)


def _fault_of_draft(document: JsonObject) -> str:
    """Return the part of a schema of an older draft with another meaning in 2020-12; empty without one."""
    named = document.get("$schema")
    if not isinstance(named, str) or _OLDER_DRAFT.search(named) is None:
        return ""
    ahead: list[Json] = [document]
    while ahead:
        schema = ahead.pop()
        if isinstance(schema, list):
            ahead += schema
        elif isinstance(schema, dict):
            for keyword, value in schema.items():
                kind, now = _CHANGED.get(keyword, (None, _GONE.get(keyword)))
                if now is not None and (kind is None or isinstance(value, kind)):
                    return f"{keyword!r} as {named} has it is {now} in 2020-12"
                if keyword in _OF_NAMES and isinstance(value, dict):
                    ahead += value.values()
                elif keyword not in _VALUES:
                    ahead.append(value)
    return ""


class _Checker(Struct, frozen=True):
    """A validator, and how often it may look at parts of its schema for values by their depth."""

    spelled: str
    validator: "Draft202012Validator"
    visits_at: tuple[int, ...]
    cost: int

    @property
    def most_levels(self) -> int:
        """Levels of the deepest values within the bound; below 0 if there are none."""
        found = (depth for depth, visits in enumerate(self.visits_at) if visits > MOST_VISITS)
        return next(found, MOST_LEVELS + 1) - 1

    def takes_at_once(self, value: Json) -> bool:
        """Tell whether one call can check the value, by its length."""
        length = length_of(value)
        return length is not None and length * self.cost <= MOST_AT_ONCE

    def steps(self, value: Json) -> Iterator[int | SchemaFault]:
        """Yield the work of a check, and each fault on its discovery."""
        if max(self.visits_at) > MOST_VISITS:
            depth = 0
            for size in sizes_of_levels(value):
                yield size * OF_A_LOOK
                depth += 1
            if depth > self.most_levels:
                yield self._too_deep(depth)
                return
        if self.spelled in ("true", "false"):
            if self.spelled == "false":
                words = f"False schema does not allow {excerpt(value, 80)}"
                yield SchemaFault((), (), "falseSchema", value, None, words)
            return
        parts = parts_of(self.spelled)
        if parts.are_known:
            yield from Walk(parts, tell_faults).faults(parts.document, value, At())
        else:
            yield from self._whole(parts, value)

    def _whole(self, parts: Parts, value: Json) -> Iterator[int | SchemaFault]:
        """Check with one call, where the references of a schema can be followed by the validator alone."""
        if not parts.costs.check(parts.document, value).is_little:
            return iter([_too_dear(value)])
        if parts.costs.telling(parts.document, value) is not None:
            return iter(tell_faults(self.validator, value, ()))
        is_valid = self.validator.is_valid(value)
        return iter(
            () if is_valid else [SchemaFault((), ("schema",), "schema", value, "the schema", "it does not fit")]
        )

    def _too_deep(self, depth: int) -> SchemaFault:
        words = "it is nested deeper than can be checked, since alternatives of the schema lead back to it"
        found, wanted = f"{depth} levels", f"at most {self.most_levels} levels"
        return SchemaFault((), ("nesting",), "nesting", found, wanted, words)


@lru_cache(maxsize=512)
def _checker_of(same: Same[JsonObject]) -> _Checker:
    """Return the checker of a constant document: values are checked against a registered one again and again."""
    return _checker(compact(same()))


@lru_cache(maxsize=4096)
def _checker(spelled: str) -> _Checker:
    from jsonschema_rs import ReferencingError, ValidationError

    try:
        document = json.loads(spelled)
        validator = _compile(document, None, None)
        graph = SchemaGraph(document)
        return _Checker(spelled, validator, visits_of_root(graph), SchemaCosts(graph).highest)
    except (ValidationError, ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"malformed JSON Schema {clip(spelled, 200)}: {reason}") from error


@lru_cache(maxsize=256)
def parts_of(spelled: str) -> Parts:
    """Return the parts of a spelled schema."""
    return Parts(json.loads(spelled), _checker(spelled).validator, _compile)


def _compile(
    document: JsonObject, registry: "Registry | None", options: "FancyRegexOptions | None"
) -> "Draft202012Validator":
    from jsonschema_rs import Draft202012Validator, FancyRegexOptions

    options = options or FancyRegexOptions(backtrack_limit=MOST_STEPS)
    return Draft202012Validator(
        document, validate_formats=True, formats=FORMATS, offline=True, registry=registry, pattern_options=options
    )


def tell_faults(validator: "Draft202012Validator", value: Json, path: Place) -> Iterable[SchemaFault]:
    """Yield a validator's faults of a value at this path."""
    for error in validator.iter_errors(value):
        for fault in _closest_faults(error):
            kind, where = fault.kind, tuple(fault.schema_path)
            found, wanted = cast(Json, fault.instance), cast(Json, kind.value)
            yield SchemaFault((*path, *fault.instance_path), where, kind.name, found, wanted, fault.message)


def _closest_faults(error: "ValidationError") -> "Iterator[ValidationError]":
    """Yield the faults of the intended alternative, by type or tag; else the fault as it is."""
    from jsonschema_rs import ValidationErrorKind as Kind

    depth = len(error.instance_path)
    meant: list[list[ValidationError]] = []
    match error.kind:
        case Kind.AnyOf(context=alternatives) | Kind.OneOfNotValid(context=alternatives):
            meant = [faults for faults in alternatives if not _has_fault(faults, ("type",), depth)]
            if len(meant) > 1:
                meant = [faults for faults in meant if not _has_fault(faults, ("const", "enum"), depth + 1)]
        case _:
            pass
    if len(meant) == 1:
        for fault in meant[0]:
            yield from _closest_faults(fault)
    else:
        yield error


def _has_fault(faults: "list[ValidationError]", rules: tuple[str, ...], depth: int) -> bool:
    return any(fault.kind.name in rules and len(fault.instance_path) <= depth for fault in faults)


def _violation(fault: SchemaFault, document: JsonObject) -> Violation:
    where = fault.where
    if words := _words_about_decimal(fault, document):
        fault = replace(fault, message=words)
    is_named = not where or isinstance(where[-1], int) or where[-2:-1] in (("properties",), ("patternProperties",))
    wanted, found = excerpt(follow(document, where, fault.wanted), 200), excerpt(fault.found, 120)
    return Violation(
        path="$" + "".join(map(path_part, fault.path)),
        rule="false" if is_named else str(where[-1]),
        found=found,
        wanted=wanted,
        message=clip(fault.message or _words(fault.rule, found, wanted), 200),
    )


_WORDS = {
    "type": "is not of type {}",
    "enum": "is not one of {}",
    "const": "is not {}",
    "minItems": "has less than {} items",
    "maxItems": "has more than {} items",
    "minProperties": "has less than {} properties",
    "maxProperties": "has more than {} properties",
    "uniqueItems": "has non-unique elements",
    "anyOf": "is not valid under any of the schemas listed in the 'anyOf' keyword",
    "oneOf": "is not valid under any of the schemas listed in the 'oneOf' keyword",
}


def _words(rule: str, found: str, wanted: str) -> str:
    return f"{clip(found, 80)} " + _WORDS.get(rule, f"breaks the rule {rule!r}, which is {{}}").format(clip(wanted, 80))


def _words_about_decimal(fault: SchemaFault, document: JsonObject) -> str:
    """Return the cure for a number in place of a decimal; empty for any other fault."""
    if fault.rule != "type" or isinstance(fault.found, bool) or not isinstance(fault.found, int | float):
        return ""
    if follow(document, (*fault.where[:-1], "format"), None) != "decimal":
        return ""
    return f'{fault.found} is a number and a decimal is wanted: give its digits as text, such as "{fault.found}"'


def _too_dear(value: Json) -> SchemaFault:
    words = "it would take too long to check; send less at once, or give a schema with fewer alternatives"
    return SchemaFault((), ("cost",), "cost", value, "the schema", words)


def path_part(part: str | int) -> str:
    """Return a step of the path of a violation: `.name`, `["other name"]` or `[0]`."""
    return f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{json.dumps(part)}]"
