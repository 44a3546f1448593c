"""Direct calls of servers with OpenAI's wire format, without litellm: requests, and answers read by this way alone."""

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
async def test_both_transports_send_the_same_body_to_openai(mode: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        for way in ("litellm", "direct"):
            model = reasoner(server, transport=way, mode=mode, temperature=0.5, seed=7)
            await model.ask(question("What, \u00fc or \u4e16?"))
    first, second = server.requests
    assert first == second


@pytest.mark.parametrize("name", ["json", "md_json"])
async def test_in_json_modes_the_schema_is_in_the_system_message(name: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        alone = ModelQuestion((Message("user", "What?"),), SCHEMA)
        for asked in (question(), alone):
            assert (await reasoner(server, transport="direct", mode=name).ask(asked)).value == DECISION
    for request in server.requests:
        first = request["messages"][0]
        assert (first["role"], json.loads(first["content"].rpartition("\n")[2])["type"]) == ("system", "object")


async def test_text_beyond_unicode_is_sent_unchanged() -> None:
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
async def test_an_answer_is_read_despite_missing_and_unknown_fields(reply: Reply) -> None:
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
async def test_a_tool_call_is_read_in_every_form(message: JsonObject) -> None:
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
async def test_an_error_has_its_class_in_every_form(reply: Reply, error: type[SoormaError]) -> None:
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
def test_models_with_openais_wire_format_are_called_without_litellm(
    model: str, settings: dict[str, object], is_direct: bool
) -> None:
    if is_direct:
        LiteLLMReasoner(model, transport="direct", **settings)
    else:
        with pytest.raises(ConfigError, match="transport='direct' cannot reach"):
            LiteLLMReasoner(model, transport="direct", **settings)


async def test_extra_headers_and_fields_of_the_caller_are_sent() -> None:
    with ModelServer(always(Reply(SAID))) as server:
        model = reasoner(server, extra_body={"top_k": 3}, extra_headers={"x-team": "a"})
        await model.ask(question())
    assert server.requests[0]["top_k"] == 3
    assert "extra_headers" not in server.requests[0]


@pytest.mark.parametrize(("model", "name"), [(MODEL, "max_tokens"), ("openai/gpt-5-mini", "max_completion_tokens")])
async def test_the_token_limit_has_the_field_name_of_its_model(model: str, name: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, model, transport="direct", max_output_tokens=50).ask(question())
    assert {key: value for key, value in server.requests[0].items() if key.startswith("max_")} == {name: 50}


@pytest.mark.parametrize(("model", "told"), [(MODEL, True), ("openai/o3-mini", False), ("hosted_vllm/o3", True)])
async def test_parallel_tool_calls_is_left_out_for_models_that_refuse_it(model: str, told: bool) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, model, transport="direct", mode="tools").ask(question())
    assert ("parallel_tool_calls" in server.requests[0]) is told


@pytest.mark.parametrize("base", ["not an address", "ftp://127.0.0.1/v1", "http://[::1"])
async def test_an_invalid_address_is_named(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOORMA_MODEL_CALLS")  # an invalid address cannot be called
    with pytest.raises(ConfigError, match="api_base"):
        await LiteLLMReasoner("hosted_vllm/any", api_base=base).ask(question())


async def test_a_model_without_a_server_address_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    monkeypatch.delenv("SOORMA_MODEL_CALLS", raising=False)
    with pytest.raises(ConfigError, match="api_base="):
        LiteLLMReasoner("hosted_vllm/any").check()
    with pytest.raises(ConfigError, match="api_base="):
        await LiteLLMReasoner("hosted_vllm/any").ask(question())


async def test_a_key_unfit_for_a_header_is_not_repeated() -> None:
    with ModelServer(always(Reply(SAID))) as server, pytest.raises(ConfigError) as told:
        await reasoner(server, api_key="k\u00e9y-of-ann").ask(question())
    assert "of-ann" not in str(told.value)


@pytest.mark.parametrize("price", [(-1, 0), (1,), "free", (float("nan"), 0), (True, 0)])
def test_an_invalid_price_is_refused(price: Any) -> None:
    with pytest.raises(ConfigError, match="price="):
        LiteLLMReasoner(MODEL, price=price)


async def test_a_given_price_counts() -> None:
    with ModelServer(always(Reply(SAID, usage=(1000, 100)))) as server:
        model = reasoner(server, "hosted_vllm/any", price=(0.001, 0.01))
        assert model.cost_of(1, 1) == pytest.approx(0.011)
        assert (await model.ask(question())).cost_usd == pytest.approx(2.0)


async def test_a_value_asked_for_as_text_is_parsed() -> None:
    step: JsonObject = {"type": "object", "properties": {"action": {"const": "complete"}, "result": OPEN}}
    schema: JsonObject = {"type": "object", "properties": {"step": {**step, "required": ["action", "result"]}}}
    said = {"step": {"action": "complete", "result": '{"total": 3}'}}
    meant = {"step": {"action": "complete", "result": {"total": 3}}}
    with ModelServer(always(Reply(json.dumps(said)))) as server:
        answer = await reasoner(server).ask(question(schema={**schema, "required": ["step"]}))
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is True
    assert (answer.value, answer.text) == (meant, json.dumps(said))


def test_a_direct_call_loads_neither_litellm_nor_instructor() -> None:
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
