"""OpenAI's chat completions, also used by many other providers."""

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
    say_all,
    text_of,
)

_FINISH = {End.GOOD: "stop", End.CUT: "length", End.REFUSED: "stop", End.FILTERED: "content_filter"}


def read(body: Payload) -> Question:
    messages = tuple((message["role"], text_of(message["content"])) for message in body["messages"])
    if body.get("tools"):
        function = body["tools"][0]["function"]
        return Question(messages, function["parameters"], function["name"])
    return Question(messages, body["response_format"]["json_schema"]["schema"], None)


def spell(said: ScriptedAnswer, question: Question) -> Payload:
    message: Payload = {"role": "assistant", "content": said.text, "refusal": None, "annotations": []}
    finish = _FINISH[said.end]
    if said.end is End.REFUSED:
        message |= {"content": None, "refusal": said.text}
    elif question.tool and said.end is not End.FILTERED:
        function = {"name": question.tool, "arguments": said.text}
        message |= {"content": None, "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}
        finish = "tool_calls" if said.end is End.GOOD else finish
    prompt, completion = said.tokens
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": usage,
        "service_tier": "default",
        "system_fingerprint": "fp_0",
    }


def fail(failed: FailedRequest) -> WireResponse:
    kind, code = "invalid_request_error", None
    if failed.status == 429:
        kind, code = "requests", "rate_limit_exceeded"
    elif failed.status >= 500:
        kind = "server_error"
    error = {"message": failed.message, "type": kind, "param": None, "code": code}
    return WireResponse({"error": error}, failed.status, {"retry-after": "0"})


WIRE = Wire(
    model="openai/gpt-4o",
    base="/v1",
    path="/chat/completions",
    read=read,
    spell=spell,
    fail=fail,
    carry=say_all,
    declines=(
        DeclineForm(ScriptedAnswer(DECLINED, End.REFUSED), "model_refused", DECLINED),
        DeclineForm(ScriptedAnswer("", End.FILTERED), "content_filtered", "filtered"),
    ),
)
