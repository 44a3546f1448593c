"""Unusable answers and transient failures of providers: the number of calls, the error, the cost."""

import json
from datetime import timedelta
from typing import Any

import pytest
from model_kit import DECISION, MODEL, SAID, Pauses, RawServer, Way, always, by_both_ways, in_turn, question, reasoner

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.errors import ContentFiltered, ModelUnavailable, Paid, RateLimited, SoormaError, UnreadableAnswer
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.model_server import ModelServer, Reply, failure

WIRES = {
    "openai": (MODEL, {"transport": "litellm"}, "/v1"),
    "direct": (MODEL, {"transport": "direct"}, "/v1"),
    "azure": ("azure/gpt-4o", {"api_version": "2024-10-21"}, ""),
    "anthropic": ("anthropic/claude-sonnet-4-5", {}, ""),
    "gemini": ("gemini/gemini-2.5-flash", {}, ""),
    "ollama": ("ollama_chat/llama3", {}, ""),
    "bedrock": (
        "bedrock/converse/anthropic.claude-3-5-sonnet-20240620-v1:0",
        {"aws_access_key_id": "key", "aws_secret_access_key": "key", "aws_region_name": "us-east-1"},
        "",
    ),
}
on_each_wire = pytest.mark.parametrize("wire", [*WIRES])


def over(wire: str, url: str) -> LiteLLMReasoner:
    model, options, path = WIRES[wire]
    more: Any = options if wire == "bedrock" else {"api_key": "key", **options}
    return LiteLLMReasoner(model, api_base=url.removesuffix("/v1") + path, sleep=Pauses(), **more)


@pytest.mark.parametrize("raw", ["<html>oops</html>", "", '{"id": "x", "choices": [{"mess', "[1]"])
@on_each_wire
async def test_an_unreadable_answer_is_one_call_and_is_charged(wire: str, raw: str) -> None:
    with RawServer(Reply(raw=raw)) as server, pytest.raises(ModelUnavailable) as told:
        await over(wire, server.url).ask(question())
    assert type(told.value) is UnreadableAnswer, told.value
    assert told.value.paid.uncounted == 1


@pytest.mark.parametrize("error", ['"Model is loading"', '{"message": "Model is loading", "type": "error"}'])
@on_each_wire
async def test_a_loading_model_is_unavailable_and_costs_nothing(wire: str, error: str) -> None:
    with RawServer(Reply(raw=f'{{"error": {error}}}')) as server, pytest.raises(ModelUnavailable) as told:
        await over(wire, server.url).ask(question())
    assert type(told.value) is ModelUnavailable
    assert "Model is loading" in str(told.value) and told.value.paid == Paid()


@on_each_wire
async def test_a_failed_dependency_is_a_transient_error(wire: str) -> None:
    body = json.dumps({"message": "The model returned an error. Try your request again.", "error": {"message": "x"}})
    with RawServer(Reply(status=424, raw=body)) as server, pytest.raises(SoormaError) as told:
        await over(wire, server.url).ask(question())
    assert type(told.value) is ModelUnavailable


HALVES = (SAID[:20], SAID[20:])
CHUNK = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
OPENAI_STREAM = [
    *({**CHUNK, "choices": [{"index": 0, "delta": {"content": half}, "finish_reason": None}]} for half in HALVES),
    {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {**CHUNK, "choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99}},
]
ANTHROPIC_STREAM = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 90, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "Decision", "input": {}}},
    *(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": half}}
        for half in HALVES
    ),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
