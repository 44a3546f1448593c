"""Cached tokens of a prompt, in each provider's form: counted, and priced as cached."""

import json
from typing import Any

import pytest
from model_kit import DECISION, MODEL, SAID, always, question, reasoner

from soorma_ai.adapters.models.bodies import MOST_TOKENS, Usage, read_body
from soorma_ai.adapters.models.prices import Price, price_in
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.model_server import ModelServer, Reply

SONNET = "anthropic/claude-sonnet-4-5"


def openai(**usage: object) -> str:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}
    told = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100, **usage}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**head, "choices": [choice], "usage": told})


def anthropic(**usage: object) -> str:
    content = [{"type": "text", "text": SAID}]
    head = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": content}
    return json.dumps({**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage})


def gemini(**usage: object) -> str:
    candidate = {"content": {"role": "model", "parts": [{"text": SAID}]}, "finishReason": "STOP", "index": 0}
    return json.dumps({"candidates": [candidate], "usageMetadata": usage})


CACHED = {"cache_read_input_tokens": 600, "cache_creation_input_tokens": 300}
FORMS: dict[str, tuple[str, str, Usage]] = {
    "openai": (MODEL, openai(prompt_tokens_details={"cached_tokens": 600}), Usage(1000, 100, 600)),
    "deepseek": (
        "deepseek/deepseek-chat",
        openai(prompt_cache_hit_tokens=600, prompt_cache_miss_tokens=400),
        Usage(1000, 100, 600),
    ),
    "anthropic": (SONNET, anthropic(input_tokens=100, output_tokens=100, **CACHED), Usage(1000, 100, 600, 300)),
    "gemini": (
        "gemini/gemini-2.5-flash",
        gemini(promptTokenCount=1000, candidatesTokenCount=100, cachedContentTokenCount=600),
        Usage(1000, 100, 600),
    ),
}


@pytest.mark.parametrize("way", ["litellm", "direct"])
@pytest.mark.parametrize("form", [*FORMS])
async def test_cached_tokens_are_counted_and_cost_less(form: str, way: str) -> None:
    model, raw, usage = FORMS[form]
    if way == "direct" and form not in ("openai", "deepseek"):
        way = "litellm"
    with ModelServer(always(Reply(raw=raw))) as server:
        answer = await reasoner(server, model, transport=way, api_key="key", mode="json_schema").ask(question())
        dearest = reasoner(server, model, transport=way).cost_of(1000, 100)
    assert (answer.value, answer.paid[:2], answer.cached_tokens) == (DECISION, usage[:2], usage.cached_tokens)
    assert answer.cost_usd is not None and dearest is not None
    assert 0 < answer.cost_usd < dearest


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        *((raw, usage) for _, raw, usage in FORMS.values()),
        (openai(prompt_tokens_details={"cached_tokens": -5}), Usage(1000, 100)),
        (openai(prompt_tokens_details={"cached_tokens": 10**400}), Usage(1000, 100)),
        (openai(prompt_tokens_details={"cached_tokens": 5000}), Usage(1000, 100, 1000)),
        (openai(prompt_tokens_details=[1], prompt_cache_hit_tokens="many"), Usage(1000, 100)),
        (openai(prompt_tokens=MOST_TOKENS + 1), None),
        (openai(prompt_tokens=True), None),
        (anthropic(input_tokens=10, output_tokens=5), Usage(10, 5)),
        (anthropic(output_tokens=5, **CACHED), None),
    ],
)
def test_cached_tokens_are_bounded_by_the_tokens_of_the_prompt(raw: str, usage: Usage | None) -> None:
    body = read_body(raw)
    assert body is not None
    assert body.usage == usage


def test_each_kind_of_token_has_its_price_or_the_common_one() -> None:
    usage = Usage(1000, 100, 600, 300)
    assert Price(1.0, 10.0).cost(usage) == 2000
    assert Price(1.0, 10.0, cached=0.1, written=1.25).cost(usage) == 100 + 60 + 375 + 1000
    entry: JsonObject = {"input_cost_per_token": 1.0, "cache_read_input_token_cost": 0.5}
    assert price_in({"m": entry}, "of/m") == Price(1.0, 0.0, cached=0.5)
    assert price_in({"m": {"output_cost_per_token": 1.0}}, "of/m") is None


@pytest.mark.parametrize("mode", ["json_schema", "tools"])
async def test_anthropic_gets_a_cache_mark_and_openai_none(mode: str) -> None:
    asked: dict[str, Any] = {}
    with ModelServer(always(Reply(SAID))) as server:
        for model in (SONNET, MODEL):
            await reasoner(server, model, mode=mode, api_key="key").ask(question())
            asked[model] = json.dumps(server.requests[-1])
    assert asked[SONNET].count('"cache_control"') == 1
    (system,) = json.loads(asked[SONNET])["system"]
    assert (system["text"], system["cache_control"]) == ("You decide.", {"type": "ephemeral"})
    assert "cache_control" not in asked[MODEL]
