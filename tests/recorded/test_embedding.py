"""Embeddings through litellm: one vector for each text, in order; provider errors become the package's own."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from soorma_ai.adapters.models.embedding import LiteLLMEmbedder
from soorma_ai.errors import ConfigError, ModelUnavailable, RateLimited

GOOD = {
    "object": "list",
    "model": "toy",
    "data": [
        {"object": "embedding", "index": 1, "embedding": [0.0, 1.0]},
        {"object": "embedding", "index": 0, "embedding": [1.0, 0.0]},
    ],
    "usage": {"prompt_tokens": 2, "total_tokens": 2},
}


@asynccontextmanager
async def provider(status: str, body: object) -> AsyncGenerator[LiteLLMEmbedder]:
    """An embedder with one answer of its provider to every call."""
    sent = json.dumps(body).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(sent)}\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode() + sent)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield LiteLLMEmbedder("openai/toy", api_base=base, api_key="geheim-geheim")


async def test_each_text_gets_its_vector() -> None:
    async with provider("200 OK", GOOD) as embedder:
        assert await embedder.embed(["a", "b"]) == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("status", "kind"),
    [("429 Too Many Requests", RateLimited), ("503 Service Unavailable", ModelUnavailable), ("401 No", ConfigError)],
)
async def test_a_providers_fault_is_transient_or_final(status: str, kind: type[Exception]) -> None:
    async with provider(status, {"error": {"message": "no, geheim-geheim"}}) as embedder:
        with pytest.raises(kind) as raised:
            await embedder.embed(["a"])
    assert "geheim" not in str(raised.value)


async def test_no_call_leaves_the_machine_in_a_test() -> None:
    with pytest.raises(ConfigError, match="forbidden in tests"):
        await LiteLLMEmbedder("openai/text-embedding-3-small").embed(["a"])
