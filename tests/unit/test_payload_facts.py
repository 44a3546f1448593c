"""A payload as one-line facts."""

from typing import Any

import pytest

from soorma_ai.features.human_tasks.pages.facts import Fact, facts_of


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ACME", "ACME"),
        ("5", "5"),
        (5.0, "5.0"),
        (True, "true"),
        (None, "null"),
        ("", '""'),
        (" ", '" "'),
        ({"a": [1]}, '{"a": [1]}'),
        ("a\u202eb", "a\\u202eb"),
        ("x" * 400, "x" * 159 + "…"),
    ],
)
def test_a_value_is_one_bounded_line_of_visible_characters(value: Any, shown: str) -> None:
    assert facts_of({"name": value}).rows == (Fact("name", shown),)


def test_facts_are_whole_if_a_phone_shows_the_whole_payload() -> None:
    assert facts_of({}).is_whole
    assert facts_of({"a": "x" * 50}).is_whole
    assert not facts_of({"a": "x" * 51}).is_whole
    six = dict.fromkeys("abcdef", "x" * 27)
    assert (facts_of(six).is_dense, facts_of(six).is_whole) == (True, False)
    eleven = facts_of({str(number): 1 for number in range(11)})
    assert (len(eleven.rows), eleven.others, eleven.is_whole) == (10, 1, False)


def test_a_field_unlike_the_last_approved_payload_is_marked() -> None:
    data: Any = {"same": {"a": 1}, "other": True, "new": None}
    facts = facts_of(data, {"same": {"a": 1.0}, "other": 1})
    assert [one.is_new for one in facts.rows] == [False, True, True]
    assert not any(one.is_new for one in facts_of(data).rows)
