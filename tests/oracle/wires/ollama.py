"""`/api/chat` of Ollama, and `/api/show`, its description of a model's abilities.

A model there refuses in words only. Its text outside of tool calls is in the content.
"""

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

_MOMENT = "2026-01-01T00:00:00.000000Z"
_SHOWN: Payload = {
    "modelfile": "FROM llama3.1",
    "parameters": 'stop "<|eot_id|>"',
    "template": "{{ if .Tools }}{{ .Tools }}{{ end }}{{ .Prompt }}",
    "details": {"format": "gguf", "family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"},
    "model_info": {"general.architecture": "llama", "llama.context_length": 131072},
    "capabilities": ["completion", "tools"],
    "modified_at": _MOMENT,
}
_IN_WORDS = DeclineForm(
    ScriptedAnswer(DECLINED), "malformed_decision", "no JSON object|no tool was called", insists=True
)


def read(body: Payload) -> Question:
    messages = tuple((message["role"], text_of(message["content"])) for message in body["messages"])
    if body.get("tools"):
        function = body["tools"][0]["function"]
        return Question(messages, function["parameters"], function["name"])
    return Question(messages, body["format"], None)


def spell(said: ScriptedAnswer, question: Question) -> Payload:
    message: Payload = {"role": "assistant", "content": said.text}
    called = as_object(said.text) if question.tool and said.end is End.GOOD else None
    if called is not None:
        message = {"role": "assistant", "content": "", "tool_calls": [_call(question.tool, called)]}
    prompt, completion = said.tokens
    return {
        "model": "llama3.1",
        "created_at": _MOMENT,
        "message": message,
        "done": True,
        "done_reason": "length" if said.end is End.CUT else "stop",
        "total_duration": 2_000_000,
        "load_duration": 100_000,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": 900_000,
        "eval_count": completion,
        "eval_duration": 1_000_000,
    }


def _call(tool: str | None, arguments: Payload) -> Payload:
    return {"function": {"index": 0, "name": tool, "arguments": arguments}}


def fail(failed: FailedRequest) -> WireResponse:
    return WireResponse({"error": failed.message}, failed.status, {"retry-after": "0"})


WIRE = Wire(
    model="ollama_chat/llama3.1",
    base="",
    path="/api/chat",
    read=read,
    spell=spell,
    fail=fail,
    carry=say_all,
    declines=(_IN_WORDS,),
    beside={"/api/show": _SHOWN},
)
