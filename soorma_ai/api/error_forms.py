"""Forms of errors at a border: a description by code, and the class rebuilt from it."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from soorma_ai.errors import Held, LimitExceeded, PlanFailed, SoormaError, TransientError, VersionConflict
from soorma_ai.kernel.domain.values import Json, JsonObject


def fields_of(error: SoormaError) -> JsonObject:
    """Return the fields of an error beside its code and its message."""
    match error:
        case LimitExceeded():
            return {"limit": error.limit}
        case PlanFailed():
            return {"plan_id": error.plan_id, "reason": error.reason, "failure": error.code}
        case Held():
            return {"wait_id": error.wait_id, "request_id": error.request_id}
        case TransientError() if error.retry_after is not None:
            return {"retry_after": error.retry_after.total_seconds()}
        case _:
            return {}


def class_of(code: object) -> type[SoormaError] | None:
    """Return the class with this code; None for an unknown code."""
    return next((kind for kind in _tree() if kind.code == code), None)


def rebuild_error(kind: type[SoormaError], message: str, fields: Mapping[str, Json]) -> SoormaError:
    """Return the error, made without its constructor: this would compose the message a second time."""
    error = kind.__new__(kind, message)
    match error:
        case LimitExceeded():
            error.limit = str(fields.get("limit", ""))
        case PlanFailed():
            error.plan_id, error.reason = str(fields.get("plan_id", "")), str(fields.get("reason", ""))
            if (failure := str(fields.get("failure", kind.code))) != kind.code:
                error.code = failure
        case Held():
            error.wait_id, error.request_id = str(fields.get("wait_id", "")), str(fields.get("request_id", ""))
        case TransientError():
            error.retry_after = _span(fields.get("retry_after"))
            if isinstance(error, VersionConflict):
                error.counts = True
        case _:
            pass
    return error


def _span(seconds: Json) -> timedelta | None:
    """Return the span; None for a span impossible to wait for."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    try:
        return max(timedelta(0), timedelta(seconds=seconds))
    except (OverflowError, ValueError):
        return None


def _tree(kind: type[SoormaError] = SoormaError) -> Iterator[type[SoormaError]]:
    """Yield the classes known to both sides: those of our own tree, without others' subclasses."""
    if kind.__module__ == SoormaError.__module__:
        yield kind
        for below in kind.__subclasses__():
            yield from _tree(below)
