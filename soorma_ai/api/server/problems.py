"""Errors over HTTP: problems by RFC 9457, with our codes."""

from collections.abc import Mapping
from http import HTTPStatus
from math import ceil
from secrets import token_hex
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from soorma_ai.api.error_forms import fields_of
from soorma_ai.errors import (
    ConfigError,
    DeadlineExceeded,
    Forbidden,
    Held,
    IllegalTransition,
    LimitExceeded,
    LocalProtocolError,
    NotFound,
    Overloaded,
    PlanFailed,
    RateLimited,
    RemoteProtocolError,
    SoormaError,
    TransientError,
    Unauthenticated,
    VersionConflict,
)
from soorma_ai.kernel.domain.values import clip, message_of
from soorma_ai.kernel.runtime.handling.logs import warn

MEDIA_TYPE = "application/problem+json"
MOST_FAULTS = 20
_LONGEST_VALUE = 80

# By class; what is not here has the status of the nearest class above it. SoormaError itself is our own fault.
STATUS: Final[Mapping[type[SoormaError], HTTPStatus]] = {
    SoormaError: HTTPStatus.INTERNAL_SERVER_ERROR,
    ConfigError: HTTPStatus.CONFLICT,
    LocalProtocolError: HTTPStatus.UNPROCESSABLE_ENTITY,
    RemoteProtocolError: HTTPStatus.UNPROCESSABLE_ENTITY,
    IllegalTransition: HTTPStatus.CONFLICT,
    LimitExceeded: HTTPStatus.CONFLICT,
    Held: HTTPStatus.ACCEPTED,
    NotFound: HTTPStatus.NOT_FOUND,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    DeadlineExceeded: HTTPStatus.GATEWAY_TIMEOUT,
    PlanFailed: HTTPStatus.CONFLICT,
    TransientError: HTTPStatus.SERVICE_UNAVAILABLE,
    VersionConflict: HTTPStatus.CONFLICT,
    Overloaded: HTTPStatus.TOO_MANY_REQUESTS,
    RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
}
RETRY_AFTER_SECONDS = 1


class Fault(BaseModel):
    """Fault of the sent data: its place, and the reason."""

    model_config = ConfigDict(frozen=True)

    at: str
    message: str


class Problem(BaseModel):
    """Problem, in the form of RFC 9457. `code` is stable, `detail` is for people."""

    model_config = ConfigDict(frozen=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    retry_after: float | None = None
    wait_id: str | None = None
    request_id: str | None = None
    limit: str | None = None
    plan_id: str | None = None
    reason: str | None = None
    error_id: str | None = None
    faults: list[Fault] | None = None

    def to_json(self) -> bytes:
        return self.model_dump_json(exclude_none=True).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Return headers with the same content, for readers without the body."""
        headers = {"content-type": MEDIA_TYPE}
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["www-authenticate"] = "Bearer"
        if self.retry_after is not None:
            headers["retry-after"] = str(max(1, ceil(self.retry_after)))
        return headers


def problem(status: HTTPStatus, code: str, detail: str) -> Problem:
    return Problem(type=f"urn:soorma:problem:{code}", title=status.phrase, status=int(status), detail=detail, code=code)


def status_of(kind: type[SoormaError]) -> HTTPStatus:
    return next(STATUS[above] for above in kind.__mro__ if issubclass(above, SoormaError) and above in STATUS)


def problem_of(error: SoormaError) -> Problem | None:
    """Return the problem for a caller; None for an internal error."""
    status = status_of(type(error))
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    told = dict(fields_of(error))
    if isinstance(error, TransientError):
        told.setdefault("retry_after", RETRY_AFTER_SECONDS)
    return problem(status, error.code, message_of(error)).model_copy(update=told)


def internal(error_id: str) -> Problem:
    """Return the problem of an internal error, with a reference to the log."""
    said = f"the server failed; its log says why under {error_id}"
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", said).model_copy(update={"error_id": error_id})


def unfit(error: ValidationError, where: str) -> Problem:
    """Return the problem of unparsable data, with found and wanted."""
    faults = [
        Fault(at=_path(where, fault["loc"]), message=_say(fault["msg"], fault.get("input")))
        for fault in error.errors(include_url=False, include_context=False)[:MOST_FAULTS]
    ]
    first = faults[0]
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    detail = f"{first.at}: {first.message}{more}"
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", detail).model_copy(update={"faults": faults})


def _path(where: str, loc: tuple[int | str, ...]) -> str:
    return clip("/".join((where, *map(str, loc))), 5 * _LONGEST_VALUE)


def _say(message: str, found: object) -> str:
    if isinstance(found, str | int | float | bool | None):
        return f"{clip(message, 3 * _LONGEST_VALUE)}; found {clip(repr(found), _LONGEST_VALUE)}"
    return clip(message, 3 * _LONGEST_VALUE)


def response_of(told: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(told.to_json(), told.status, {**told.headers, **(headers or {})})


def report_error(error: Exception, called: str) -> Problem:
    error_id = token_hex(8)
    warn("http_call_broke", bug=error, operation=called, error_id=error_id)
    return internal(error_id)
