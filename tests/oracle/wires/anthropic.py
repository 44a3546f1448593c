"""Anthropic's Messages API. Arguments of a call are an object there; anything else arrives as text."""

from typing import Any

from wires.form import (
    DECLINED,
    DeclineForm,
    End,
    FailedRequest,
    Payload,
    Question,
    ScriptedAnswer,
    Wire,
    WireResponse,
    as_object,
    say_all,
    text_of,
)

_FINISH = {End.GOOD: "end_turn", End.CUT: "max_tokens", End.REFUSED: "refusal"}
_KINDS = {400: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
_OVERLOADED = (502, 503)
_FILTERED = "Output blocked by content filtering policy"


def read(body: Payload) -> Question:
    told = [("system", text_of(body["system"]))] if body.get("system") else []
    messages = (*told, *((message["role"], text_of(message["content"])) for message in body["messages"]))
    if body.get("tools"):
        return Question(messages, body["tools"][0]["input_schema"], body["tools"][0]["name"])
    form = body.get("output_format") or body["output_config"]["format"]
    return Question(messages, form["schema"], None)


def spell(said: ScriptedAnswer, question: Question) -> Payload:
    content: list[Any] = [{"type": "text", "text": said.text}] if said.text.strip() else []
    finish = _FINISH[said.end]
    if question.tool and said.end in (End.GOOD, End.CUT):
        called = as_object(said.text) if said.end is End.GOOD else {}
        if called is not None:
            content = [{"type": "tool_use", "id": "toolu_0", "name": question.tool, "input": called}]
            finish = "tool_use" if said.end is End.GOOD else finish
    prompt, completion = said.tokens
    usage = {"input_tokens": prompt, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content,
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": completion, "service_tier": "standard"},
    }


def fail(failed: FailedRequest) -> WireResponse:
    status = 529 if failed.status in _OVERLOADED else failed.status
    error = {"type": _KINDS[status], "message": failed.message}
    return WireResponse({"type": "error", "error": error, "request_id": "req_0"}, status, {"retry-after": "0"})


WIRE = Wire(
    model="anthropic/claude-sonnet-4-5",
    base="",
    path="/v1/messages",
    read=read,
    spell=spell,
    fail=fail,
    carry=say_all,
    declines=(
        DeclineForm(ScriptedAnswer(DECLINED, End.REFUSED), "model_refused", DECLINED),
        DeclineForm(FailedRequest(400, _FILTERED), "content_filtered", "filtered"),
    ),
)
