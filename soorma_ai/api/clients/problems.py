"""Problem answers of a server, as the raised class, by its code. Pure."""

from http import HTTPStatus
from typing import Final

from pydantic import TypeAdapter, ValidationError

from soorma_ai.api.clients.messages import HttpRequest, HttpResponse
from soorma_ai.api.error_forms import class_of, rebuild_error
from soorma_ai.errors import (
    Forbidden,
    LocalProtocolError,
    NotFound,
    Overloaded,
    RemoteProtocolError,
    ServerUnavailable,
    SoormaError,
    Unauthenticated,
)
from soorma_ai.kernel.domain.values import JsonObject, clip

PROBLEM: Final = "application/problem+json"
_SHOWN = 200

# Codes of what only HTTP knows, and no class has.
_BY_CODE: Final[dict[str, type[SoormaError]]] = {
    "invalid": LocalProtocolError,
    "content_too_large": LocalProtocolError,
    "unsupported_media_type": LocalProtocolError,
    "method_not_allowed": LocalProtocolError,
    "request_timeout": ServerUnavailable,
    "not_ready": ServerUnavailable,
    "internal": SoormaError,
}
# What stands between says it so, in no words of ours.
_BY_STATUS: Final[dict[int, type[SoormaError]]] = {
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: LocalProtocolError,
    HTTPStatus.REQUEST_TIMEOUT: ServerUnavailable,
    HTTPStatus.TOO_MANY_REQUESTS: Overloaded,
    HTTPStatus.BAD_GATEWAY: ServerUnavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: ServerUnavailable,
    HTTPStatus.GATEWAY_TIMEOUT: ServerUnavailable,
}
_OBJECT = TypeAdapter[JsonObject](JsonObject)


def is_answer(response: HttpResponse) -> bool:
    return HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES


def problem_in(response: HttpResponse) -> JsonObject | None:
    """Return the problem of an answer; None for a foreign answer."""
    if response.content_type != PROBLEM:
        return None
    try:
        found = _OBJECT.validate_json(response.body)
    except ValidationError:
        return None
    return found if isinstance(found.get("code"), str) and isinstance(found.get("detail"), str) else None


def error_of(response: HttpResponse, request: HttpRequest, url: str) -> SoormaError:
    """Return the error for an unexpected answer."""
    if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
        where = clip(response.headers.get("location", "nowhere"), _SHOWN)
        return RemoteProtocolError(
            f"{url} leads {request.name} on to {where!r}, where nobody's token goes by itself: give the URL itself"
        )
    problem = problem_in(response)
    if problem is not None:
        code = str(problem["code"])
        kind = class_of(code) or _BY_CODE.get(code) or _BY_STATUS.get(response.status) or _by_kind(response.status)
        return rebuild_error(kind, str(problem["detail"]), problem)
    fields: JsonObject = {"retry_after": _retry_after(response)}
    kind = _BY_STATUS.get(response.status, RemoteProtocolError)
    shown = clip(" ".join(response.body[: 4 * _SHOWN].decode(errors="replace").split()), _SHOWN)
    found = f"{response.status} and {response.content_type or 'no type'}: {shown!r}"
    wanted = "what stands between answers so" if kind is not RemoteProtocolError else "give the URL of a Soorma server"
    return rebuild_error(kind, f"{url} answered {request.name} with {found}; {wanted}", fields)


def _by_kind(status: int) -> type[SoormaError]:
    """Return the class for a code of a newer version."""
    if status == HTTPStatus.NOT_FOUND:
        return NotFound
    return LocalProtocolError if status < HTTPStatus.INTERNAL_SERVER_ERROR else SoormaError


def _retry_after(response: HttpResponse) -> float | None:
    """Return the wanted pause in seconds; None for a date: clocks of two machines are never compared."""
    said = response.headers.get("retry-after", "").strip()
    return float(said) if said.isascii() and said.isdigit() and len(said) <= 6 else None
