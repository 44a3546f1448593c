"""The form of a reply, on the wire: how it is written, how it is read, and what a requester takes for one."""

from dataclasses import dataclass
from datetime import timedelta

from soorma_ai.domain.values import Json, JsonObject


@dataclass(frozen=True)
class Failure:
    """Why something did not work, for whoever asked: a stable code and words. `ends_plan`: the plan that was worked on
    cannot go on, whoever worked on it; its model gave up, or a limit is reached."""

    code: str
    message: str
    ends_plan: bool = False


def content_of(data: JsonObject) -> Json:
    """The result or the error of a reply; an event of another form is what it says itself."""
    if "success" not in data and "result" not in data:
        return data
    return data.get("error") if data.get("success") is False else data.get("result")


def success_reply(result: Json) -> JsonObject:
    return {"success": True, "status": "completed", "result": result}


def failure_reply(code: str, message: str) -> JsonObject:
    error: JsonObject = {"code": code, "message": message}
    return {"success": False, "status": "failed", "error": error}


@dataclass(frozen=True)
class ExpectedReply:
    """What counts as the answer of a request, `event_type` or one of the `others`, and how long it may take."""

    event_type: str
    others: tuple[str, ...] = ()
    timeout: timedelta | None = None
