"""The difference of two payloads, field by field."""

from typing import Any

import pytest

from soorma_ai.features.human_tasks.difference import MOST_CHANGES, ValueChange, difference
from soorma_ai.surfaces.forms.shapes import ABSENT


@pytest.mark.parametrize(
    ("was", "now", "changes"),
    [
        ({"a": 1}, {"a": 1}, ()),
        ({"a": 1}, {"a": 1.0}, ()),
        ({"a": 1}, {"a": 2}, (ValueChange("$.a", 1, 2),)),
        ({"a": 1}, {"a": True}, (ValueChange("$.a", 1, True),)),
        ({"a": 1}, {}, (ValueChange("$.a", 1, ABSENT),)),
        ({}, {"a": None}, (ValueChange("$.a", ABSENT, None),)),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, (ValueChange("$.a[1]", 2, 3), ValueChange("$.a[2]", ABSENT, 4))),
        ({"a": {"b c": "x"}}, {"a": {"b c": "y"}}, (ValueChange('$.a["b c"]', "x", "y"),)),
        ({"a": {"b": 1}}, {"a": [1]}, (ValueChange("$.a", {"b": 1}, [1]),)),
    ],
)
def test_a_difference_names_each_path_with_its_old_and_new_value(was: Any, now: Any, changes: Any) -> None:
    assert difference(was, now).changes == changes


def test_a_huge_difference_is_cut() -> None:
    found = difference({}, {str(number): number for number in range(10_000)})
    assert len(found.changes) == MOST_CHANGES
    assert found.is_cut
