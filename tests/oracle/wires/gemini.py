"""`generateContent` of Google's Gemini. Its tools are described in OpenAPI's dialect of schemas; a malformed call has a
finish reason of its own, without its text."""

from payloads import Json

from wires.form import (
    DeclineForm,
    End,
    FailedRequest,
    Payload,
    Question,
    ScriptedAnswer,
    Wire,
    WireResponse,
    as_object,
    text_of,
)

_STATUS = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 502: "UNAVAILABLE", 503: "UNAVAILABLE"}
_FINISH = {End.GOOD: "STOP", End.CUT: "MAX_TOKENS", End.FILTERED: "SAFETY"}
_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0s"}


def read(body: Payload) -> Question:
    told = body.get("systemInstruction") or body.get("system_instruction")
    messages = [("system", text_of(told["parts"]))] if told else []
    messages += [(content["role"], text_of(content["parts"])) for content in body["contents"]]
    if body.get("tools"):
        tool = body["tools"][0]
        function = (tool.get("functionDeclarations") or tool["function_declarations"])[0]
        return Question(tuple(messages), as_json_schema(function["parameters"]), function["name"])
    config = body["generationConfig"]
    schema = config.get("responseJsonSchema") or config["response_json_schema"]
    return Question(tuple(messages), schema, None)


def as_json_schema(schema: Payload) -> Payload:
    """Return a schema of OpenAPI's dialect in JSON Schema: types in lower case, null as a type."""
    others = {key: value for key, value in schema.items() if key not in ("nullable", "properties")}
    out = {key: value if key in ("enum", "required") else _within(value) for key, value in others.items()}
    if isinstance(kind := schema.get("type"), str):
        out["type"] = kind.lower()
    if "properties" in schema:
        out["properties"] = {name: _within(value) for name, value in schema["properties"].items()}
    return {"anyOf": [out, {"type": "null"}]} if schema.get("nullable") else out


def _within(value: Json) -> Json:
    """Return the schemas within a value of a schema in JSON Schema."""
    if isinstance(value, list):
        return [_within(item) for item in value]
    return as_json_schema(value) if isinstance(value, dict) else value


def spell(said: ScriptedAnswer, question: Question) -> Payload:
    prompt, completion = said.tokens
    told = {"modelVersion": "gemini-2.5-flash", "responseId": "response-0"}
    if said.end is End.REFUSED:
        usage = {"promptTokenCount": prompt, "totalTokenCount": prompt}
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage, **told}
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": completion, "totalTokenCount": prompt + completion}
    return {"candidates": [{**_candidate(said, question), "index": 0}], "usageMetadata": usage, **told}


def _candidate(said: ScriptedAnswer, question: Question) -> Payload:
    called = as_object(said.text) if question.tool and said.end is End.GOOD else None
    if called is not None:
        call = {"functionCall": {"name": question.tool, "args": called}}
        return {"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}
    if _is_malformed_call(said, question):
        told = f"Malformed function call: {said.text}"
        return {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": told}
    carried = carry(said, question)
    parts = {"parts": [{"text": carried}]} if carried else {}
    return {"content": {"role": "model", **parts}, "finishReason": _FINISH[said.end]}


def carry(said: ScriptedAnswer, question: Question) -> str:
    """Return nothing for a cut or malformed call."""
    lost = question.tool and (said.end is not End.GOOD or _is_malformed_call(said, question))
    return "" if lost else said.text


def _is_malformed_call(said: ScriptedAnswer, question: Question) -> bool:
    """Tell whether it begins like arguments, and is invalid."""
    begun = said.text.startswith("{") and as_object(said.text) is None
    return bool(question.tool) and said.end is End.GOOD and begun


def fail(failed: FailedRequest) -> WireResponse:
    """Put the delay of a retry in the body, as for 429, and in no header."""
    status = 503 if failed.status == 502 else failed.status
    error: Payload = {"code": status, "message": failed.message, "status": _STATUS[status]}
    if status == 429:
        return WireResponse({"error": {**error, "details": [_RETRY]}}, status)
    return WireResponse({"error": error}, status, {"retry-after": "0"})


WIRE = Wire(
    model="gemini/gemini-2.5-flash",
    base="/v1beta",
    path=":generateContent",
    read=read,
    spell=spell,
    fail=fail,
    carry=carry,
    declines=(
        DeclineForm(ScriptedAnswer("", End.FILTERED), "content_filtered", "filtered"),
        DeclineForm(ScriptedAnswer("", End.REFUSED), "content_filtered", "filtered"),
    ),
)
