"""JSON, digests and derived ids: the material of all other records."""

import hashlib
import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import timedelta
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from math import isfinite
from types import MethodType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

from msgspec.json import Decoder, Encoder
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, JsonValue, TypeAdapter, ValidationError
from pydantic_core import CoreSchema

from soorma_ai.errors import LocalProtocolError, RemoteProtocolError


class _JsonOfPydantic:
    """Annotation of JSON values. pydantic checks them by its own type, which msgspec does not know."""

    @staticmethod
    def __get_pydantic_core_schema__(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(JsonValue)


if TYPE_CHECKING:
    Json: TypeAlias = JsonValue
else:
    Json = Annotated[Any, _JsonOfPydantic]
JsonObject: TypeAlias = dict[str, Json]
# What callers may give where a JSON object is wanted.
Data: TypeAlias = Mapping[str, Any] | BaseModel
Missing = TypeVar("Missing")
T = TypeVar("T")

_OBJECT = TypeAdapter(JsonObject, config=ConfigDict(allow_inf_nan=False, defer_build=True))
MOST_LEVELS = 100
MOST_OF_A_MESSAGE = 10_000
LONGEST_WAIT_SECONDS = 10 * 366 * 24 * 3600
UNSTORABLE = (
    f"it is nested deeper than {MOST_LEVELS} levels, or holds text that is no Unicode, far too long a number, "
    "NaN or Infinity"
)

_encode, _decode = Encoder().encode, Decoder().decode

_CONTAINERS: tuple[type[object], ...] = (dict, list)
_SAFE_INTEGER = 2**53 - 1
# Between these, Python spells fractions without an exponent.
_LEAST_PLAIN, _ENDLESS = 1e-4, 1e16
# Spelling of a number with another RFC 8785 form perhaps: a fraction, or more digits than a double may hold.
_MAY_DIFFER = re.compile(r"[0-9](?:[.eE]|[0-9]{15})")
# Beyond these characters, the order of code points is not that of UTF-16.
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_MOST_DIGITS = 18
_NAMESPACE = bytes.fromhex("6f7b1a525c0e5d0c9f530d2f1a8f4c11")
# With options, `json.dumps` makes an encoder for each value. In one shot, `iterencode` is all of `encode`.
_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_AS_IT_STANDS = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_IN_CHUNKS = json.JSONEncoder(default=str)
_CANONICAL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


class Frozen(BaseModel):
    """Base of authors' models: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


# Key of a constant object; a call returns the object.
Same: TypeAlias = Callable[[], T]


def identity_of(it: T) -> Same[T]:
    """Return the identity of an object as a key, for values derived from a constant object. A bound method is hashed
    and compared by the identity of its object, in C."""
    return MethodType(_itself, it) if it is not None else _nothing


def _itself(it: T) -> T:
    return it


def _nothing() -> Any:
    return None


_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def derived_id(*parts: str) -> str:
    """Return the same id for the same parts, so a repetition makes the same thing: a UUID of version 5, spelled here
    since ids are made by the dozen in every handling."""
    spelled = ",".join(map(encode_basestring_ascii, parts))
    return spell_uuid(hashlib.sha1(_NAMESPACE + f"[{spelled}]".encode(), usedforsecurity=False).hexdigest(), 5)


def spell_uuid(digits: str, version: int) -> str:
    """Return the UUID of this version, with all other bits from hexadecimal digits."""
    variant = _VARIANTS[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-{version}{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def json_object(what: str, value: object) -> JsonObject:
    """Return `value` if it is a JSON object or a model of one; else raise LocalProtocolError with the name `what`."""
    if (copied := copy_of_json(value)) is not None:
        return copied
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    try:
        return _OBJECT.validate_python(value)
    except ValidationError as error:
        if (spelled := _spell_decimals(value, MOST_LEVELS)) != value:
            return json_object(what, spelled)
        fault = error.errors(include_url=False)[0]
        place = "".join(f"[{part!r}]" for part in fault["loc"][:1])
        found = clip(reprlib.repr(fault["input"]), 80)
        raise LocalProtocolError(f"{what}{place} must be JSON, found {found}: {fault['msg']}") from error


def _spell_decimals(value: object, levels: int) -> object:
    """Return a value with the digits of its decimals as text."""
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}"
    if levels and isinstance(value, Mapping):
        members = cast(Mapping[object, object], value)
        return {name: _spell_decimals(item, levels - 1) for name, item in members.items()}
    if levels and isinstance(value, list):
        return [_spell_decimals(item, levels - 1) for item in cast(list[object], value)]
    return value


def copy_of_json(value: object) -> JsonObject | None:
    """Return a copy of a JSON object, far quicker than by validation; None for anything else."""
    if value.__class__ is dict and not value:
        return {}
    copied = _copy_by_text(value)
    return copied if copied.__class__ is dict else None


def _copy_by_text(value: object) -> Any:
    """Return the equal value of a value's text; None for a value with another or none."""
    try:
        copied = _decode(_encode(value))
        return copied if copied == value else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def read_as(what: str, kind: type[T] | None, value: Json) -> T:
    """Return another's value as a model or any other type, or unchanged for `kind` None. Raise RemoteProtocolError,
    with the name `what`, for an unfitting one."""
    if kind is None:
        return cast(T, value)
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise RemoteProtocolError(f"{what} does not fit {getattr(kind, '__name__', kind)}: {error}") from error


def must_be_text(what: str, given: object) -> None:
    """Raise LocalProtocolError, with `what=given`, for anything but text of at least one character."""
    if not isinstance(given, str) or not given:
        raise LocalProtocolError(f"{what}={given!r}: give text, at least one character")


def parse_json(text: str) -> Json:
    """Return the value of JSON text. Raise ValueError for anything else, for a name that stands twice in an object, for
    a number that JSON does not know, and for text that is nested too deep."""
    try:
        return cast(Json, _STRICT.decode(text))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _object_of(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _finite(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(f"{text} is no value of JSON")
    return value


_STRICT = json.JSONDecoder(object_pairs_hook=_object_of, parse_constant=_finite, parse_float=_finite)


def compact(value: Json) -> str:
    """Return the one spelling of a value: sorted keys, no spaces, ASCII."""
    return "".join(_COMPACT.iterencode(value, True))


def copy_json(value: T) -> T:
    """Return a copy of a JSON value that shares nothing with it that may be changed in place."""
    if value is None or not isinstance(value, _CONTAINERS):
        return value
    copied = _copy_by_text(value)
    return cast(T, deepcopy(value)) if copied is None else copied


def digest(value: Json) -> str:
    """Return the SHA-256 of the RFC 8785 form; others get the same for the same payload."""
    return hashlib.sha256(_spell_canonically(value)).hexdigest()


def storable_copy(value: JsonObject) -> JsonObject | None:
    """Return a copy of an object, far quicker than by `is_storable` and a copy; None where that has to tell."""
    try:
        spelled = _encode(value)
        copied = _decode(spelled)
        is_flat = len(spelled) < MOST_LEVELS or spelled.count(b"[") + spelled.count(b"{") < MOST_LEVELS
        return copied if is_flat and copied == value and copied.__class__ is dict else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def is_storable(value: Json) -> bool:
    """Tell whether a value can be written and read back: not too deep for a parser, all of it Unicode and JSON."""
    is_json = False
    try:
        spelled = _encode(value)
        is_json = b"null" not in spelled or _decode(spelled) == value  # NaN is spelled null
        if is_json and spelled.count(b"[") + spelled.count(b"{") < MOST_LEVELS:
            return True
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return not _is_too_deep(value) and (is_json or _can_be_spelled(value))


def is_finite(value: Json) -> bool:
    """Tell whether a value has neither NaN nor Infinity; msgspec writes these as null."""
    return b"null" not in _encode(value) or _can_be_spelled(value)


def _is_too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(MOST_LEVELS):
        below: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return False
        level = below
    return True


def _can_be_spelled(value: Json) -> bool:
    try:
        "".join(_AS_IT_STANDS.iterencode(value, True)).encode()
    except ValueError:  # also for an integer that is too long to be spelled
        return False
    return True


def clip(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…"


def excerpt(value: Json, size: int) -> str:
    """Return the beginning of a value as JSON, without spelling the rest of it."""
    spelled = ""
    for chunk in _IN_CHUNKS.iterencode(value[:size] if isinstance(value, str) else value):
        spelled += chunk[: size + 1]
        if len(spelled) > size:
            break
    return clip(spelled, size)


def message_of(error: BaseException) -> str:
    """Return the message of an error, as storable text of bounded length, from any constructor."""
    try:
        said = str(error)
    except BaseException:
        said = "(it has no words that can be printed)"
    return clip(said.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00"), MOST_OF_A_MESSAGE)


def account_of(error: BaseException) -> str:
    """Return the name of an error's class, and its message."""
    said = message_of(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group, at any depth; a plain error is its own."""
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(one)
    else:
        yield error


def value_at(value: Json, pointer: str) -> Json:
    """Return the value at a JSON Pointer (RFC 6901) or a dotted path; None for a missing one."""
    parts = pointer[1:].split("/") if pointer.startswith("/") else pointer.split(".")
    return follow(value, [part.replace("~1", "/").replace("~0", "~") for part in parts], None)


def follow(value: Json, path: Sequence[str | int], otherwise: Missing) -> Json | Missing:
    """Return the value at the path; `otherwise` for a missing one."""
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and leads_into(value, str(part)):
            value = value[int(part)]
        else:
            return otherwise
    return value


def leads_into(items: Sequence[Json], part: str) -> bool:
    """Tell whether a part of a path is the place of an item, in digits readable by `int`: not all Unicode digits are,
    nor thousands of them."""
    return part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS and int(part) < len(items)


def _spell_canonically(value: Json) -> bytes:
    """Return the RFC 8785 form: for most numbers and texts that of JSON with sorted keys, far quicker to make."""
    try:
        spelled = "".join(_CANONICAL.iterencode(value, True))
        if _MAY_DIFFER.search(spelled) is not None:
            spelled = "".join(_CANONICAL.iterencode(_make_plain(value), True))
        if spelled.isascii() or _ASTRAL.search(spelled) is None:
            return spelled.encode()
    except ValueError:
        pass
    import rfc8785  # most values do without it

    return rfc8785.dumps(_canonical(value))


def _make_plain(value: Json) -> Json:
    """Return a value with whole numbers as integers. Raise ValueError for a number with another RFC 8785 form than that
    of JSON."""
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, dict):
        return {key: _make_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_make_plain(item) for item in value]
    if isinstance(value, float) and not value.is_integer():
        if not _LEAST_PLAIN <= abs(value) < _ENDLESS:
            raise ValueError(f"{value} has an exponent")
        return value
    if abs(value) > _SAFE_INTEGER:
        raise ValueError(f"{value} is beyond the integers of a double")
    return int(value)


def _canonical(value: Json) -> Json:
    """Write integers beyond 2**53 as their digits, since the numbers of RFC 8785 are doubles."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return {"$integer": str(value)}
    return value


def span_of(what: str, given: object) -> timedelta:
    """Return a span of a bounded length, given in seconds or as it is. Raises LocalProtocolError, naming `what`."""
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= LONGEST_WAIT_SECONDS:
        return timedelta(seconds=seconds)
    raise LocalProtocolError(f"{what}={given!r}: give a number of seconds above 0, up to {LONGEST_WAIT_SECONDS}")
