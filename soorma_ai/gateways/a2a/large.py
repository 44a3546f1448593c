"""Large messages: their data goes on as JSON text.

The protocol's library makes an object of each value of a message, and looks at each: a megabyte would take seconds.
"""

from typing import cast

from a2a.utils.errors import InvalidParamsError
from pydantic_core import from_json

from soorma_ai.gateways.a2a.parts import JSON
from soorma_ai.kernel.domain.values import Json, JsonObject, compact

MOST_VALUES = 1_000  # beside the data


def with_data_as_text(body: bytes) -> bytes:
    """Return the body of a call with the data of a large message as JSON text. Invalid JSON stays as it is.

    Raise InvalidParamsError for too many other values.
    """
    if body.count(b",") < MOST_VALUES:
        return body
    try:
        call = cast("Json", from_json(body, allow_inf_nan=False))
    except ValueError:
        return body
    message = _object_at(_object_at(call, "params") or call, "message")
    parts = message.get("parts") if message else None
    if message is not None and isinstance(parts, list):
        message["parts"] = [_as_text(part) for part in parts]
    _must_be_few(call)
    return compact(call).encode()


def _object_at(value: Json, name: str) -> JsonObject | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def _as_text(part: Json) -> Json:
    if not isinstance(part, dict) or not isinstance(data := part.get("data"), dict):
        return part
    kind = part.get("mediaType", part.get("media_type"))
    if kind not in (None, "", JSON) or "text" in part:
        return part
    rest = {name: one for name, one in part.items() if name not in ("data", "media_type")}
    return {**rest, "text": compact(data), "mediaType": JSON}


def _must_be_few(value: Json) -> None:
    left, ahead = MOST_VALUES, [value]
    while ahead:
        one = ahead.pop()
        if isinstance(one, dict | list):
            left -= len(one)
            if left < 0:
                raise InvalidParamsError(f"a message has at most {MOST_VALUES:,} values outside of its data")
            ahead += one.values() if isinstance(one, dict) else one
