"""JSON Schema 2020-12: schemas of payloads, and the places where a payload does not fit.

`format` is checked too: the typed handler behind the event would refuse such a payload anyway.
References to the network are never followed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from soorma_ai.domain.values import Json, JsonObject, clip, compact, follow
from soorma_ai.errors import ConfigError

SchemaSource = Mapping[str, Json] | type

ANY_OBJECT: JsonObject = {"type": "object"}
MAX_REPORTED = 8


@dataclass(frozen=True)
class Violation:
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
    """Raise ConfigError for a malformed schema."""
    _validator(compact(document))


def violations(
    document: JsonObject, value: Json, *, passing: Callable[[str, Json], bool] | None = None
) -> list[Violation]:
    """Return the first few places where the value does not fit.

    `passing(rule, found)` excuses what breaks a rule only because it is not yet what it will be.
    """
    found: dict[Violation, None] = {}  # in order, each once
    for error in _validator(compact(document)).iter_errors(value):
        faults = [
            f for f in _closest_faults(error) if passing is None or not passing(f.kind.name, cast(Json, f.instance))
        ]
        found |= {_violation(fault, document): None for fault in faults}
        if len(found) >= MAX_REPORTED:
            break
    return list(found)[:MAX_REPORTED]


def describe(faults: list[Violation]) -> str:
    return "; ".join(str(fault) for fault in faults)


@lru_cache(maxsize=4096)
def _validator(spelled: str) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(json.loads(spelled), validate_formats=True, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"malformed JSON Schema {clip(spelled, 200)}: {reason}") from error


def _closest_faults(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """Yield the faults of the alternative that was meant, where type or tag tell which; else the fault as it is."""
    depth = len(error.instance_path)
    meant: list[list[jsonschema_rs.ValidationError]] = []
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


def _has_fault(faults: list[jsonschema_rs.ValidationError], rules: tuple[str, ...], depth: int) -> bool:
    return any(fault.kind.name in rules and len(fault.instance_path) <= depth for fault in faults)


def _violation(error: jsonschema_rs.ValidationError, document: JsonObject) -> Violation:
    where = error.schema_path
    is_named = not where or isinstance(where[-1], int) or where[-2:-1] in (["properties"], ["patternProperties"])
    return Violation(
        path="$" + "".join(map(_path_part, error.instance_path)),
        rule="false" if is_named else str(where[-1]),
        found=clip(json.dumps(error.instance, default=str), 120),
        wanted=clip(json.dumps(follow(document, where, error.kind.value), default=str), 200),
        message=clip(error.message, 200),
    )


def _path_part(part: str | int) -> str:
    return f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{json.dumps(part)}]"
