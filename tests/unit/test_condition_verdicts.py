"""A model's verdict on a condition."""

from typing import Any

import pytest

from soorma_ai.adapters.extraction import parse_holds
from soorma_ai.errors import MalformedDecision


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"holds": True, "detail": "look for owls"}, (True, "look for owls")),
        ({"holds": False, "reasoning": "no"}, (False, "")),
        ({"holds": True, "detail": 7}, (True, "")),
    ],
)
def test_a_verdict_has_a_truth_value_and_a_detail(value: Any, found: tuple[bool, str]) -> None:
    assert parse_holds(value, "") == found


@pytest.mark.parametrize(
    ("value", "fault", "told"),
    [(None, "it was cut", "it was cut"), ([], "", "no JSON object"), ({}, "", "found None"), ({"holds": 1}, "", "1")],
)
def test_any_other_answer_is_refused(value: Any, fault: str, told: str) -> None:
    with pytest.raises(MalformedDecision, match=told):
        parse_holds(value, fault)
