"""A server that speaks OpenAI's wire format is called without litellm: what it is sent, what only this way can read."""

import json
import subprocess
import sys
from typing import Any

import pytest
from model_kit import DECISION, MODEL, SAID, SCHEMA, always, question, reasoner

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.direct.transport import MOST_BYTES
from soorma_ai.errors import (
    ConfigError,
    ContentFiltered,
    ModelBlocked,
    ModelRefused,
    ModelUnavailable,
    RateLimited,
    SoormaError,
    UnreadableAnswer,
)
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Message, ModelQuestion
from soorma_ai.testing.model_server import ModelServer, Reply

OPEN: JsonObject = {"type": "object"}


@pytest.mark.parametrize("mode", ["json_schema", "tools"])
async def test_both_ways_send_the_same_body_to_openai(mode: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        for way in ("litellm", "direct"):
            model = reasoner(server, transport=way, mode=mode, temperature=0.5, seed=7)
            await model.ask(question("What, \u00fc or \u4e16?"))
    first, second = server.requests
    assert first == second


@pytest.mark.parametrize("name", ["json", "md_json"])
async def test_where_nothing_else_works_the_schema_is_told_in_words(name: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        alone = ModelQuestion((Message("user", "What?"),), SCHEMA)
        for asked in (question(), alone):
            assert (await reasoner(server, transport="direct", mode=name).ask(asked)).value == DECISION
    for request in server.requests:
        first = request["messages"][0]
        assert (first["role"], json.loads(first["content"].rpartition("\n")[2])["type"]) == ("system", "object")


async def test_what_is_no_unicode_is_sent_all_the_same() -> None:
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, transport="direct").ask(question("half of one: \ud800"))
    assert server.requests[0]["messages"][1]["content"] == "half of one: \ud800"


def body(message: Json, **more: Json) -> Reply:
    choice: JsonObject = {"finish_reason": "stop", "message": message}
    return Reply(raw=json.dumps({"choices": [choice], **more}))


@pytest.mark.parametrize(
    "reply",
    [
        body({"content": SAID}),
        body({"content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": SAID}]}),
        body({"content": SAID, "annotations": [{"type": "unheard_of"}], "tool_calls": None}, usage={"strange": [1]}),
        body({"content": SAID}, error=None, service_tier={"of": "another kind"}),
        Reply(raw=f"\ufeff\n\n{body({'content': SAID}).raw}"),
    ],
)
async def test_an_answer_is_read_by_what_it_holds_and_not_by_what_it_lacks(reply: Reply) -> None:
    with ModelServer(always(reply)) as server:
        answer = await reasoner(server, transport="direct").ask(question())
    assert (answer.value, answer.ending, answer.uncounted) == (DECISION, Ending.GOOD, 1)


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [{"id": "", "function": {"name": "Decision", "arguments": SAID}}]},
        {"tool_calls": [{"function": {"name": "Decision", "arguments": DECISION}}]},
        {"function_call": {"name": "Decision", "arguments": SAID}},
    ],
)
async def test_a_call_is_read_in_every_spelling(message: JsonObject) -> None:
    with ModelServer(always(body(message))) as server:
        answer = await reasoner(server, transport="direct", mode="tools").ask(question())
    assert answer.value == DECISION


STREAM = 'data: {"choices": [{"delta": {"content": "{"}}]}\n\ndata: {"error": {"message": "%s", "code": %d}}\n\n'


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(raw='{"error": {"message": "slow down", "code": 429}}'), RateLimited),
        (Reply(raw='{"error": {"message": "bad key", "code": 401}}'), ModelBlocked),
        (Reply(raw='{"error": {"message": "no", "code": "content_filter"}}'), ContentFiltered),
        (Reply(raw='{"error": "overloaded"}'), ModelUnavailable),
        (Reply(raw=STREAM % ("slow down", 429)), RateLimited),
        (Reply(raw=STREAM % ("boom", 502)), ModelUnavailable),
        (Reply(raw='data: {"choices": []}\n\ndata: [DONE]\n\n'), UnreadableAnswer),
        (Reply(raw='[{"error": {"code": 404, "message": "gone"}}]', status=404), ModelBlocked),
        (Reply(raw='{"object": "error", "message": "Invalid schema", "code": 400}', status=400), ConfigError),
        (Reply(raw="[" * 100_000), UnreadableAnswer),
        (Reply(raw=b"\xff\xfe"), UnreadableAnswer),
        (Reply(raw='{"choices": {}}'), UnreadableAnswer),
        (Reply(raw='{"choices": [1, null]}'), UnreadableAnswer),
        (body({"content": [{"type": "refusal", "refusal": "no"}]}), ModelRefused),
        (Reply(raw="", status=302, headers={"location": "https://elsewhere.example/"}), ModelBlocked),
        (Reply(raw=b"x" * (MOST_BYTES + 1)), ModelUnavailable),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_an_error_is_one_whatever_it_comes_as(reply: Reply, error: type[SoormaError]) -> None:
    with ModelServer(always(reply)) as server, pytest.raises(SoormaError) as raised:
        await reasoner(server, transport="direct").ask(question())
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("model", "settings", "is_direct"),
    [
        (MODEL, {}, True),
        (MODEL, {"seed": 7, "extra_body": {"top_k": 3}}, True),
        (MODEL, {"drop_params": True}, False),
        ("hosted_vllm/any", {}, True),
        ("openai/responses/gpt-5", {}, False),
        ("groq/llama", {}, False),
        ("groq/llama", {"api_base": "http://127.0.0.1:9"}, True),
        ("azure/gpt-4o", {"api_base": "http://127.0.0.1:9"}, False),
        ("anthropic/claude-sonnet-4-5", {}, False),
        ("gpt-4o", {}, False),
    ],
)
def test_who_is_called_without_litellm(model: str, settings: dict[str, object], is_direct: bool) -> None:
    if is_direct:
        LiteLLMReasoner(model, transport="direct", **settings)
    else:
        with pytest.raises(ConfigError, match="transport='direct' cannot reach"):
            LiteLLMReasoner(model, transport="direct", **settings)


