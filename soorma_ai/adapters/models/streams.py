"""Streams without a request for one: their pieces become the body of a whole answer."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from soorma_ai.adapters.models.bodies import Body
from soorma_ai.adapters.models.openai_answers import answer_in
from soorma_ai.adapters.models.transport import ProviderAnswer
from soorma_ai.kernel.domain.values import Json, JsonObject, follow
from soorma_ai.kernel.rules.schemas.combine import list_in, object_in

_MARKS = ("data:", "event:", ":")


def is_stream(text: str) -> bool:
    return text.startswith(_MARKS)


def values_in(text: str) -> Iterator[Json]:
    """Yield the JSON of a body; of a stream, that of each event; of several lines, that of each."""
    if is_stream(text):
        lines: Sequence[str] = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    else:
        lines = [text]
    found = [*_parse(lines)]
    yield from found if found or len(lines) > 1 else _parse(text.splitlines())


def assemble(pieces: Iterable[Json]) -> JsonObject | None:
    """Return the body of the pieces of a stream; None for anything else. A broken stream has no end."""
    told = [piece for piece in pieces if isinstance(piece, dict)]
    if any(isinstance(piece.get("choices"), list) for piece in told):
        return _openai(told)
    if any(piece.get("type") == "message_start" for piece in told):
        return _anthropic(told)
    if any(isinstance(piece.get("candidates"), list) for piece in told):
        return _gemini(told)
    if any(isinstance(piece.get("done"), bool) for piece in told):
        return _ollama(told)
    return None


def answer_of(body: Body) -> ProviderAnswer | None:
    """Return the answer in a body; None for a form with streams that are no text."""
    message: JsonObject = body.content
    match body.form:
        case "openai":
            return answer_in(body)
        case "anthropic":
            parts = [object_in(part) for part in list_in(message.get("content"))]
            calls = [(str(part.get("name")), str(part.get("partial"))) for part in parts if "name" in part]
            texts = [str(part.get("text")) for part in parts if part.get("type") == "text"]
        case "gemini":
            parts = [object_in(part) for part in list_in(follow(message, ["candidates", 0, "content", "parts"], None))]
            functions = [object_in(part.get("functionCall")) for part in parts if "functionCall" in part]
            calls = [(str(one.get("name")), json.dumps(one.get("args"))) for one in functions]
            texts = [str(part["text"]) for part in parts if "text" in part and not part.get("thought")]
        case "ollama":
            told = object_in(message.get("message"))
            functions = [object_in(object_in(call).get("function")) for call in list_in(told.get("tool_calls"))]
            calls = [(str(one.get("name")), json.dumps(one.get("arguments"))) for one in functions]
            texts = [str(told.get("content") or "")]
        case "bedrock" | "other":
            return None
    return ProviderAnswer(body, ("".join(texts),), (*calls,))


def _parse(lines: Iterable[str]) -> Iterator[Json]:
    for line in lines:
        try:
            yield cast(Json, json.loads(line))
        except (ValueError, RecursionError):
            continue


def _openai(pieces: Sequence[JsonObject]) -> JsonObject:
    choices: dict[Json, _Choice] = {}
    usage: Json = None
    for piece in pieces:
        usage = piece.get("usage") or usage
        for one in list_in(piece.get("choices")):
            if isinstance(one, dict):
                number = one.get("index", 0)
                choices.setdefault(number if isinstance(number, int) else 0, _Choice()).add(one)
    made: list[Json] = [choices[number].whole() for number in choices]
    return {"choices": made, "usage": usage}


class _Choice:
    """One choice of OpenAI's wire format, as its pieces come."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._calls: dict[int, JsonObject] = {}
        self._finish: Json = None

    def add(self, piece: JsonObject) -> None:
        self._finish = piece.get("finish_reason") or self._finish
        delta = object_in(piece.get("delta")) or object_in(piece.get("message"))
        for name, texts in self._texts.items():
            if isinstance(text := delta.get(name), str):
                texts.append(text)
        for place, call in enumerate(list_in(delta.get("tool_calls"))):
            if isinstance(call, dict):
                number = call.get("index", place)
                self._add_call(number if isinstance(number, int) else place, object_in(call.get("function")))

    def _add_call(self, number: int, function: JsonObject) -> None:
        call = self._calls.setdefault(number, {"name": "", "arguments": ""})
        for name in ("name", "arguments"):
            call[name] = f"{call[name]}{function.get(name) or ''}"

    def whole(self) -> JsonObject:
        said: JsonObject = {name: "".join(texts) for name, texts in self._texts.items() if texts}
        calls: list[Json] = [{"function": call} for call in self._calls.values()]
        return {"message": {**said, **({"tool_calls": calls} if calls else {})}, "finish_reason": self._finish}


def _anthropic(pieces: Sequence[JsonObject]) -> JsonObject:
    usage: JsonObject = {}
    stop: Json = None
    blocks: dict[Json, JsonObject] = {}
    for piece in pieces:
        delta = object_in(piece.get("delta"))
        match piece.get("type"):
            case "message_start":
                usage = object_in(object_in(piece.get("message")).get("usage"))
            case "content_block_start":
                block = object_in(piece.get("content_block"))
                blocks[str(piece.get("index"))] = {**block, "text": block.get("text") or "", "partial": ""}
            case "content_block_delta":
                block = blocks.setdefault(str(piece.get("index")), {"type": "text", "text": "", "partial": ""})
                block["text"] = f"{block['text']}{delta.get('text') or ''}"
                block["partial"] = f"{block['partial']}{delta.get('partial_json') or ''}"
            case "message_delta":
                stop = delta.get("stop_reason") or stop
                usage = {**usage, **object_in(piece.get("usage"))}
            case _:
                pass
    return {"content": [*blocks.values()], "stop_reason": stop, "usage": usage}


def _gemini(pieces: Sequence[JsonObject]) -> JsonObject:
    parts: list[Json] = []
    finish: Json = None
    for piece in pieces:
        for one in list_in(piece.get("candidates"))[:1]:
            if isinstance(one, dict):
                parts += list_in(object_in(one.get("content")).get("parts"))
                finish = one.get("finishReason") or finish
    last = next((piece["usageMetadata"] for piece in reversed(pieces) if "usageMetadata" in piece), None)
    return {"candidates": [{"content": {"parts": parts}, "finishReason": finish}], "usageMetadata": last}


def _ollama(pieces: Sequence[JsonObject]) -> JsonObject:
    messages = [object_in(piece.get("message")) for piece in pieces]
    calls: list[Json] = [call for message in messages for call in list_in(message.get("tool_calls"))]
    content = "".join(str(message.get("content") or "") for message in messages)
    return {**pieces[-1], "message": {"content": content, "tool_calls": calls}}
