"""Answers in OpenAI's wire format, in every spelling that servers have for them."""

import json
from collections.abc import Iterator

from soorma_ai.adapters.models.bodies import Body
from soorma_ai.adapters.models.transport import ProviderAnswer
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.combine import list_in, object_in


def answer_in(body: Body) -> ProviderAnswer:
    """Return the answer in a body of OpenAI's wire format."""
    messages = [_message(choice) for choice in list_in(body.content["choices"]) if isinstance(choice, dict)]
    return ProviderAnswer(
        body,
        contents=tuple(_text(message.get("content"), "text") for message in messages),
        calls=tuple(call for message in messages for call in _calls(message)),
        refusal=next((said for message in messages if (said := _refusal(message))), ""),
    )


def _message(choice: JsonObject) -> JsonObject:
    return object_in(choice.get("message"))


def _text(content: Json, kind: str) -> str:
    """Return the text of a message. It may come in parts, beside thoughts and parts of other kinds."""
    if isinstance(content, str):
        return content if kind == "text" else ""
    parts = [part for part in list_in(content) if isinstance(part, dict) and part.get("type") == kind]
    return "".join(str(part.get(kind) or "") for part in parts)


def _refusal(message: JsonObject) -> str:
    said = message.get("refusal")
    return said if isinstance(said, str) else _text(message.get("content"), "refusal")


def _calls(message: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the calls of a message. A tool of the provider's own kind has no function, and a name that is none of
    ours."""
    called = [call for call in list_in(message.get("tool_calls")) if isinstance(call, dict)]
    functions = [call.get("function") or _custom(call) for call in called]
    older = message.get("function_call")  # some spell an empty one where there is none
    for function in [*functions, *([older] if isinstance(older, dict) and older.get("name") else [])]:
        if isinstance(function, dict):
            arguments = function.get("arguments")
            yield str(function.get("name") or ""), arguments if isinstance(arguments, str) else _arguments(arguments)


def _custom(call: JsonObject) -> JsonObject | None:
    custom = call.get("custom")
    if not isinstance(custom, dict):
        return None
    return {"name": f"custom {custom.get('name') or 'tool'}", "arguments": custom.get("input")}


def _arguments(given: Json) -> str:
    return "" if given is None else json.dumps(given)
