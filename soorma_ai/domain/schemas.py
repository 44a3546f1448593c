"""JSON Schema 2020-12: what a payload must be, and where it is not.

`format` is asserted: a payload that only looks right would be refused by the typed handler behind the event anyway.
References to the network are never followed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import jsonschema_rs
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from soorma_ai.domain.values import Json, JsonObject, clip, compact
from soorma_ai.errors import ConfigError

SchemaSource = Mapping[str, Json] | type

ANY_OBJECT: JsonObject = {"type": "object"}
MAX_REPORTED = 8


@dataclass(frozen=True)
class Violation:
    """`path` as in `$.items[0].qty`; `rule` is the schema keyword; `wanted` that keyword's value."""

    path: str
    rule: str
    found: str
    wanted: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} (rule {self.rule}, found {self.found}, wanted {self.wanted})"


def schema_of(source: SchemaSource) -> JsonObject:
    """The schema document of a mapping, a pydantic model or any type pydantic can describe."""
    if isinstance(source, Mapping):
        document = cast(JsonObject, json.loads(json.dumps(source)))
    else:
        try:
            document = cast(JsonObject, TypeAdapter[object](source).json_schema())
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise ConfigError(f"no JSON Schema can be made of {source!r}: {error}") from error
    check_schema(document)
    return document


def check_schema(document: JsonObject) -> None:
    _validator(compact(document))


def violations(document: JsonObject, value: Json) -> list[Violation]:
    """Empty when the value fits; else the first few places where it does not."""
    found = _validator(compact(document)).iter_errors(value)
    return [_violation(error) for error, _ in zip(found, range(MAX_REPORTED), strict=False)]


def told(faults: list[Violation]) -> str:
    return "; ".join(str(fault) for fault in faults)


@lru_cache(maxsize=4096)
def _validator(spelled: str) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(json.loads(spelled), validate_formats=True, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"malformed JSON Schema {clip(spelled, 200)}: {reason}") from error


def _violation(error: jsonschema_rs.ValidationError) -> Violation:
    path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
    rule = str(error.schema_path[-1]) if error.schema_path else "false"
    return Violation(
        path=path,
        rule=rule,
        found=clip(json.dumps(error.instance, default=str), 120),
        wanted=clip(str(getattr(error.kind, "value", rule)), 200),
        message=clip(error.message, 200),
    )
