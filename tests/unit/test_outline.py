"""Outlines of large values: JSON within a room, the same each time, with a mark for omitted parts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soorma_ai.kernel.domain.values import Json, compact
from soorma_ai.kernel.rules.prompting.fence import fence
from soorma_ai.kernel.rules.prompting.outline import MORE, SMALLEST_ROOM, shorten, size_of
from soorma_ai.kernel.rules.prompting.spelling import size_of_text

texts = st.text(max_size=300) | st.text('<"…ü\U0001f600', max_size=100)
scalars = st.none() | st.booleans() | st.integers(-(10**60), 10**60) | st.floats(allow_nan=False) | texts
keys = st.text(max_size=60) | st.just(MORE)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=9) | st.dictionaries(keys, inner, max_size=9), max_leaves=60
)


def fenced_size(value: Json) -> int:
    """The size of a value between fences."""
    text = fence(value, 10**9).removeprefix("<data>").removesuffix("</data>")
    assert "<" not in text
    return size_of_text(text)


@given(documents, st.integers(0, 3_000))
def test_a_size_is_that_between_fences_and_its_count_stops_at_the_bound(value: Json, most: int) -> None:
    size = fenced_size(value)
    for asked in (most, size, size - 1, size + 1):
        assert size_of(value, asked) == min(size, asked + 1)


@given(documents, st.integers(SMALLEST_ROOM, 1_500))
def test_a_shortened_value_is_json_within_its_room_and_the_same_each_time(value: Json, room: int) -> None:
    short = shorten(value, room)
    assert fenced_size(short) <= room
    assert json.loads(compact(short)) == short == shorten(json.loads(compact(value)), room)
    if fenced_size(value) <= room:
        assert short == value


ORDERS: Any = [{"id": f"A{n}", "lines": ["x"] * n} for n in range(40)]


@pytest.mark.parametrize(
    ("value", "room", "shown"),
    [
        ({"b": 1, "a": [2]}, 40, {"b": 1, "a": [2]}),
        ("x" * 100, 40, "xxxxxxxxxxxxx... (87 characters more)"),
        ("\U0001f600" * 10, 60, "\U0001f600\U0001f600\U0001f600... (7 characters more)"),
        (10**50, 45, "1000000000000000000... (32 characters more)"),
        ([*range(30)], 50, [*range(13), {MORE: "17 more"}]),
        ([[*range(99)]] * 9, 40, [{MORE: "9 more"}]),
        ({"a": [*range(99)], "c": 1}, 60, {"a": [*range(12), {MORE: "87 more"}], "c": 1}),
        ({f"k{n:02}": n for n in range(30)}, 60, {**{f"k0{n}": n for n in range(5)}, MORE: "25 more"}),
        ({"x" * 5_000: 1, "y": 2}, 80, {"y": 2, MORE: "1 more"}),
        ({"orders": ORDERS, "n": 40}, 150, {"orders": [*ORDERS[:3], {MORE: "37 more"}], "n": 40}),
    ],
)
def test_omitted_parts_are_counted(value: Json, room: int, shown: Json) -> None:
    assert shorten(value, room) == shown


def test_an_author_cannot_forge_the_mark_of_omitted_parts() -> None:
    told = shorten({MORE: "nothing", "a": "x" * 99, "b": [*range(99)]}, 100)
    assert isinstance(told, dict) and told[MORE] == "2 more"


@pytest.mark.parametrize(
    "value",
    [
        [0] * 1_000_000,
        ["x" * 1_000_000] * 1_000,
        {f"{n}": 0 for n in range(200_000)},
        {"x" * 100_000 + f"{n}": 0 for n in range(100)},
        [{f"{n}": [0] * 999 for n in range(999)}] * 999,
    ],
    ids=["many items", "long texts", "many keys", "long keys", "wide"],
)
def test_shortening_a_huge_value_reads_only_a_part_of_it(value: Json) -> None:
    """The largest of these would be gigabytes of text."""
    assert 0 < fenced_size(shorten(value, 2_000)) <= 2_000


def test_a_value_of_the_greatest_depth_is_shortened() -> None:
    deep: Json = "x" * 9_000
    for _ in range(99):
        deep = [deep, deep]
    assert fenced_size(shorten(deep, 6_000)) <= 6_000
