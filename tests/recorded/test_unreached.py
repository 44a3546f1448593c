"""Calls to an address without a listener: the error names the address and the likely cause."""

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
def closed_address() -> Iterator[str]:
    """A reserved address of this machine without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@by_both_ways
async def test_a_refused_connection_to_a_model_names_the_url_and_is_logged_before_the_retry(
    closed_address: str, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    logged: list[int] = []
    pauses = Pauses()

    async def sleep(seconds: float) -> None:
        logged.append(len(caplog.records))
        await pauses(seconds)

    model = LiteLLMReasoner(
        MODEL, api_base=f"{closed_address}/v1", api_key="sk-a-secret-of-mine", transport=way, sleep=sleep
    )
    with caplog.at_level(logging.WARNING, "soorma_ai"), pytest.raises(ModelUnavailable) as raised:
        await model.ask(question())
    assert f"{MODEL}: {closed_address}/v1/chat/completions cannot be reached" in str(raised.value)
    assert "start the server there, or give the address of another by api_base=" in str(raised.value)
    told = [record.getMessage() for record in caplog.records if record.name == "soorma_ai"]
    assert [line.startswith(f"model_away reason={MODEL}: {closed_address}") for line in told] == [True]
    assert logged == [1, 1]
    assert "secret" not in str(raised.value) + caplog.text


async def test_a_refused_connection_to_an_embedder_names_the_url(closed_address: str) -> None:
    embedder = LiteLLMEmbedder(
        "openai/text-embedding-3-small", api_base=f"{closed_address}/v1", api_key="sk-0123456789"
    )
    with pytest.raises(ModelUnavailable, match=f"{closed_address}/v1/embeddings cannot be reached"):
        await embedder.embed(["a lamp"])


async def test_a_refused_connection_to_a_server_names_the_url_and_the_command_to_start_one(closed_address: str) -> None:
    async with AsyncClient(closed_address, tries=1) as client:
        with pytest.raises(ServerUnavailable, match=rf"{closed_address} cannot be reached .*`soorma serve`"):
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
def test_without_an_address_the_error_suggests_a_missing_local_server(
    failed: CallFailure, kind: type[SoormaError], said: str
) -> None:
    fault = translate(failed, "openai/llama")
    assert isinstance(fault, kind)
    assert said in str(fault)
    given = CallFailure(failed.text, failed.status, unreached=failed.unreached, base="http://gpu:8000")
    assert GUESS not in str(translate(given, "openai/llama"))


def test_a_missing_key_suggests_a_missing_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=f"no key for openai/llama: set OPENAI_API_KEY .*{GUESS[:20]}"):
        LiteLLMReasoner("openai/llama").check()
