"""Annotations of handlers: types of the payload and the result. Their schemas are derived from them."""

import inspect
from collections.abc import Callable
from typing import Any, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from soorma_ai.errors import ConfigError, InvalidResult, RemoteProtocolError
from soorma_ai.kernel.domain.records import plain
from soorma_ai.kernel.domain.schema_types import TypeSchemas
from soorma_ai.kernel.domain.schemas import SchemaSource, describe, schema_of
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.runtime.handling.check_ahead import check

Handler = Callable[..., Any]

_UNTYPED = (dict, None, type(None), Any, inspect.Parameter.empty)


class PayloadShape:
    """Conversion of a payload into the handler's type, and back. Without a type, payloads stay dicts."""

    def __init__(self, annotation: object, given: SchemaSource | None) -> None:
        schema = schema_of(given) if given is not None else None
        typed = annotation not in _UNTYPED and get_origin(annotation) is not dict
        self._adapter: TypeAdapter[Any] | None = TypeAdapter[Any](cast(Any, annotation)) if typed else None
        self.schema = schema or (schema_of(annotation) if isinstance(annotation, type) and typed else None)
        if self.schema is None and self._adapter is not None:
            self.schema = self._adapter.json_schema(schema_generator=TypeSchemas)

    async def read(self, tenant_id: str, what: str, data: JsonObject) -> Any:
        """Return data in the handler's type. Raise RemoteProtocolError for unfitting data."""
        if faults := await check(tenant_id, self.schema, data):
            raise RemoteProtocolError(f"{what} is off its schema: {describe(faults)}")
        if self._adapter is None:
            return data
        try:
            return self._adapter.validate_python(data)
        except ValidationError as error:
            raise RemoteProtocolError(f"{what} does not fit its type: {error}") from error

    async def write(self, tenant_id: str, what: str, value: object) -> Json:
        """Return a result as JSON. Raise InvalidResult for a result off the handler's own declaration."""
        try:
            data: Json = to_jsonable_python(value, fallback=plain)
        except ValueError as error:
            raise InvalidResult(f"{what} is no JSON: {error}") from error
        if faults := await check(tenant_id, self.schema, data):
            raise InvalidResult(f"{what} is off its schema: {describe(faults)}")
        return data


def payload_type(handler: Handler, context_type: type) -> object:
    """The T of a first parameter annotated `context_type[T]`, or dict."""
    hints = _hints(handler)
    names = list(inspect.signature(handler).parameters)
    annotation = hints.get(names[0]) if names else None
    if get_origin(annotation) is context_type:
        return get_args(annotation)[0]
    return dict


def return_type(handler: Handler) -> object:
    return _hints(handler).get("return")


def _hints(handler: Handler) -> dict[str, object]:
    try:
        return get_type_hints(handler)
    except NameError as error:
        raise ConfigError(
            f"the annotations of {handler.__qualname__} cannot be resolved ({error}); "
            "define its models at module level, or give payload_schema= and response_schema="
        ) from error
