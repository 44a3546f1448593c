"""The difference of two payloads, field by field."""

from typing import Any

import pytest

from soorma_ai.features.human_tasks.difference import MOST_CHANGES, Change, difference
from soorma_ai.surfaces.forms.shapes import ABSENT


@pytest.mark.parametrize(
    ("was", "now", "changes"),
    [
        ({"a": 1}, {"a": 1}, ()),
        ({"a": 1}, {"a": 1.0}, ()),
        ({"a": 1}, {"a": 2}, (Change("$.a", 1, 2),)),
        ({"a": 1}, {"a": True}, (Change("$.a", 1, True),)),
        ({"a": 1}, {}, (Change("$.a", 1, ABSENT),)),
        ({}, {"a": None}, (Change("$.a", ABSENT, None),)),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, (Change("$.a[1]", 2, 3), Change("$.a[2]", ABSENT, 4))),
        ({"a": {"b c": "x"}}, {"a": {"b c": "y"}}, (Change('$.a["b c"]', "x", "y"),)),
        ({"a": {"b": 1}}, {"a": [1]}, (Change("$.a", {"b": 1}, [1]),)),
    ],
)
def test_a_difference_names_each_place_with_what_was_and_what_is(was: Any, now: Any, changes: Any) -> None:
    assert difference(was, now).changes == changes


def test_of_endless_differences_so_many_are_told() -> None:
    found = difference({}, {str(number): number for number in range(10_000)})
    assert len(found.changes) == MOST_CHANGES
    assert found.is_cut
