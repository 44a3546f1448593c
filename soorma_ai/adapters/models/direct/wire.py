"""OpenAI's wire format: a question as bytes, and the answer of any server."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from soorma_ai.adapters.models.bodies import body_of
from soorma_ai.adapters.models.direct.providers import may_call_several, room_of
from soorma_ai.adapters.models.faults import CallFailure
from soorma_ai.adapters.models.forms import ANSWER, AnswerForm
from soorma_ai.adapters.models.openai_answers import answer_in
from soorma_ai.adapters.models.streams import assemble, is_stream, values_in
from soorma_ai.adapters.models.transport import ProviderAnswer, ProviderCall
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, clip, identity_of
from soorma_ai.kernel.ports import Mode
from soorma_ai.kernel.rules.schemas.portable import Wire

_TOLD = "Answer with one JSON object that fits this JSON Schema, and with nothing else:\n"
_MOST_OF_A_FAULT = 20_000


def write(call: ProviderCall) -> bytes:
    """Return the body of a request; the schema in it is spliced in as it is kept."""
    messages: list[Json] = [{"role": message.role, "content": message.content} for message in call.messages]
    if call.form.mode in ("json", "md_json"):
        messages = _tell_schema(messages, call.form.wire.text)
    given: Mapping[str, Any] = {key: value for key, value in call.extra.items() if not key.startswith("extra_")}
    body: JsonObject = {
        "model": call.model.partition("/")[2],
        "messages": messages,
        call.room_name or room_of(call.model): call.room,
        **given,
        **(call.extra.get("extra_body") or {}),
    }
    several = b',"parallel_tool_calls":false' if call.form.mode == "tools" and may_call_several(call.model) else b""
    return _spell(body).encode()[:-1] + _tail(identity_of(call.form.wire), call.form.mode) + several + b"}"


@lru_cache(maxsize=64)
def _tail(wire: Same[Wire], mode: Mode) -> bytes:
    """Return the part of a body that asks for an answer by the schema."""
    match mode:
        case "json_schema":
            exact = f'{{"name":"{ANSWER}","schema":{wire().text},"strict":{_spell(wire().strict)}}}'
            tail = f',"response_format":{{"type":"json_schema","json_schema":{exact}}}'
        case "tools":
            described = f'"name":"{ANSWER}","description":{_spell(AnswerForm(mode, wire()).about)}'
            held = ',"strict":true' if wire().strict else ""
            called = f'{{"type":"function","function":{{{described},"parameters":{wire().text}{held}}}}}'
            tail = f',"tools":[{called}],"tool_choice":"required"'
        case "json":
            tail = ',"response_format":{"type":"json_object"}'
        case "md_json":
            tail = ""
    return tail.encode()


def _spell(value: Json) -> str:
    """Return JSON in ASCII, since ASCII also spells lone surrogates."""
    return json.dumps(value, separators=(",", ":"))


def _tell_schema(messages: list[Json], schema: str) -> list[Json]:
    first, *others = messages
    if isinstance(first, dict) and first.get("role") == "system":
        return [{**first, "content": f"{first['content']}\n\n{_TOLD}{schema}"}, *others]
    return [{"role": "system", "content": f"{_TOLD}{schema}"}, *messages]


def read(status: int, content: bytes, retry_after: str | None) -> ProviderAnswer | CallFailure:
    """Return the answer, or its failure: servers also send errors with a good status, or in a stream."""
    text = content.decode("utf-8", "replace").lstrip("\ufeff").strip()
    chunks = [*values_in(text)]
    error = next((found for chunk in chunks if (found := _error_in(chunk, status))), None)
    value = chunks[0] if len(chunks) == 1 and not is_stream(text) else assemble(chunks)
    body = body_of(value) if error is None and 200 <= status < 300 else None
    if body is None or body.form != "openai":
        code = error.get("code") if error else None
        told = code if isinstance(code, int) and 400 <= code < 600 and 200 <= status < 300 else status
        is_unreadable = error is None and 200 <= status < 300
        said = clip(text, _MOST_OF_A_FAULT)
        return CallFailure(said, told, error or {}, retry_after, is_unreadable=is_unreadable)
    return answer_in(body)


def _error_in(value: Json, status: int) -> JsonObject | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    match value.get("error"):
        case dict() as error if error:
            return error
        case str() as message if message:
            return {"message": message, "code": value.get("code")}
        case _ if not 200 <= status < 300:
            message = value.get("message") or value.get("detail")
            return {"message": message, "code": value.get("code")} if isinstance(message, str) else None
        case _:
            return None