OLLAMA_STREAM = [
    *({"model": "l", "message": {"role": "assistant", "content": half}, "done": False} for half in HALVES),
    {"model": "l", "message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 90}
    | {"eval_count": 9},
]


def events(pieces: list[Any]) -> str:
    return "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)


STREAMS = {
    "direct": events(OPENAI_STREAM) + "data: [DONE]\n\n",
    "openai": events(OPENAI_STREAM) + "data: [DONE]\n\n",
    "anthropic": events(ANTHROPIC_STREAM),
    "ollama": "\n".join(map(json.dumps, OLLAMA_STREAM)),
}


@pytest.mark.parametrize("wire", [*STREAMS])
async def test_an_unrequested_stream_is_read(wire: str) -> None:
    mode = "tools" if wire == "anthropic" else "json_schema"
    model, options, path = WIRES[wire]
    with RawServer(Reply(raw=STREAMS[wire], headers={"content-type": "text/event-stream"})) as server:
        base = server.url.removesuffix("/v1") + path
        asked = LiteLLMReasoner(model, api_base=base, api_key="key", mode=mode, sleep=Pauses(), **options)
        answer = await asked.ask(question())
    assert (answer.value, answer.ending, answer.paid[:2]) == (DECISION, Ending.GOOD, (90, 9))


async def test_an_incomplete_stream_is_no_whole_answer() -> None:
    with RawServer(Reply(raw=events(OPENAI_STREAM[:2]))) as server:
        answer = await over("direct", server.url).ask(question())
    assert (answer.value, answer.ending) == (None, Ending.ODD)
    assert "finish_reasons=['absent']" in answer.fault


@pytest.mark.parametrize(
    ("reply", "pause"),
    [
        (failure(429, "You exceeded your current quota: GenerateRequestsPerDayPerProject"), timedelta(minutes=30)),
        (
            failure(429, "Rate limit reached on requests per day (RPD). Please try again in 7m12s."),
            timedelta(seconds=432),
        ),
        (failure(429, "Rate limit reached. Please try again in 20ms."), None),
    ],
)
async def test_the_pause_for_a_daily_quota_lasts_until_its_return(reply: Reply, pause: timedelta | None) -> None:
    with ModelServer(always(reply)) as server, pytest.raises(RateLimited) as told:
        await reasoner(server, transport="direct").ask(question())
    assert told.value.retry_after == pause
    assert len(server.requests) == (3 if pause is None else 1)


@by_both_ways
async def test_a_prompt_against_the_usage_policy_is_filtered(way: Way) -> None:
    refused = failure(400, "Your prompt was flagged as violating our usage policy.", code="invalid_prompt")
    with ModelServer(lambda body: refused if body["model"] == "gpt-4o" else Reply(SAID)) as server:
        answer = await reasoner(server, fallbacks=["openai/gpt-4o-mini"], transport=way).ask(question())
        assert answer.model == "openai/gpt-4o-mini"
        with pytest.raises(ContentFiltered):
            await reasoner(server, transport=way).ask(question())
    assert len(server.requests) == 3


@by_both_ways
async def test_a_call_of_a_providers_own_tool_is_a_fault(way: Way) -> None:
    call: JsonObject = {"id": "c", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    message: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice: JsonObject = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    with ModelServer(always(Reply(raw=json.dumps(body)))) as server:
        answer = await reasoner(server, transport=way, mode="tools").ask(question())
    assert answer.value is None and "the only one is Decision" in answer.fault
    assert len(server.requests) == 1


@pytest.mark.parametrize("blanks", [" " * 200, "\n  " * 60, "\\n" * 120])
@by_both_ways
async def test_an_answer_cut_within_blanks_names_the_blanks(way: Way, blanks: str) -> None:
    with ModelServer(always(Reply(f"{SAID[:-1]}{blanks}", finish="length"))) as server:
        answer = await reasoner(server, transport=way).ask(question())
    assert (answer.value, answer.ending) == (None, Ending.BLANK)
    assert "compact JSON, without blanks" in answer.fault


async def test_a_cut_answer_without_blanks_names_the_option_for_more_tokens() -> None:
    with ModelServer(always(Reply(SAID[:-1], finish="length"))) as server:
        answer = await reasoner(server).ask(question())
    assert answer.ending is Ending.CUT and "max_output_tokens=" in answer.fault


async def test_after_an_answer_of_blanks_the_next_form_is_used() -> None:
    with ModelServer(in_turn(Reply(SAID), Reply(SAID))) as server:
        asked = reasoner(server)
        await asked.ask(question())
        await asked.ask(type(question())(question().messages, question().schema, other_form=True))
    assert [sorted({"tools", "response_format"} & body.keys()) for body in server.requests] == [
        ["response_format"],
        ["tools"],
    ]
