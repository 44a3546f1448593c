"""Who calls where nobody listens is told at once which address was tried, and what may have been forgotten."""

import logging
import socket
from collections.abc import Iterator

import pytest
from model_kit import Pauses, Way, by_both_ways, question

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.embedding import LiteLLMEmbedder
from soorma_ai.adapters.models.faults import CallFailure, translate
from soorma_ai.clients.asynchronous import AsyncClient
from soorma_ai.errors import ConfigError, ModelUnavailable, ServerUnavailable, SoormaError

MODEL = "openai/gpt-4o"
GUESS = "api_base is not set: is a local server meant?"


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address of this machine at which nothing listens, and nothing will meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@by_both_ways
async def test_a_refused_connection_to_a_model_names_the_url_and_is_in_the_log_before_it_is_tried_again(
    nobody: str, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    logged: list[int] = []
    pauses = Pauses()

    async def sleep(seconds: float) -> None:
        logged.append(len(caplog.records))
        await pauses(seconds)

    model = LiteLLMReasoner(MODEL, api_base=f"{nobody}/v1", api_key="sk-a-secret-of-mine", transport=way, sleep=sleep)
    with caplog.at_level(logging.WARNING, "soorma_ai"), pytest.raises(ModelUnavailable) as raised:
        await model.ask(question())
    assert f"{MODEL}: {nobody}/v1/chat/completions cannot be reached" in str(raised.value)
    assert "start the server there, or give the address of another by api_base=" in str(raised.value)
    told = [record.getMessage() for record in caplog.records if record.name == "soorma_ai"]
    assert [line.startswith(f"model_away reason={MODEL}: {nobody}") for line in told] == [True]
    assert logged == [1, 1]
    assert "secret" not in str(raised.value) + caplog.text


async def test_a_refused_connection_to_an_embedder_names_the_url(nobody: str) -> None:
    embedder = LiteLLMEmbedder("openai/text-embedding-3-small", api_base=f"{nobody}/v1", api_key="sk-0123456789")
    with pytest.raises(ModelUnavailable, match=f"{nobody}/v1/embeddings cannot be reached"):
        await embedder.embed(["a lamp"])


async def test_a_refused_connection_to_a_server_names_the_url_and_how_one_is_started(nobody: str) -> None:
    async with AsyncClient(nobody, tries=1) as client:
        with pytest.raises(ServerUnavailable, match=rf"{nobody} cannot be reached .*`soorma serve`"):
            await client.plans()


@pytest.mark.parametrize(
    ("failed", "kind", "said"),
    [
        (CallFailure("no route", unreached="https://api.openai.com/v1"), ModelUnavailable, GUESS),
        (CallFailure("refused", unreached="http://localhost:11434/api"), ModelUnavailable, "start the server there"),
        (CallFailure("who?", 401), ConfigError, GUESS),
        (CallFailure("no llama", 404), ConfigError, GUESS),
    ],
)
def test_where_no_address_was_given_a_local_server_is_guessed_at(
    failed: CallFailure, kind: type[SoormaError], said: str
) -> None:
    fault = translate(failed, "openai/llama")
    assert isinstance(fault, kind)
    assert said in str(fault)
    given = CallFailure(failed.text, failed.status, unreached=failed.unreached, base="http://gpu:8000")
    assert GUESS not in str(translate(given, "openai/llama"))


def test_a_key_that_is_missing_may_mean_an_address_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=f"no key for openai/llama: set OPENAI_API_KEY .*{GUESS[:20]}"):
        LiteLLMReasoner("openai/llama").check()
