import json
from typing import Any, Literal

import pytest

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.domain.values import JsonObject
from soorma_ai.ports import Message, ModelQuestion
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
    """Each reply once; a request too many fails the test."""
    left = list(replies)

    def respond(_: JsonObject) -> Reply:
        assert left, f"asked more often than the {len(replies)} replies"
        return left.pop(0)

    return respond


class Pauses:
    """A sleep that does not: `taken` are the waits that were asked for."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def reasoner(server: ModelServer, model: str = MODEL, **options: Any) -> LiteLLMReasoner:
    options.setdefault("sleep", Pauses())
    return LiteLLMReasoner(model, api_base=server.url, **options)
