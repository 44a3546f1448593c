"""The sentence of a question, filled from its payload."""

from typing import Any

import pytest

from soorma_ai.kernel.rules.waits.sentences import MOST_CHARS, fill_sentence


@pytest.mark.parametrize(
    ("text", "data", "sentence"),
    [
        ("Pay {amount} $ to {to.name}", {"amount": 1840.0, "to": {"name": "ACME"}}, "Pay 1,840 $ to ACME"),
        ("{a} {b} {c} {d}", {"a": -1234567, "b": 0.25, "c": True, "d": None}, "-1,234,567 0.25 true null"),
        ("{a}", {"a": 1e300}, "1e+300"),
        ("{a}", {"a": [1, {"b": 2}]}, '[1,{"b":2}]'),
        ("{missing} {a.b} {}", {"a": 1}, "{missing} {a.b} {}"),
        ("{a}", {"a": "{b}", "b": "no template"}, "{b}"),
        ("to {a}.", {"a": "x\u202etpircs\nline"}, "to x tpircs line."),
        ("nothing to fill in", {}, "nothing to fill in"),
    ],
)
def test_a_sentence_shows_the_payloads_value_for_each_field_it_names(text: str, data: Any, sentence: str) -> None:
    assert fill_sentence(text, data) == sentence


def test_a_long_value_in_a_sentence_is_cut() -> None:
    assert len(fill_sentence("{a}", {"a": "W" * 2**20})) == MOST_CHARS