async def test_headers_and_fields_of_the_callers_own_are_sent() -> None:
    with ModelServer(always(Reply(SAID))) as server:
        model = reasoner(server, extra_body={"top_k": 3}, extra_headers={"x-team": "a"})
        await model.ask(question())
    assert server.requests[0]["top_k"] == 3
    assert "extra_headers" not in server.requests[0]


@pytest.mark.parametrize(("model", "name"), [(MODEL, "max_tokens"), ("openai/gpt-5-mini", "max_completion_tokens")])
async def test_the_room_is_told_by_the_name_that_the_model_knows(model: str, name: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, model, transport="direct", max_output_tokens=50).ask(question())
    assert {key: value for key, value in server.requests[0].items() if key.startswith("max_")} == {name: 50}


@pytest.mark.parametrize(("model", "told"), [(MODEL, True), ("openai/o3-mini", False), ("hosted_vllm/o3", True)])
async def test_a_model_that_calls_one_tool_at_a_time_anyway_is_not_told_to(model: str, told: bool) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, model, transport="direct", mode="tools").ask(question())
    assert ("parallel_tool_calls" in server.requests[0]) is told


@pytest.mark.parametrize("base", ["not an address", "ftp://127.0.0.1/v1", "http://[::1"])
async def test_an_address_that_is_none_is_named(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOORMA_MODEL_CALLS")  # an address that is none cannot be called
    with pytest.raises(ConfigError, match="api_base"):
        await LiteLLMReasoner("hosted_vllm/any", api_base=base).ask(question())


async def test_a_server_that_nobody_has_placed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    monkeypatch.delenv("SOORMA_MODEL_CALLS", raising=False)
    with pytest.raises(ConfigError, match="api_base="):
        LiteLLMReasoner("hosted_vllm/any").check()
    with pytest.raises(ConfigError, match="api_base="):
        await LiteLLMReasoner("hosted_vllm/any").ask(question())


async def test_a_key_that_no_header_can_hold_is_not_repeated() -> None:
    with ModelServer(always(Reply(SAID))) as server, pytest.raises(ConfigError) as told:
        await reasoner(server, api_key="k\u00e9y-of-somebody").ask(question())
    assert "somebody" not in str(told.value)


@pytest.mark.parametrize("price", [(-1, 0), (1,), "free", (float("nan"), 0), (True, 0)])
def test_a_price_that_is_none_is_refused(price: Any) -> None:
    with pytest.raises(ConfigError, match="price="):
        LiteLLMReasoner(MODEL, price=price)


async def test_a_price_that_is_given_counts() -> None:
    with ModelServer(always(Reply(SAID, usage=(1000, 100)))) as server:
        model = reasoner(server, "hosted_vllm/any", price=(0.001, 0.01))
        assert model.cost_of(1, 1) == pytest.approx(0.011)
        assert (await model.ask(question())).cost_usd == pytest.approx(2.0)


async def test_a_value_that_is_asked_for_as_text_comes_back_as_the_document_has_it() -> None:
    step: JsonObject = {"type": "object", "properties": {"action": {"const": "complete"}, "result": OPEN}}
    schema: JsonObject = {"type": "object", "properties": {"step": {**step, "required": ["action", "result"]}}}
    said = {"step": {"action": "complete", "result": '{"total": 3}'}}
    meant = {"step": {"action": "complete", "result": {"total": 3}}}
    with ModelServer(always(Reply(json.dumps(said)))) as server:
        answer = await reasoner(server).ask(question(schema={**schema, "required": ["step"]}))
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is True
    assert (answer.value, answer.text) == (meant, json.dumps(said))


def test_neither_litellm_nor_instructor_is_loaded_for_it() -> None:
    program = """
import asyncio, sys
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.kernel.ports import Message, ModelQuestion
schema = {"type": "object", "properties": {}}
model = LiteLLMReasoner("openai/gpt-4o", api_base=sys.argv[1])
model.check(), model.cost_of(1, 1), model.provider
asyncio.run(model.ask(ModelQuestion((Message("user", "x"),), schema)))
print({"litellm", "instructor", "openai"} & sys.modules.keys())
"""
    with ModelServer(always(Reply(SAID))) as server:
        command = [sys.executable, "-c", program, server.url]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "set()"
