import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal, Self

import pytest

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Message, ModelQuestion
from soorma_ai.testing.model_server import ModelServer, Reply, Respond

RESULT: JsonObject = {
    "type": "object",
    "properties": {"total": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["total"],
    "additionalProperties": False,
}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "step": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"action": {"const": "complete"}, "result": RESULT},
                    "required": ["action", "result"],
                    "additionalProperties": False,
                }
            ]
        },
    },
    "required": ["reasoning", "step"],
    "additionalProperties": False,
}
DECISION: JsonObject = {"reasoning": "done", "step": {"action": "complete", "result": {"total": 3}}}
SAID = json.dumps(DECISION)
MODEL = "openai/gpt-4o"
Way = Literal["litellm", "direct"]
by_both_ways = pytest.mark.parametrize("way", ["litellm", "direct"])


def question(text: str = "What next?", schema: JsonObject = SCHEMA) -> ModelQuestion:
    return ModelQuestion((Message("system", "You decide."), Message("user", text)), schema)


def always(reply: Reply) -> Respond:
    return lambda _: reply


def in_turn(*replies: Reply) -> Respond:
    """Each reply once; one request more fails the test."""
    left = list(replies)

    def respond(_: JsonObject) -> Reply:
        assert left, f"asked more often than the {len(replies)} replies"
        return left.pop(0)

    return respond


class Pauses:
    """A fake sleep: `taken` are the requested pauses."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def reasoner(server: ModelServer, model: str = MODEL, **options: Any) -> LiteLLMReasoner:
    options.setdefault("sleep", Pauses())
    return LiteLLMReasoner(model, api_base=server.url, **options)


class RawServer:
    """A server on loopback with one reply to every post on every path."""

    def __init__(self, reply: Reply) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                raw = reply.raw or b""
                content = raw.encode() if isinstance(raw, str) else raw
                self.send_response(reply.status)
                for name, value in {**reply.headers, "content-length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
