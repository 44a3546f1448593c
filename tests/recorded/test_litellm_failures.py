"""Failures of providers: each has one class and one number of requests, and none reveals a key."""

import asyncio
import gc
import json
import logging
import subprocess
import sys
import traceback
import warnings
from datetime import timedelta

import pytest
from model_kit import DECISION, MODEL, SAID, Pauses, Way, always, by_both_ways, in_turn, question, reasoner

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.litellm.libraries import libraries
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
from soorma_ai.testing.model_server import ModelServer, Reply, failure

KEY = "sk-proj-0123456789abcdefghij"
NO_CHOICES = Reply(raw='{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}')
NO_MESSAGE = {"index": 0, "finish_reason": "content_filter", "message": None}
FILTERED_WITHOUT_MESSAGE = Reply(
    raw=json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [NO_MESSAGE]})
)
FILTER_AS_200 = Reply(raw=json.dumps({"error": {"message": "content management policy", "code": "content_filter"}}))
TOO_LONG = "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens."


@pytest.mark.parametrize(
    ("reply", "error", "requests"),
    [
        (failure(500, "boom"), ModelUnavailable, 3),
        (failure(502, "bad gateway"), ModelUnavailable, 3),
        (failure(503, "unavailable"), ModelUnavailable, 3),
        (failure(529, "overloaded"), ModelUnavailable, 3),
        (failure(408, "too slow"), ModelUnavailable, 3),
        (Reply(raw="<html>oops</html>"), UnreadableAnswer, 1),
        (Reply(raw=""), UnreadableAnswer, 1),
        (Reply(raw="[1]"), UnreadableAnswer, 1),
        (NO_CHOICES, UnreadableAnswer, 1),
        (failure(429, "slow down"), RateLimited, 3),
        (failure(429, "slow down", headers={"retry-after": "31"}), RateLimited, 1),
        (failure(429, "quota", code="insufficient_quota"), ModelBlocked, 1),
        (failure(429, "You exceeded your current quota", headers={"retry-after": "45"}), RateLimited, 1),
        (failure(402, "Insufficient credits"), ModelBlocked, 1),
        (failure(401, "bad key", code="invalid_api_key"), ModelBlocked, 1),
        (failure(403, "not yours"), ModelBlocked, 1),
        (failure(404, "no such model", code="model_not_found"), ModelBlocked, 1),
        (failure(413, "too large"), ConfigError, 1),
        (failure(400, TOO_LONG, code="context_length_exceeded"), ConfigError, 1),
        (failure(400, "temperature is not supported"), ConfigError, 1),
        (failure(400, "Invalid schema for response_format"), ConfigError, 3),
        (failure(400, "filtered", code="content_filter"), ContentFiltered, 1),
        (FILTER_AS_200, ContentFiltered, 1),
        (FILTERED_WITHOUT_MESSAGE, ContentFiltered, 1),
        (Reply("half an ans", finish="content_filter"), ContentFiltered, 1),
        (Reply(refusal="I will not."), ModelRefused, 1),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
@pytest.mark.parametrize("model", [MODEL, "hosted_vllm/any"])
@by_both_ways
async def test_a_failure_has_one_class_and_one_number_of_requests(
    way: Way, model: str, reply: Reply, error: type[SoormaError], requests: int
) -> None:
    with ModelServer(always(reply)) as server:
        with pytest.raises(error) as raised:
            await reasoner(server, model, transport=way).ask(question())
        assert type(raised.value) is error
        assert len(server.requests) == requests


@by_both_ways
async def test_pauses_grow_from_half_a_second(way: Way) -> None:
    pauses = Pauses()
    with ModelServer(always(failure(500, "boom"))) as server, pytest.raises(ModelUnavailable):
        await reasoner(server, sleep=pauses, transport=way).ask(question())
    first, second = pauses.taken
    assert 0.5 <= first <= 0.75
    assert 1.0 <= second <= 1.25


@by_both_ways
async def test_a_short_retry_after_is_waited_for(way: Way) -> None:
    pauses = Pauses()
    limited = failure(429, "slow down", headers={"retry-after": "7"})
    with ModelServer(in_turn(limited, Reply(SAID))) as server:
        answer = await reasoner(server, sleep=pauses, transport=way).ask(question())
    assert (answer.value, pauses.taken) == (DECISION, [7.0])


@by_both_ways
async def test_a_long_retry_after_is_raised_to_the_caller(way: Way) -> None:
    limited = failure(429, "slow down", headers={"retry-after": "3600"})
    with ModelServer(always(limited)) as server, pytest.raises(RateLimited) as raised:
        await reasoner(server, transport=way).ask(question())
    assert raised.value.retry_after == timedelta(hours=1)


@by_both_ways
async def test_an_unanswered_call_is_unavailable(way: Way) -> None:
    with ModelServer(always(Reply(silent=True))) as server:
        with pytest.raises(ModelUnavailable, match="no answer in time"):
            await reasoner(server, timeout=1.0, transport=way).ask(question())
        assert len(server.requests) == 3


@by_both_ways
async def test_an_absent_server_is_unavailable(way: Way) -> None:
    with ModelServer(always(Reply(SAID))) as server:
        gone = reasoner(server, transport=way)
    with pytest.raises(ModelUnavailable):
        await gone.ask(question())


@by_both_ways
async def test_cancelling_an_ask_cancels_its_call(way: Way) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def respond(_: object) -> Reply:
        loop.call_soon_threadsafe(asked.set)
        return Reply(silent=True)

    with ModelServer(respond) as server:
        asking = asyncio.ensure_future(reasoner(server, transport=way).ask(question()))
        await asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [(failure(500, "boom"), 3), (Reply(refusal="no"), 1), (failure(400, "x", code="content_filter"), 1)],
    ids=["unavailable", "refused", "filtered"],
)
async def test_the_fallback_answers_after_a_failure_or_refusal_of_the_first_model(fault: Reply, attempts: int) -> None:
    with ModelServer(lambda body: fault if body["model"] == "gpt-4o" else Reply(SAID)) as server:
        answer = await reasoner(server, fallbacks=["openai/gpt-4o-mini"]).ask(question())
    assert (answer.value, answer.model) == (DECISION, "openai/gpt-4o-mini")
    assert [body["model"] for body in server.requests] == ["gpt-4o"] * attempts + ["gpt-4o-mini"]


async def test_an_unavailable_model_is_skipped_for_a_minute_if_another_answers() -> None:
    now = [100.0]
    away = failure(503, "overloaded")
    with ModelServer(lambda body: away if body["model"] == "gpt-4o" else Reply(SAID)) as server:
        model = reasoner(server, fallbacks=["openai/gpt-4o-mini"], monotonic=lambda: now[0])
        for passed in (0.0, 59.0, 1.0):
            now[0] += passed
            assert (await model.ask(question())).model == "openai/gpt-4o-mini"
    asked = [body["model"] for body in server.requests]
    assert asked == [*["gpt-4o"] * 3, "gpt-4o-mini", "gpt-4o-mini", *["gpt-4o"] * 3, "gpt-4o-mini"]


async def test_unavailable_models_are_all_asked_again() -> None:
    with ModelServer(always(failure(503, "overloaded"))) as server:
        model = reasoner(server, fallbacks=["openai/gpt-4o-mini"])
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                await model.ask(question())
    assert [body["model"] for body in server.requests] == (["gpt-4o"] * 3 + ["gpt-4o-mini"] * 3) * 2


async def test_the_error_of_several_failures_is_that_of_the_chosen_model() -> None:
    refused, limited = Reply(refusal="no"), failure(429, "slow down", headers={"retry-after": "60"})
    with ModelServer(lambda body: limited if body["model"] == "gpt-4o" else refused) as server:
        with pytest.raises(RateLimited) as raised:
            await reasoner(server, fallbacks=["openai/gpt-4o-mini"]).ask(question())
        assert raised.value.retry_after == timedelta(minutes=1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
@by_both_ways
async def test_no_error_and_no_log_line_repeats_a_key(way: Way, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    other = "plainly-a-key-of-another-form"
    told = failure(status, f"Incorrect API key provided: {KEY} or sk-abc****wxyz or {other}")
    with ModelServer(always(told)) as server, pytest.raises(SoormaError) as raised:
        await reasoner(server, api_key=other, transport=way).ask(question())
    shown = "".join(traceback.format_exception(raised.value)) + caplog.text
    for secret in (KEY, "wxyz", other):
        assert secret not in shown


def test_a_model_of_an_unknown_provider_is_refused_before_the_first_call() -> None:
    with pytest.raises(ConfigError, match="unknown model 'unknown/model'"):
        LiteLLMReasoner("unknown/model", api_key="key").check()


@pytest.mark.parametrize(
    ("model", "variable"),
    [(MODEL, "OPENAI_API_KEY"), ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"), ("gemini/pro", "GEMINI_API_KEY")],
)
def test_a_missing_key_is_named(model: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError, match=variable):
        LiteLLMReasoner(model).check()
    monkeypatch.setenv(variable, "")
    with pytest.raises(ConfigError, match=variable):
        LiteLLMReasoner(model).check()
    LiteLLMReasoner(model, api_key="given").check()
    LiteLLMReasoner(model, api_base="http://127.0.0.1:9/v1").check()
    monkeypatch.setenv(variable, "set")
    LiteLLMReasoner(model).check()


def test_an_empty_key_counts_as_missing_unless_the_provider_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "")
    monkeypatch.setenv("GOOGLE_API_KEY", "set")
    LiteLLMReasoner("gemini/pro").check()


def test_the_fallback_needs_a_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        LiteLLMReasoner(MODEL, api_key="given", fallbacks=["anthropic/claude-sonnet-4-5"]).check()


@pytest.mark.parametrize("setting", ["context", "num_retries", "max_retries", "stream", "messages"])
def test_options_the_reasoner_sets_itself_are_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=setting):
        LiteLLMReasoner(MODEL, **{setting: {"secret": 1}})


async def test_a_test_cannot_call_a_real_model() -> None:
    with pytest.raises(ConfigError, match="real model calls are forbidden in tests"):
        await LiteLLMReasoner(MODEL, api_key="key").ask(question())
    with pytest.raises(ConfigError, match="real model calls are forbidden in tests"):
        await LiteLLMReasoner(MODEL, api_key="key", api_base="https://models.example/v1").ask(question())


def test_connections_are_closed_with_their_event_loop() -> None:
    with ModelServer(always(Reply(SAID))) as server:
        asyncio.run(reasoner(server, transport="litellm").ask(question()))
        kept = libraries().litellm.in_memory_llm_clients_cache.cache_dict
        before = set(kept)
        suffixes: list[str] = []

        async def ask() -> None:
            suffixes.append(libraries().litellm.in_memory_llm_clients_cache.update_cache_key_with_event_loop(""))
            await reasoner(server, transport="litellm").ask(question())
            assert [key for key in kept if key.endswith(suffixes[0])], "a connection lives as long as its loop"

        asyncio.run(ask())
        assert set(kept) <= before
        assert [key for key in kept if key.endswith(suffixes[0])] == []
        asyncio.run(reasoner(server, transport="direct").ask(question()))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            gc.collect()
    assert [str(warning.message) for warning in seen if warning.category is ResourceWarning] == []


@pytest.mark.parametrize(
    ("library", "setting", "extra"),
    [
        ("litellm", "litellm", "[llm]"),
        ("instructor", "litellm", "[llm]"),
        ("tenacity", "direct", "[direct]"),
        ("httpx", "direct", "[direct]"),
    ],
)
def test_the_import_is_light_and_a_missing_library_names_its_extra(library: str, setting: str, extra: str) -> None:
    program = f"""
import asyncio, sys
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.ports import Message, ModelQuestion
assert not {{"litellm", "instructor", "openai", "httpx", "tenacity"}} & sys.modules.keys()
sys.modules["{library}"] = None
reasoner = LiteLLMReasoner("openai/gpt-4o", api_base="http://127.0.0.1:9", transport="{setting}")
try:
    asyncio.run(reasoner.ask(ModelQuestion((Message("user", "x"),), {{"type": "object", "properties": {{}}}})))
except ConfigError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert library in run.stdout
    assert "pip install 'soorma-ai[" in run.stdout
    assert extra in run.stdout
