"""Endings of answers in each provider's form: only a good one is used, and its cost is read."""

import json

import pytest
from model_kit import DECISION, MODEL, SAID, Way, always, by_both_ways, question, reasoner

from soorma_ai.errors import ContentFiltered, ModelRefused, ModelUnavailable, Paid, SoormaError, UnreadableAnswer
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import ModelAnswer
from soorma_ai.testing.model_server import ModelServer, Reply, failure

MODELS = {
    "openai": MODEL,
    "direct": MODEL,
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "ollama": "ollama_chat/llama3",
}
GOOD, CUT, ODD = Ending.GOOD, Ending.CUT, Ending.ODD
ENDS: dict[str, dict[str, Ending | type[SoormaError]]] = {
    "openai": {
        **dict.fromkeys(("stop", "tool_calls", "function_call", "eos", "eos_token"), GOOD),
        **dict.fromkeys(("length", "max_tokens"), CUT),
        **dict.fromkeys(("error", "insufficient_system_resource", "abort", "something new", ""), ODD),
        "content_filter": ContentFiltered,
    },
    "direct": {},
    "anthropic": {
        **dict.fromkeys(("end_turn", "tool_use", "stop_sequence"), GOOD),
        "max_tokens": CUT,
        **dict.fromkeys(("pause_turn", "model_context_window_exceeded", "compaction", "something new"), ODD),
        "refusal": ModelRefused,
    },
    "gemini": {
        "STOP": GOOD,
        "MAX_TOKENS": CUT,
        **dict.fromkeys(("FINISH_REASON_UNSPECIFIED", "OTHER", "LANGUAGE", "MALFORMED_FUNCTION_CALL"), ODD),
        **dict.fromkeys(("UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "SOMETHING_NEW"), ODD),
        **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), ContentFiltered),
        **dict.fromkeys(("IMAGE_SAFETY", "MODEL_ARMOR"), ContentFiltered),
    },
    "ollama": {"stop": GOOD, "length": CUT, **dict.fromkeys(("load", "unload", "something new", ""), ODD)},
}
ENDS["direct"] = ENDS["openai"]


async def ask_once(form: str, reply: Reply, mode: str, **options: object) -> ModelAnswer | type[SoormaError]:
    with ModelServer(always(reply)) as server:
        try:
            way = "direct" if form == "direct" else "litellm"
            model = reasoner(server, MODELS[form], mode=mode, api_key="key", transport=way, **options)
            answer = await model.ask(question())
        except SoormaError as error:
            return type(error)
        finally:
            assert len(server.requests) == 1
    return answer


@pytest.mark.parametrize("mode", ["json_schema", "tools"])
@pytest.mark.parametrize(("form", "finish"), [(form, finish) for form, known in ENDS.items() for finish in known])
async def test_a_valid_decision_needs_a_good_ending_of_its_provider(form: str, finish: str, mode: str) -> None:
    wanted = ENDS[form][finish]
    answer = await ask_once(form, Reply(SAID, finish=finish), mode)
    if not isinstance(answer, ModelAnswer) or not isinstance(wanted, Ending):
        assert answer == wanted
        return
    assert (answer.ending, answer.value) == (wanted, DECISION if wanted is GOOD else None)
    assert (finish or "absent") in answer.fault or wanted is not ODD
    assert "cut off" in answer.fault or wanted is not CUT
    assert answer.paid[:2] == (100, 20)


@pytest.mark.parametrize("mode", ["json_schema", "tools"])
async def test_an_unfinished_answer_of_ollama_is_unusable(mode: str) -> None:
    called = [{"function": {"name": "Decision", "arguments": DECISION}}] if mode == "tools" else []
    message = {"role": "assistant", "content": "" if called else SAID, "tool_calls": called}
    body = {"model": "llama3", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}
    answer = await ask_once("ollama", Reply(raw=json.dumps(body)), mode)
    assert isinstance(answer, ModelAnswer)
    assert (answer.ending, answer.value) == (ODD, None)
    assert "not done" in answer.fault


@pytest.mark.parametrize(
    ("native", "ending"), [("STOP", GOOD), ("end_turn", GOOD), ("MALFORMED_FUNCTION_CALL", ODD), ("MAX_TOKENS", CUT)]
)
@by_both_ways
async def test_a_routers_native_ending_counts_too(way: Way, native: str, ending: Ending) -> None:
    choice = {"index": 0, "finish_reason": "stop", "native_finish_reason": native}
    message = {"role": "assistant", "content": SAID}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    reply = Reply(raw=json.dumps({**body, "choices": [{**choice, "message": message}]}))
    answer = await ask_once("direct" if way == "direct" else "openai", reply, "json")
    assert isinstance(answer, ModelAnswer)
    assert answer.ending is ending


