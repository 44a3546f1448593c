"""The OpenAPI 3.1 document of a table of operations. Pure: operations in, the document out."""

import json
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter

from soorma_ai.api.operation import Nothing, Operation
from soorma_ai.api.server.parameter_texts import text_of
from soorma_ai.api.server.problems import MEDIA_TYPE, Problem, status_of
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject

VERSION = "1"
_SENT_EVENTS: JsonObject = {
    "schema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The place in the log, to go on behind."},
            "event": {"type": "string"},
            "data": {"type": "string", "contentMediaType": "application/cloudevents+json"},
        },
    }
}
# As ISO 8601 writes a span, fractions of seconds and signs too, which JSON Schema's `duration` does not allow.
_SPAN: JsonObject = {"type": "string", "pattern": "^-?P[0-9DTHMS.]+$", "description": "A span of time by ISO 8601."}
_REF = "#/components/schemas/{model}"
# What every operation may answer.
ALWAYS = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)


def document(operations: Sequence[Operation], root: str) -> bytes:
    """Return the document as JSON. `root` is the path that the operations' paths are below."""
    schemas = Schemas(operations)
    paths: dict[str, dict[str, Json]] = {}
    for operation in operations:
        paths.setdefault(operation.template, {})[operation.method.lower()] = describe(operation, schemas)
    for operation in operations:
        schemas.definitions.pop(operation.asked.__name__, None)  # its fields are parameters
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "soorma_ai",
            "version": VERSION,
            "description": "Goals, requests, events and people's answers. Names are those of the Python calls.",
        },
        "servers": [{"url": root}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.definitions,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(made, separators=(",", ":")).encode()


def describe(operation: Operation, schemas: "Schemas") -> Json:
    summary, rest = _summary_of(operation.words)
    described: JsonObject = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": " ".join(summary.split()),
        "parameters": [*_parameters(operation, schemas)],
        "responses": _responses(operation, schemas),
    }
    if rest:
        described["description"] = rest
    if operation.sent is not Nothing:
        schema = schemas.of(operation.sent, "validation")
        _describe_fields(operation, schemas.resolve(schema))
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return described


def _summary_of(words: str) -> tuple[str, str]:
    """Return the first sentence of a text, and the rest, without its list of arguments."""
    text = " ".join(re.split(r"^Args:$", words, flags=re.MULTILINE)[0].split())
    first, _, rest = text.partition(". ")
    return (f"{first}." if rest else first), rest


def _describe_fields(operation: Operation, form: JsonObject) -> None:
    """Add the descriptions of a body's fields."""
    for name, schema in cast("dict[str, JsonObject]", form.get("properties", {})).items():
        schema["description"] = text_of(operation.name, name)


class Schemas:
    """Schemas of all types that operations name, each with a definition of its own."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        wanted: list[tuple[Any, str]] = [(Problem, "serialization")]
        for operation in operations:
            wanted += [(operation.asked, "validation"), (operation.sent, "validation")]
            wanted += [(kind, "serialization") for kind in operation.answers.values() if kind is not None]
        unique = {self._key(kind, mode): (kind, mode) for kind, mode in wanted}
        inputs: list[Any] = [(key, mode, TypeAdapter(kind)) for key, (kind, mode) in unique.items()]
        found, rest = TypeAdapter.json_schemas(inputs, ref_template=_REF)
        self._schemas: dict[str, JsonObject] = {str(key): schema for (key, _), schema in found.items()}
        self.definitions = cast("dict[str, JsonObject]", _with_spans(rest.get("$defs", {})))

    def of(self, kind: object, mode: str) -> JsonObject:
        return self._schemas[self._key(kind, mode)]

    def resolve(self, schema: JsonObject) -> JsonObject:
        """Return the definition behind a reference."""
        reference = schema.get("$ref")
        return self.definitions[str(reference).rpartition("/")[2]] if reference else schema

    def _key(self, kind: object, mode: str) -> str:
        return f"{mode} {kind!r}"


def _with_spans(schema: Json) -> Json:
    """Return definitions with spans of time described in their written form."""
    if isinstance(schema, dict):
        if schema.get("format") == "duration":
            return {**{key: value for key, value in schema.items() if key != "format"}, **_SPAN}
        return {key: _with_spans(value) for key, value in schema.items()}
    return [_with_spans(one) for one in schema] if isinstance(schema, list) else schema


def _parameters(operation: Operation, schemas: Schemas) -> Iterable[Json]:
    asked = schemas.resolve(schemas.of(operation.asked, "validation"))
    fields, required = asked.get("properties", {}), asked.get("required", [])
    assert isinstance(fields, dict) and isinstance(required, list)
    for name, schema in fields.items():
        is_in_path = name in operation.in_path
        yield {
            "name": name,
            "in": "path" if is_in_path else "query",
            "required": is_in_path or name in required,
            "description": text_of(operation.name, name),
            "schema": _without_null(schema),
        }
    if operation.takes_key:
        said = "The same key is the same call, with any outcome of the first."
        key: JsonObject = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"}
        yield {"name": "Idempotency-Key", "in": "header", "required": False, "description": said, "schema": key}
    if operation.streams:
        said = "The id of the last received event: the stream goes on behind it."
        yield {
            "name": "Last-Event-ID",
            "in": "header",
            "required": False,
            "description": said,
            "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
        }


def _without_null(schema: Json) -> Json:
    """Return the schema of a parameter without null: an unset parameter is left out."""
    if not isinstance(schema, dict) or not isinstance(choices := schema.get("anyOf"), list):
        return schema
    left: list[Json] = [one for one in choices if one != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if len(left) == 1 and isinstance(only := left[0], dict):
        return {**kept, **only}
    return {**kept, "anyOf": left}


def _responses(operation: Operation, schemas: Schemas) -> JsonObject:
    told: dict[HTTPStatus, Json] = {}
    for status, kind in operation.answers.items():
        told[status] = _answer(operation, schemas, status, kind)
    raised = {HTTPStatus(one) if isinstance(one, int) else status_of(one) for one in operation.raises}
    problems = {*ALWAYS, *raised}
    if operation.streams:
        problems -= {HTTPStatus.UNSUPPORTED_MEDIA_TYPE}
    schema = schemas.of(Problem, "serialization")
    for status in problems - told.keys():
        told[status] = {"description": status.phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
    return {str(int(status)): told[status] for status in sorted(told)}


def _answer(operation: Operation, schemas: Schemas, status: HTTPStatus, kind: object) -> Json:
    if operation.streams and status is HTTPStatus.OK:
        return {"description": "Server-sent events, each a CloudEvent.", "content": {"text/event-stream": _SENT_EVENTS}}
    if kind is None:
        return {"description": status.phrase}
    schema = schemas.of(kind, "serialization")
    about = kind.__doc__ if isinstance(kind, type) and issubclass(kind, BaseModel | Record) else None
    said = " ".join(about.split()) if about else status.phrase
    return {"description": said, "content": {"application/json": {"schema": schema}}}
