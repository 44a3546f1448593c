"""Semantic search: each text is embedded once, and words replace an absent embedder."""

from collections.abc import Sequence
from typing import Any

import pytest

from soorma_ai.embeddings.semantic_search import QUERY_CHARS, TEXTS_AT_ONCE, SemanticSearch
from soorma_ai.errors import ModelUnavailable
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.testing.clock import VirtualClock

COLOURS = ("red", "green", "blue")


class ByColour:
    """Counts the colours in a text."""

    name = "colours-1"

    def __init__(self) -> None:
        self.embedded = list[str]()
        self.fault: Exception | None = None
        self.wrong: Any = None

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self.fault is not None:
            raise self.fault
        self.embedded += texts
        assert len(texts) <= TEXTS_AT_ONCE
        if self.wrong is not None:
            return self.wrong()
        return [[0.01, *(float(text.count(colour)) for colour in COLOURS)] for text in texts]


def paint(*colours: str) -> list[EventDefinition]:
    return [EventDefinition(event_name=f"paint.{n}", description=colour) for n, colour in enumerate(colours)]


async def test_each_text_is_embedded_once_while_it_is_unchanged() -> None:
    embedder = ByColour()
    meanings = SemanticSearch(embedder)
    walls = paint("red", "green", "blue")
    assert await meanings.rank(walls, "a green wall", 1, VirtualClock()) == ["paint.1"]
    assert await meanings.rank(walls, "a blue wall", 1, VirtualClock()) == ["paint.2"]
    assert len(embedder.embedded) == 3 + 2
    assert await meanings.rank(paint("red", "red and blue", "blue"), "red blue", 1, VirtualClock()) == ["paint.1"]
    assert len(embedder.embedded) == 5 + 1 + 1


async def test_many_events_are_embedded_in_parts() -> None:
    embedder = ByColour()
    assert len(await SemanticSearch(embedder).rank(paint(*(["red"] * 300)), "red", 400, VirtualClock())) == 300
    assert len(embedder.embedded) == 301


async def test_words_are_compared_while_the_embedder_is_away() -> None:
    embedder = ByColour()
    meanings = SemanticSearch(embedder)
    embedder.fault = ModelUnavailable("away")
    assert await meanings.rank(paint("red"), "red", 1, VirtualClock()) == []
    embedder.fault = None
    assert await meanings.rank(paint("red"), "red", 1, VirtualClock()) == ["paint.0"]


@pytest.mark.parametrize("wrong", [[[1.0]] * 2, [["a", "b", "c", "d"]], [[0.0] * 4], [None], None, 7])
async def test_an_invalid_vector_is_logged_once_and_words_are_compared(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = ByColour()
    meanings = SemanticSearch(embedder)
    await meanings.rank(paint("red"), "red", 1, VirtualClock())
    embedder.wrong = lambda: wrong
    for _ in range(2):
        assert await meanings.rank(paint("red"), "blue", 1, VirtualClock()) == []
    assert [record.getMessage().split()[0] for record in caplog.records] == ["embedder_away"]
    embedder.wrong = None
    assert await meanings.rank(paint("red"), "red", 1, VirtualClock()) == ["paint.0"]


async def test_all_texts_are_embedded_anew_when_the_length_of_vectors_changes() -> None:
    embedder = ByColour()
    meanings = SemanticSearch(embedder)
    await meanings.rank(paint("red"), "red", 1, VirtualClock())
    embedder.wrong = lambda: [[1.0]]
    assert await meanings.rank(paint("red"), "blue", 1, VirtualClock()) == []
    assert await meanings.rank(paint("red"), "blue", 1, VirtualClock()) == ["paint.0"]


async def test_only_the_beginning_of_an_endless_query_is_embedded() -> None:
    embedder = ByColour()
    await SemanticSearch(embedder).rank(paint("red"), "red " * 99_999, 1, VirtualClock())
    assert max(map(len, embedder.embedded)) == QUERY_CHARS


@pytest.mark.parametrize("query", ["", "  "])
async def test_a_query_without_words_is_not_embedded(query: str) -> None:
    embedder = ByColour()
    assert await SemanticSearch(embedder).rank(paint("red"), query, 1, VirtualClock()) == []
    assert await SemanticSearch(embedder).rank([], "red", 1, VirtualClock()) == []
    assert embedder.embedded == []