@pytest.mark.parametrize("finish", ["abort", ""])
async def test_finish_reasons_adds_good_endings(finish: str) -> None:
    answer = await ask_once("openai", Reply(SAID, finish=finish), "json_schema", finish_reasons=["abort", "absent"])
    assert isinstance(answer, ModelAnswer)
    assert (answer.ending, answer.value) == (GOOD, DECISION)


async def test_a_prompt_blocked_by_gemini_is_filtered() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 10}}
    assert await ask_once("gemini", Reply(raw=json.dumps(body)), "json_schema") is ContentFiltered


@pytest.mark.parametrize("form", [*MODELS])
@pytest.mark.parametrize("usage", [None, (0, 0), (-100, 20), (100, -20)])
async def test_missing_zero_or_negative_usage_is_uncounted(form: str, usage: tuple[int, int] | None) -> None:
    answer = await ask_once(form, Reply(SAID, usage=usage), "json_schema")
    assert isinstance(answer, ModelAnswer)
    assert (answer.paid[:2], answer.uncounted) == ((0, 0), 1)


def body_of(message: JsonObject | None, finish: str = "stop", **more: object) -> Reply:
    choice = {"index": 0, "finish_reason": finish, "message": message}
    told = {"prompt_tokens": 9000, "completion_tokens": 500, "total_tokens": 9500}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": told}
    return Reply(raw=json.dumps({**body, **more}))


@pytest.mark.parametrize(
    ("reply", "error", "paid"),
    [
        (body_of({"role": "assistant", "content": None, "refusal": "no"}), ModelRefused, Paid(9000, 500, 0.0275)),
        (body_of({"role": "assistant", "content": "x"}, "content_filter"), ContentFiltered, Paid(9000, 500, 0.0275)),
        (body_of(None, "content_filter"), ContentFiltered, Paid(9000, 500, 0.0275)),
        (body_of(None, choices=[]), UnreadableAnswer, Paid(9000, 500, 0.0275)),
        (Reply(refusal="no", usage=None), ModelRefused, Paid(uncounted=1)),
        (failure(400, "x", code="content_filter"), ContentFiltered, Paid()),
        (failure(503, "overloaded"), ModelUnavailable, Paid()),
    ],
)
@by_both_ways
async def test_an_error_has_the_cost_of_its_call(way: Way, reply: Reply, error: type[SoormaError], paid: Paid) -> None:
    with ModelServer(always(reply)) as server, pytest.raises((ModelRefused, ContentFiltered, ModelUnavailable)) as told:
        await reasoner(server, transport=way).ask(question())
    assert type(told.value) is error
    assert told.value.paid == pytest.approx(paid)


@by_both_ways
async def test_calls_that_time_out_may_have_been_charged(way: Way) -> None:
    with ModelServer(always(Reply(silent=True))) as server, pytest.raises(ModelUnavailable) as told:
        await reasoner(server, timeout=0.3, transport=way).ask(question())
    assert told.value.paid == Paid(uncounted=3)


@by_both_ways
async def test_the_cost_of_the_first_model_is_added_to_the_fallbacks(way: Way) -> None:
    refused = Reply(refusal="no", usage=(9000, 500))
    with ModelServer(lambda body: refused if body["model"] == "gpt-4o" else Reply(SAID, usage=(10, 10))) as server:
        answer = await reasoner(server, fallbacks=["openai/gpt-4o-mini"], transport=way).ask(question())
    assert (answer.value, answer.paid[:2]) == (DECISION, (9010, 510))


async def test_an_error_of_the_fallback_keeps_the_cost_of_the_first_model() -> None:
    refused, wrong_key = Reply(refusal="no", usage=(9000, 500)), failure(401, "bad key")
    respond = {"gpt-4o": refused, "gpt-4o-mini": wrong_key}
    with ModelServer(lambda body: respond[str(body["model"])]) as server, pytest.raises(ModelRefused) as told:
        await reasoner(server, fallbacks=["openai/gpt-4o-mini"]).ask(question())
    assert told.value.paid[:2] == (9000, 500)


async def test_an_answer_the_library_cannot_build_is_read() -> None:
    with ModelServer(always(Reply(SAID))) as server:
        answer = await reasoner(server, "groq/llama-3.3-70b-versatile").ask(question())
    assert (answer.value, answer.paid[:2]) == (DECISION, (100, 20))
