"""HTTP messages of the clients: requests made of values, and values read from answers. Pure."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from soorma_ai.api.clients.address import path_of
from soorma_ai.api.paging import Page as Page
from soorma_ai.errors import LocalProtocolError, RemoteProtocolError
from soorma_ai.kernel.domain.records import plain
from soorma_ai.kernel.domain.values import UNSTORABLE, JsonObject, clip, is_storable

LONGEST_KEY = 200
MOST_ITEMS: Final = 500

T = TypeVar("T")
Field = str | int | float | bool | None


class HttpRequest(Struct, frozen=True):
    """HTTP request. `is_safe`: a second send after a possible execution is allowed, since it changes nothing."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    is_safe: bool = False

    @property
    def name(self) -> str:
        return f"{self.method} {clip(self.path, 200)}"

    def with_header(self, name: str, value: str) -> "HttpRequest":
        return replace(self, headers={**self.headers, name: value})


class HttpResponse(Struct, frozen=True):
    """Complete HTTP response. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def read(self, kind: type[T]) -> T:
        """Return the value of the body. Raise RemoteProtocolError for anything else than JSON of this kind."""
        try:
            found: T = _adapter(kind).validate_json(self.body)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = "/".join(map(str, fault["loc"][:5])) or "the answer"
            raise RemoteProtocolError(
                f"the server's answer is none that this version reads: {place}: {clip(fault['msg'], 200)}; "
                "give the URL of a Soorma server, of the same version"
            ) from error
        return found

    def read_key(self, key: str, kind: type[T]) -> T:
        """Return the value under a name in the body. Raise as `read`."""
        found: T = self.read(_with_key(key, kind))[key]
        return found


def get(*parts: str, **query: Field) -> HttpRequest:
    return HttpRequest("GET", path_of(*parts), spell(query), is_safe=True)


def delete(*parts: str, **query: Field) -> HttpRequest:
    return HttpRequest("DELETE", path_of(*parts), spell(query))


def post(*parts: str, body: Mapping[str, object], key: str | None = None, is_safe: bool = False) -> HttpRequest:
    """Return a request with a JSON body. With a `key` it counts once, after any number of sends. Raise
    LocalProtocolError for a key unfit for a header, and for a body impossible to store."""
    headers = {"content-type": "application/json"}
    if key is not None:
        if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise LocalProtocolError(
                f"idempotency_key={clip(repr(key), 80)}: over HTTP, give 1 to {LONGEST_KEY} printable ASCII characters"
            )
        headers["idempotency-key"] = key
    try:
        written: JsonObject = to_jsonable_python(body, timedelta_mode="float", fallback=plain)
    except ValueError as error:
        raise LocalProtocolError(f"what is sent cannot be kept: {UNSTORABLE}") from error
    if not is_storable(written):
        raise LocalProtocolError(f"what is sent cannot be kept: {UNSTORABLE}")
    sent = json.dumps(written, separators=(",", ":")).encode()
    return HttpRequest("POST", path_of(*parts), headers=headers, body=sent, is_safe=is_safe or key is not None)


def spell(query: Mapping[str, Field]) -> dict[str, str]:
    """Return the fields of a query as text, without those with None."""
    return {name: _text(value) for name, value in query.items() if value is not None}


def _text(value: Field) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


@cache
def _with_key(key: str, kind: Any) -> Any:
    return cast("Any", TypedDict)("Answer", {key: kind})


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
