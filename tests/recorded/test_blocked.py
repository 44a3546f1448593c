"""Models that refuse the set-up: reported at the start if possible, and skipped if a fallback answers."""

import importlib
from typing import Any

import pytest
from model_kit import DECISION, SAID, question, reasoner

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.direct import transport
from soorma_ai.adapters.models.litellm import libraries
from soorma_ai.adapters.models.litellm import transport as litellm_transport
from soorma_ai.errors import ConfigError, ModelBlocked, ModelRefused, ModelUnavailable
from soorma_ai.testing.model_server import ModelServer, Reply, failure

FIRST, SECOND = "openai/gpt-4o", "openai/gpt-4o-mini"
_IMPORTED = (transport._httpx, libraries.libraries, litellm_transport._provider)
CURE = "every call of a model sets that itself, so leave it out"
BAD_KEY = failure(401, "bad key", code="invalid_api_key")


def by_model(**replies: Reply) -> Any:
    return lambda body: replies[body["model"].replace("-", "_")]


async def test_a_fallback_answers_and_the_blocked_model_is_skipped_for_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [100.0]
    with ModelServer(by_model(gpt_4o=BAD_KEY, gpt_4o_mini=Reply(SAID))) as server:
        both = reasoner(server, fallbacks=[SECOND], monotonic=lambda: now[0])
        for seconds in (0, 1, 61):
            now[0] += seconds
            answer = await both.ask(question())
            assert (answer.value, answer.model) == (DECISION, SECOND)
    asked = [body["model"] for body in server.requests]
    assert asked == ["gpt-4o", "gpt-4o-mini", "gpt-4o-mini", "gpt-4o", "gpt-4o-mini"]
    assert [record.getMessage().split(" ")[0] for record in caplog.records] == ["model_blocked"] * 2


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        (BAD_KEY, BAD_KEY, ModelBlocked),
        (BAD_KEY, failure(503, "overloaded"), ModelUnavailable),
        (failure(503, "overloaded"), BAD_KEY, ModelUnavailable),
        (BAD_KEY, Reply(refusal="no"), ModelBlocked),
        (Reply(refusal="no"), BAD_KEY, ModelRefused),
    ],
    ids=["both blocked", "the second away", "the first away", "the second refuses", "the first refuses"],
)
async def test_of_several_faults_a_transient_one_counts(first: Reply, second: Reply, error: type[Exception]) -> None:
    with ModelServer(by_model(gpt_4o=first, gpt_4o_mini=second)) as server, pytest.raises(error):
        await reasoner(server, fallbacks=[SECOND]).ask(question())


@pytest.mark.parametrize("model", [FIRST, "hosted_vllm/any", "anthropic/claude-sonnet-4-5"])
@pytest.mark.parametrize("library", ["tenacity", "httpx"])
def test_a_planner_without_a_library_of_its_calls_is_refused_at_the_start(
    model: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = importlib.import_module

    def lacking(name: str, package: str | None = None) -> Any:
        if name == library:
            raise ImportError(f"No module named {library!r}", name=library)
        return really(name, package)

    planner = LiteLLMReasoner(model, api_base="http://127.0.0.1:1/v1", api_key="any")
    for cached in _IMPORTED:
        cached.cache_clear()
    monkeypatch.setattr(importlib, "import_module", lacking)
    with pytest.raises(ModelBlocked, match=rf"{library}.*pip install 'soorma-ai\["):
        planner.check()
    for cached in _IMPORTED:
        cached.cache_clear()


def test_the_key_of_a_fallback_is_checked_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    both = LiteLLMReasoner(
        "hosted_vllm/any", api_base="http://127.0.0.1:1/v1", fallbacks=["anthropic/claude-sonnet-4-5"]
    )
    with pytest.raises(ModelBlocked, match=r"set ANTHROPIC_API_KEY in the environment, or give api_key=$"):
        both.check()
    with pytest.raises(ModelBlocked, match=r"OPENAI_API_KEY .* is a local server meant"):
        LiteLLMReasoner(FIRST).check()


def test_an_option_set_by_every_call_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as refused:
        LiteLLMReasoner(FIRST, stream=True)
    assert (
        str(refused.value) == f"{FIRST}: stream= cannot be set; every call of a model sets that itself, so leave it out"
    )
