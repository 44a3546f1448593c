"""Runs of AG-UI: inputs, streams, and the protocol's rules of sequence as a table."""

import json
from collections.abc import Callable, Mapping, Sequence
from secrets import token_hex
from typing import Any

import httpx
from ag_ui.core import PROTOCOL_VERSION, Event, EventType, RunAgentInput, UserMessage
from http_kit import OpenStream, client_as, events_in
from pydantic import TypeAdapter
from starlette.applications import Starlette

_EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
# Opening and closing events, with the field that names the pair.
PAIRS: Mapping[str, tuple[str, str]] = {
    "STEP_STARTED": ("STEP_FINISHED", "step_name"),
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", "message_id"),
    "TOOL_CALL_START": ("TOOL_CALL_END", "tool_call_id"),
    "REASONING_START": ("REASONING_END", "message_id"),
}
# Events with a meaning only within a pair.
WITHIN = {"TEXT_MESSAGE_CONTENT": "TEXT_MESSAGE_START", "TOOL_CALL_ARGS": "TOOL_CALL_START"}
ENDS = ("RUN_FINISHED", "RUN_ERROR")
RULES: Mapping[str, Callable[[Sequence[Any]], bool]] = {
    "a run starts first, and once": lambda all_: (
        [k for k, one in enumerate(all_) if _kind(one) == "RUN_STARTED"] == [0]
    ),
    "a run ends last, and once": lambda all_: _places(all_, *ENDS) == [len(all_) - 1],
    "what is opened is closed, by its own name": lambda all_: not _open_at_end(all_),
    "nothing is closed or filled that is not open": lambda all_: not _without_opening(all_),
    "start and end are of one thread and run": lambda all_: (
        len({(one.thread_id, one.run_id) for one in all_ if _kind(one) in ("RUN_STARTED", "RUN_FINISHED")}) == 1
    ),
    "no request or question is open at the last end": lambda all_: _is_interrupt(all_[-1]) or not _left_open(all_),
    "the version is told": lambda all_: getattr(all_[0], "protocol_version", None) == PROTOCOL_VERSION,
}


def broken_rules(events: Sequence[Any]) -> list[str]:
    return [name for name, holds in RULES.items() if not holds(events)]


def run_input(words: str = "", **fields: Any) -> dict[str, Any]:
    """Build the input of a run; `data` are its forwarded properties."""
    said = [UserMessage(id=token_hex(4), content=words)] if words else []
    given = RunAgentInput(
        thread_id=fields.pop("thread_id", "t1"),
        run_id=fields.pop("run_id", None) or token_hex(8),
        messages=fields.pop("messages", said),
        forwarded_props=fields.pop("data", None),
        **fields,
    )
    return given.model_dump(mode="json", by_alias=True)


def resumed(interrupt_id: str, payload: Any = None, *, status: str = "resolved", **metadata: Any) -> dict[str, Any]:
    return {"interruptId": interrupt_id, "status": status, "payload": payload, "metadata": metadata or None}


async def post(served: Starlette, token: str, goal: str, given: Mapping[str, Any], **headers: str) -> httpx.Response:
    async with client_as(served, token) as client:
        return await client.post(f"/v1/ag-ui/{goal}", json=given, headers=headers)


async def run(served: Starlette, token: str, goal: str, given: Mapping[str, Any], **headers: str) -> list[Any]:
    """Return the events of a run up to its end, which keep the rules of the protocol."""
    response = await post(served, token, goal, given, **headers)
    assert response.status_code == 200, response.text
    told = parse(response.text)
    assert broken_rules(told) == []
    return told


def parse(text: str) -> list[Any]:
    return [_EVENTS.validate_json(one["data"]) for one in events_in(text)]


def kinds(events: Sequence[Any]) -> list[str]:
    return [_kind(one) for one in events]


def open_run(served: Starlette, token: str, goal: str, given: Mapping[str, Any]) -> OpenStream:
    body = json.dumps(given).encode()
    return OpenStream(served, f"/v1/ag-ui/{goal}", body=body, authorization=f"Bearer {token}")


def _kind(event: Any) -> str:
    return EventType(event.type).value


def _is_interrupt(event: Any) -> bool:
    return getattr(getattr(event, "outcome", None), "type", "") == "interrupt"


def _left_open(events: Sequence[Any]) -> list[str]:
    last = {one.message_id: one.content["status"] for one in events if _kind(one) == "ACTIVITY_SNAPSHOT"}
    return [name for name, status in last.items() if status in ("in flight", "open")]


def states_of(events: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the types and states of requests and questions, in order."""
    return [(one.activity_type, one.content["status"]) for one in events if _kind(one) == "ACTIVITY_SNAPSHOT"]


def _places(events: Sequence[Any], *wanted: str) -> list[int]:
    return [place for place, one in enumerate(events) if _kind(one) in wanted]


def _open_at_end(events: Sequence[Any]) -> set[tuple[str, str]]:
    opened, _ = _walk(events)
    return opened


def _without_opening(events: Sequence[Any]) -> list[str]:
    _, strays = _walk(events)
    return strays


def _walk(events: Sequence[Any]) -> tuple[set[tuple[str, str]], list[str]]:
    closing = {end: (start, field) for start, (end, field) in PAIRS.items()}
    opened, strays = set[tuple[str, str]](), list[str]()
    for event in events:
        kind = _kind(event)
        if kind in PAIRS:
            opened.add((kind, getattr(event, PAIRS[kind][1])))
        elif kind in closing:
            start, field = closing[kind]
            pair = (start, getattr(event, field))
            strays += [] if pair in opened else [kind]
            opened.discard(pair)
        elif kind in WITHIN and (WITHIN[kind], getattr(event, PAIRS[WITHIN[kind]][1])) not in opened:
            strays.append(kind)
    return opened, strays
