"""Events by meaning: vectors and their distances."""

from collections.abc import Sequence

import pytest

from soorma_ai.embeddings.vectors import (
    MOST_CHARS,
    by_cosine,
    contenders,
    nearest,
    pack,
    read_vectors,
    text_of,
    unpacked_signs,
    vector_of,
)
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.registry import EventDefinition

AXES = {"north": (0.0, 1.0, 0.1), "east": (5.0, 0.0, 0.1), "north_east": (1.0, 1.0, 0.1), "south": (0.0, -3.0, 0.1)}


@pytest.mark.parametrize(
    ("wanted", "most", "names"),
    [
        ((0, 2, 0), 2, ["north", "north_east"]),
        ((1, 0.9, 0), 3, ["north_east", "east", "north"]),
        ((0, -1, 0), 1, ["south"]),
        ((0, 1, 0), 9, ["north", "north_east", "east", "south"]),
        ((0, 1, 0), 0, []),
    ],
)
def test_the_nearest_directions_come_first_at_any_length(wanted: Sequence[float], most: int, names: list[str]) -> None:
    events = {name: vector_of(numbers) for name, numbers in AXES.items()}
    assert nearest(events, vector_of(wanted), most) == names


def test_ties_are_broken_by_name() -> None:
    events = {name: vector_of([1, 2]) for name in ("c", "a", "b")}
    assert nearest(events, vector_of([2, 1]), 2) == ["a", "b"]


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_vector_without_a_direction_is_refused(numbers: list[float]) -> None:
    with pytest.raises(ConfigError, match="no direction"):
        vector_of(numbers)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([[1.0]], "1 vectors for 2 texts"),
        ([[1.0]] * 3, "3 vectors for 2 texts"),
        ([[1.0], [1.0, 2.0]], "several lengths, 1 and 2"),
        ([[1.0], [0.0]], "no direction"),
        ([[1.0] * 20_001] * 2, "at most 20,000"),
    ],
)
def test_an_embedder_gives_each_text_a_vector_of_one_length(found: list[list[float]], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_vectors(found, 2)


@pytest.mark.parametrize("texts", [0, 1, 3])
def test_vectors_are_read_in_the_order_of_their_texts(texts: int) -> None:
    given = [[1.0, float(n)] for n in range(texts)]
    assert read_vectors(given, texts) == [vector_of(numbers) for numbers in given]


def test_an_events_text_has_its_name_and_its_hints_and_is_bounded() -> None:
    told = EventDefinition(event_name="a.b", description="Do.", when_to_use="Now.", not_for="Not.", synonyms=("c", "d"))
    assert text_of(told) == "a.b\nDo.\nNow.\nc, d"
    assert len(text_of(EventDefinition(event_name="a", description="x" * 9_999))) == MOST_CHARS


def test_the_nearest_of_packed_vectors_come_first_and_other_lengths_are_skipped() -> None:
    vectors = {n: vector_of([1.0, n / 10, -1.0]) for n in range(20)}
    wanted = vector_of([1.0, 0.3, -1.0])
    stored = {n: pack(vector) for n, vector in vectors.items()}
    likely = contenders({n: unpacked_signs(signs) for n, (_, signs) in stored.items()}, wanted, 20)
    assert len(likely) == 20
    numbers = {n: stored[n][0] for n in likely} | {99: pack(vector_of([1.0, 2.0]))[0]}
    assert by_cosine(numbers, wanted, 3) == [3, 4, 2]
    assert unpacked_signs(pack(wanted)[1]) == wanted.signs
