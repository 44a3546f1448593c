"""Wire form of a reply: writing, reading, and recognition by a requester."""

from datetime import timedelta

from msgspec import Struct

from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject


class Failure(Struct, frozen=True):
    """Failure for the requester: a stable code, and words. `ends_plan`: the plan cannot go on, since its model gave up
    or a limit is reached."""

    code: str
    message: str
    ends_plan: bool = False


def content_of(data: JsonObject) -> Json:
    """Return the result or the error of a reply; of an event in another form, all of its data."""
    if "success" not in data and "result" not in data:
        return data
    return data.get("error") if is_failure(data) else data.get("result")


def is_failure(data: JsonObject) -> bool:
    return data.get("success") is False


def success_reply(result: Json) -> JsonObject:
    return {"success": True, "status": "completed", "result": result}


def failure_reply(code: str, message: str) -> JsonObject:
    error: JsonObject = {"code": code, "message": message}
    return {"success": False, "status": "failed", "error": error}


class ExpectedReply(Record, frozen=True):
    """Expected answer of a request: an event of `event_type` or one of the `others`, within `timeout`."""

    event_type: str
    others: tuple[str, ...] = ()
    timeout: timedelta | None = None
