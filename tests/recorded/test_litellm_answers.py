"""Answers of models through the real client over real HTTP."""

import json
from itertools import count
from typing import Any

import pytest
from model_kit import DECISION, MODEL, SAID, SCHEMA, Way, always, by_both_ways, in_turn, question, reasoner
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Message, ModelQuestion
from soorma_ai.kernel.rules.schemas.portable import wire_of
from soorma_ai.testing.model_server import ModelServer, Reply, failure


@pytest.mark.parametrize("mode", ["json_schema", "tools", "json", "md_json"])
@by_both_ways
async def test_every_mode_finds_the_decision(way: Way, mode: str) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        answer = await reasoner(server, mode=mode, transport=way).ask(question())
    assert (answer.value, answer.fault, answer.text, answer.model) == (DECISION, "", SAID, MODEL)


LOOSE: JsonObject = {"type": "object", "properties": {"anything": {"type": "object"}}, "required": ["anything"]}


@pytest.mark.parametrize(("schema", "strict"), [(SCHEMA, True), (LOOSE, False)])
@by_both_ways
async def test_the_schema_is_sent_strict_and_closed(way: Way, schema: JsonObject, strict: bool) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, transport=way).ask(question(schema=schema))
    (request,) = server.requests
    expected = {"name": "Decision", "schema": wire_of(schema).schema, "strict": strict}
    assert request["response_format"] == {"type": "json_schema", "json_schema": expected}


@by_both_ways
async def test_a_tool_is_required_called_once_and_described_by_its_schema(way: Way) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        for schema in (SCHEMA, {"description": "The whole plan.", **SCHEMA}):
            await reasoner(server, mode="tools", transport=way).ask(question(schema=schema))
    request = server.requests[0]
    assert (request["tool_choice"], request["parallel_tool_calls"]) == ("required", False)
    (tool,) = request["tools"]
    assert (tool["function"]["parameters"], tool["function"]["strict"]) == (wire_of(SCHEMA).schema, True)
    told = [request["tools"][0]["function"]["description"] for request in server.requests]
    assert told == ["The next step, exactly one.", "The whole plan."]


@pytest.mark.parametrize("mode", ["json_schema", "tools", "json", "md_json"])
@pytest.mark.parametrize(
    "model", [MODEL, "azure/gpt-4o", "hosted_vllm/any", "mistral/mistral-large-latest", "gemini/gemini-2.5-flash"]
)
async def test_asking_a_question_does_not_change_it(model: str, mode: str) -> None:
    before = json.dumps(SCHEMA)
    wires = [wire_of(SCHEMA, held=held, shared=shared) for held in (True, False) for shared in (True, False)]
    with ModelServer(always(Reply(SAID))) as server:
        for _ in range(2):
            more = {"api_version": "2024-12-01-preview"} if model.startswith("azure") else {}
            await reasoner(server, model, mode=mode, api_key="key", transport="litellm", **more).ask(question())
    assert json.dumps(SCHEMA) == before
    assert [json.loads(wire.text) for wire in wires] == [wire.schema for wire in wires]


@pytest.mark.parametrize("mode", ["json_schema", "tools", "json", "md_json"])
async def test_messages_are_no_templates(mode: str) -> None:
    text = "{{ 7*7 }} {% for x in y %} {{ oops\n    indented"
    asked = ModelQuestion((Message("system", text), Message("user", text), Message("assistant", text)), SCHEMA)
    with ModelServer(always(Reply(SAID))) as server:
        await reasoner(server, mode=mode).ask(asked)
    messages = server.requests[0]["messages"]
    assert isinstance(messages, list)
    contents = [str(message["content"]) for message in messages if isinstance(message, dict)]
    assert all(content.startswith(text) for content in contents[:3])
    assert "49" not in "".join(contents)


OTHER = json.dumps({**DECISION, "reasoning": "another"})


@pytest.mark.parametrize("mode", ["json_schema", "tools"])
@pytest.mark.parametrize(
    ("said", "how"),
    [(f"Sure! {SAID}", "in other text"), (f"```json\n{SAID}\n```", "in fences"), (f"{SAID}\n{SAID}", "2 times")],
)
@by_both_ways
async def test_the_one_object_in_a_text_is_the_answer_with_its_place(way: Way, mode: str, said: str, how: str) -> None:
    with ModelServer(always(Reply(said))) as server:
        answer = await reasoner(server, mode=mode, transport=way).ask(question())
    assert (answer.value, answer.fault, answer.text, answer.found) == (DECISION, "", said, how)


