"""Content of messages: JSON as parts, and parts as JSON for a schema.

A number is a float in the protocol. A value beyond a float goes as JSON text, and arrives as it was sent.
"""

import math
from collections.abc import Iterable, Mapping
from typing import cast

from a2a.types import Part
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.struct_pb2 import Struct, Value
from pydantic_core import from_json

from soorma_ai.gateways import goals
from soorma_ai.gateways.goals import WORDS
from soorma_ai.kernel.domain.schema_cost import length_of
from soorma_ai.kernel.domain.values import Json, JsonObject, compact

JSON = "application/json"
TEXT = "text/plain"
MOST_AS_DATA = 16 * 1024
_EXACT = 2**53


def part_of(content: Json) -> Part:
    """Return text as text, and all else as data; as JSON text where a float would not hold it."""
    if isinstance(content, str):
        return Part(text=content, media_type=TEXT)
    if not _survives(content):
        return Part(text=compact(content), media_type=JSON)
    return Part(data=_value_of(content), media_type=JSON)


def small_part_of(content: Json) -> Part:
    """Return a part for small data; large data goes as JSON text, so the protocol's library makes no objects of it."""
    is_large = not isinstance(content, str) and (length_of(content) or 0) > MOST_AS_DATA
    return Part(text=compact(content), media_type=JSON) if is_large else part_of(content)


def _value_of(content: Json) -> Value:
    wrapped = Struct()
    wrapped.update({WORDS: content})
    return wrapped.fields[WORDS]


def json_of(value: Value) -> Json:
    """Return a value as JSON, whole numbers as such. Raise InvalidParamsError for NaN and infinities."""
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            if not math.isfinite(number):
                raise InvalidParamsError(f"{number} is no number of JSON")
            return int(number) if number.is_integer() and abs(number) <= _EXACT else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return object_of(value.struct_value)
        case "list_value":
            return [json_of(one) for one in value.list_value.values]
        case _:
            return None


def object_of(struct: Struct) -> JsonObject:
    return {name: json_of(value) for name, value in struct.fields.items()}


def read(parts: Iterable[Part]) -> tuple[str, JsonObject]:
    """Return the words and the data of a message; later parts win. Raise ContentTypeNotSupportedError for files and
    links, InvalidParamsError for data other than an object."""
    words: list[str] = []
    data: JsonObject = {}
    for part in parts:
        match part.WhichOneof("content"):
            case "text" if _kind(part) == JSON:
                data.update(_object(_parse(part.text)))
            case "text" if _kind(part) in ("", TEXT, "text/markdown"):
                words.append(part.text)
            case "data" if _kind(part) in ("", JSON):
                data.update(_object(json_of(part.data)))
            case None:
                raise InvalidParamsError("a part is empty: give text or data")
            case content:
                raise ContentTypeNotSupportedError(
                    f"a part is {content} of {part.media_type or 'no type'}; give text, or data as {JSON}"
                )
    return "\n".join(words), data


def payload_of(words: str, data: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the payload of a message for a schema. Raise LocalProtocolError for words alone without a field."""
    return goals.payload_of(words, data, schema, f"give a part with data as {JSON}")


def _object(content: Json) -> JsonObject:
    if not isinstance(content, dict):
        raise InvalidParamsError(f"data is {type(content).__name__}; give an object")
    return content


def _parse(text: str) -> Json:
    try:
        return cast("Json", from_json(text, allow_inf_nan=False))
    except ValueError as error:
        raise InvalidParamsError(f"a part of {JSON} is no JSON: {error}") from error


def _kind(part: Part) -> str:
    return part.media_type.partition(";")[0].strip().lower()


def _survives(content: Json) -> bool:
    match content:
        case bool() | None | str() | float():
            return True
        case int():
            return abs(content) <= _EXACT
        case list():
            return all(map(_survives, content))
        case _:
            return all(map(_survives, cast("Mapping[str, Json]", content).values()))
