"""JSON Schema 2020-12: schemas of payloads, and the places where a payload does not fit.

`format` is checked too: the typed handler behind the event would refuse such a payload anyway. What pydantic writes for
a type passes the format that it names in the type's schema, which for some is more than the format's own rule.
References to the network are never followed.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, time
from functools import lru_cache
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from soorma_ai.domain.values import MOST_LEVELS, UNSTORABLE, Json, JsonObject, Same, clip, compact, follow, is_storable
from soorma_ai.domain.visits import depth_of, visits_by_depth
from soorma_ai.errors import ConfigError

if TYPE_CHECKING:
    # Loaded when the first schema is checked.
    from jsonschema_rs import Draft202012Validator, ValidationError

SchemaSource = Mapping[str, Json] | type

ANY_OBJECT: JsonObject = {"type": "object"}
MAX_REPORTED = 8
MOST_VISITS = 10_000_000  # of parts of a schema, to know whether a value fits: about a tenth of a second
MOST_TOLD = 10_000  # to tell where it does not, which takes far longer for each

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[Tt])?\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d(:\d\d)?)?", re.ASCII)
_SPAN = re.compile(
    r"[+-]?P(?=.)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?", re.ASCII | re.DOTALL
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")


def _is(read: Callable[[str], object], form: re.Pattern[str] | None = None) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        if form is not None and form.fullmatch(text) is None:
            return False
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


# Where pydantic writes more than the format allows: moments without an offset, spans with fractions or a sign, zones of
# addresses, characters that browsers let pass, patterns of Python.
_FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _is(datetime.fromisoformat, _MOMENT),
    "time": _is(time.fromisoformat, _MOMENT),
    "duration": _is(str, _SPAN),
    "ipv6": _is(IPv6Address),
    "uri": _is(str, _URI),
    "regex": _is(str),
}

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
    """`path` as in `$.items[0].qty`; `rule` is the schema keyword; `wanted` that keyword's value, as JSON."""

    path: str
    rule: str
    found: str
    wanted: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} (rule {self.rule}, found {self.found}, wanted {self.wanted})"


def schema_of(source: SchemaSource) -> JsonObject:
    """Return the schema of a mapping, a pydantic model or any type that pydantic can describe."""
    if isinstance(source, Mapping):
        try:
            document = cast(JsonObject, json.loads(json.dumps(source)))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"a JSON Schema must be JSON, found {clip(repr(source), 200)}: {error}") from error
    else:
        try:
            document = cast(JsonObject, TypeAdapter[object](source).json_schema())
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise ConfigError(f"no JSON Schema can be made of {source!r}: {error}") from error
    check_schema(document)
    return document


def check_schema(document: JsonObject) -> None:
    """Raise ConfigError for a malformed schema, and for one of an older draft that means something else today."""
    if not is_storable(document):
        raise ConfigError(f"a JSON Schema cannot be used: {UNSTORABLE}")
    if fault := _fault_of_draft(document):
        raise ConfigError(f"{fault}; write the schema in 2020-12")
    if _checker(compact(document)).most_levels < 0:
        raise ConfigError("a JSON Schema whose references branch into so many alternatives cannot be checked in time")


def violations(
    document: JsonObject, value: Json, *, passing: Callable[[str, Json], bool] | None = None
) -> list[Violation]:
    """Return the first few places where the value does not fit.

    `passing(rule, found)` excuses what breaks a rule only because it is not yet what it will be.
    """
    checker = _checker(_spell(Same(document)))
    visits = checker.visits(value)
    if visits > MOST_TOLD:
        fault = None if passing else checker.fault_without_a_place(value, visits)
        return [fault] if fault else []
    found: dict[Violation, None] = {}  # in order, each once
    for error in checker.validator.iter_errors(value):
        faults = [
            f for f in _closest_faults(error) if passing is None or not passing(f.kind.name, cast(Json, f.instance))
        ]
        found |= {_violation(fault, document): None for fault in faults}
        if len(found) >= MAX_REPORTED:
            break
    return list(found)[:MAX_REPORTED]


def describe(faults: list[Violation]) -> str:
    return "; ".join(str(fault) for fault in faults)


def _fault_of_draft(document: JsonObject) -> str:
    """Return what a schema that names an older draft says in its way only; empty where it means the same in 2020-12."""
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

    validator: "Draft202012Validator"
    visits_at: tuple[int, ...]

    @property
    def most_levels(self) -> int:
        """Levels of the deepest values that can be checked; below 0 where no value can be."""
        found = (depth for depth, visits in enumerate(self.visits_at) if visits > MOST_VISITS)
        return next(found, MOST_LEVELS + 1) - 1

    def visits(self, value: Json) -> int:
        if max(self.visits_at) <= MOST_TOLD:
            return 0
        return self.visits_at[min(depth_of(value), len(self.visits_at) - 1)]

    def fault_without_a_place(self, value: Json, visits: int) -> Violation | None:
        """Return what is wrong with a value for which it would take too long to say where."""
        if visits > MOST_VISITS:
            depth, most = f"{depth_of(value)} levels", f"at most {self.most_levels} levels"
            words = "it is nested deeper than can be checked, since alternatives of the schema lead back to it"
            return Violation("$", "nesting", json.dumps(depth), json.dumps(most), words)
        if self.validator.is_valid(value):
            return None
        return Violation("$", "schema", clip(json.dumps(value), 120), '"the schema"', "it does not fit the schema")


@lru_cache(maxsize=512)
def _spell(same: Same[JsonObject]) -> str:
    """Return the spelling of a document, which does not change: a registered one is looked at again and again."""
    return compact(same.it)


@lru_cache(maxsize=4096)
def _checker(spelled: str) -> _Checker:
    from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError

    try:
        document = json.loads(spelled)
        validator = Draft202012Validator(document, validate_formats=True, formats=_FORMATS, offline=True)
        return _Checker(validator, visits_by_depth(document))
    except (ValidationError, ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"malformed JSON Schema {clip(spelled, 200)}: {reason}") from error


def _closest_faults(error: "ValidationError") -> "Iterator[ValidationError]":
    """Yield the faults of the alternative that was meant, where type or tag tell which; else the fault as it is."""
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


def _violation(error: "ValidationError", document: JsonObject) -> Violation:
    where = error.schema_path
    is_named = not where or isinstance(where[-1], int) or where[-2:-1] in (["properties"], ["patternProperties"])
    return Violation(
        path="$" + "".join(map(path_part, error.instance_path)),
        rule="false" if is_named else str(where[-1]),
        found=clip(json.dumps(error.instance, default=str), 120),
        wanted=clip(json.dumps(follow(document, where, error.kind.value), default=str), 200),
        message=clip(error.message, 200),
    )


def path_part(part: str | int) -> str:
    """Return a step of the path of a violation: `.name`, `["other name"]` or `[0]`."""
    return f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{json.dumps(part)}]"