@pytest.mark.parametrize("mode", ["json_schema", "tools", "json", "md_json"])
@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("{oops", "no JSON object"),
        ("[1, 2]", "a list of 2"),
        ("null", "no JSON object but null"),
        ('{"a": NaN}', "NaN"),
        ("", "empty"),
        ("  \n", "empty"),
        (f"{SAID}\n{OTHER}", "2 different objects"),
        (f"```json\n{SAID}\n```\n```json\n{OTHER}\n```", "2 different objects"),
    ],
)
@by_both_ways
async def test_an_answer_without_exactly_one_object_has_a_fault(way: Way, mode: str, said: str, fault: str) -> None:
    with ModelServer(always(Reply(said))) as server:
        answer = await reasoner(server, mode=mode, transport=way).ask(question())
    assert (answer.value, answer.text) == (None, said)
    assert fault in answer.fault
    assert len(server.requests) == 1, "a re-ask is the caller's task"


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply(tool_calls=[(None, SAID), (None, OTHER)]), "2 different objects"),
        (Reply(tool_calls=[("book_flight", SAID)]), "'book_flight' was called"),
        (Reply(tool_calls=[("", SAID)]), "'' was called"),
        (Reply(tool_calls=[(None, SAID), ("book_flight", SAID)]), "'book_flight' was called"),
        (Reply(tool_calls=[], text="I will."), "no tool was called"),
        (Reply(tool_calls=[], text='{"city": "Paris"}'), "no tool was called"),
        (Reply(tool_calls=[], text=SAID + OTHER), "no tool was called"),
        (Reply(tool_calls=[(None, "")]), "empty"),
        (Reply(tool_calls=[(None, SAID)], text=OTHER), "2 different objects"),
    ],
)
@by_both_ways
async def test_a_call_of_another_tool_or_of_two_decisions_has_a_fault(way: Way, reply: Reply, fault: str) -> None:
    with ModelServer(always(reply)) as server:
        answer = await reasoner(server, mode="tools", transport=way).ask(question())
    assert answer.value is None
    assert fault in answer.fault


@pytest.mark.parametrize("reply", [Reply(tool_calls=[(None, SAID)] * 2), Reply("{So}", tool_calls=[(None, SAID)])])
async def test_one_decision_in_two_calls_or_beside_text_is_accepted(reply: Reply) -> None:
    with ModelServer(always(reply)) as server:
        assert (await reasoner(server, mode="tools").ask(question())).value == DECISION


@pytest.mark.parametrize(
    ("said", "how"),
    [(SAID, "in the text, without a call"), (f"```{SAID}```", "in the text, without a call, in fences")],
)
@by_both_ways
async def test_a_decision_in_text_instead_of_a_call_is_accepted_and_marked(way: Way, said: str, how: str) -> None:
    with ModelServer(always(Reply(said, tool_calls=[]))) as server:
        answer = await reasoner(server, mode="tools", transport=way).ask(question())
    assert (answer.value, answer.found) == (DECISION, how)


@by_both_ways
async def test_the_answer_gets_the_requested_token_limit(way: Way) -> None:
    with ModelServer(always(Reply(SAID[:20], finish="length"))) as server:
        model = reasoner(server, max_output_tokens=10, transport=way)
        for room in (None, 20):
            answer = await model.ask(replace(question(), room=room))
            assert (answer.ending, answer.value, answer.text) == (Ending.CUT, None, SAID[:20])
    assert [request["max_tokens"] for request in server.requests] == [10, 20]


@by_both_ways
async def test_after_a_refused_schema_a_tool_is_used(way: Way) -> None:
    refused = failure(400, "Invalid schema for response_format 'Decision': too deep")
    with ModelServer(in_turn(refused, Reply(SAID))) as server:
        answer = await reasoner(server, transport=way).ask(question())
    assert answer.value == DECISION
    assert ["tools" in request for request in server.requests] == [False, True]


async def test_arguments_rejected_by_the_provider_are_an_answer() -> None:
    body = {"error": {"message": "Failed to call a function", "code": "tool_use_failed", "failed_generation": '{"a": '}}
    with ModelServer(always(Reply(status=400, raw=json.dumps(body)))) as server:
        for model in ("openai/gpt-4o", "groq/llama-3.3-70b-versatile"):
            answer = await reasoner(server, model, mode="tools").ask(question())
            assert (answer.text, answer.value) == ('{"a": ', None)
            assert "could not read" in answer.fault
    assert len(server.requests) == 2


@by_both_ways
async def test_cost_is_unknown_without_a_price(way: Way) -> None:
    with ModelServer(always(Reply(SAID, usage=(1_000_000, 0)))) as server:
        priced, unpriced = reasoner(server, transport=way), reasoner(server, "openai/our-own-model", transport=way)
        assert (priced.cost_of(1, 1) is None, unpriced.cost_of(1, 1)) == (False, None)
        assert (await priced.ask(question())).cost_usd == pytest.approx(2.5)
        assert (await unpriced.ask(question())).cost_usd is None
        assert reasoner(server, fallbacks=["openai/our-own-model"], transport=way).cost_of(1, 1) is None


async def test_settings_reach_the_provider_and_latency_uses_the_given_clock() -> None:
    ticks = count(10.0, 0.25)
    with ModelServer(always(Reply(SAID))) as server:
        settings: dict[str, Any] = {"temperature": 0.0, "seed": 7, "max_output_tokens": 55}
        answer = await reasoner(server, monotonic=lambda: next(ticks), **settings).ask(question())
    assert answer.latency_ms == 250
    (request,) = server.requests
    assert (request["temperature"], request["seed"], request["max_tokens"]) == (0.0, 7, 55)
