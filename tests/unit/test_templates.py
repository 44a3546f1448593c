"""Templates, filled once from a plan's values; a filled-in value is never a template."""

from typing import Any

import pytest

from soorma_ai.errors import PayloadMismatch
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.state_machine.templates import fill, is_template, templates_in

VIEW: JsonObject = {
    "goal_data": {"limit": 3, "tag": "{results.s}"},
    "results": {"s": {"n": [1, 2]}},
    "state": {"seen": True},
    "plan_id": "p",
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{goal_data.limit}", 3),
        ("{{goal_data.limit}}", 3),
        ("{{ goal_data.limit }}", 3),
        ("at most {goal_data.limit}", "at most 3"),
        ("{results.s}", {"n": [1, 2]}),
        ("all of {results.s}", 'all of {"n":[1,2]}'),
        ("{results.s.n.1}", 2),
        ("{goal_data.tag}", "{results.s}"),
        ("see {goal_data.tag}", "see {results.s}"),
        ('{"json": 1} and {} and { x }', '{"json": 1} and {} and { x }'),
        ([{"a": "{plan_id}"}, 5, None], [{"a": "p"}, 5, None]),
        ("{goal_data.limit}: {results.s.n.0} of {{ results.s.n }}", "3: 1 of [1,2]"),
    ],
)
def test_a_template_is_filled_with_values_of_the_plan(template: Any, value: Any) -> None:
    assert fill(template, VIEW) == value


@pytest.mark.parametrize(
    "template",
    [
        "{goal_data.none}",
        "x {results.s.n.7}",
        "{results.s.n.first}",
        "{results.s.n.²}",
        f"{{results.s.n.{'9' * 5_000}}}",
    ],
)
def test_a_missing_value_is_a_payload_mismatch(template: str) -> None:
    with pytest.raises(PayloadMismatch, match="cannot be filled in"):
        fill(template, VIEW)


def test_templates_are_told_apart_from_text_and_every_path_is_found() -> None:
    texts = ("{a.b}", "{{ a }}", "of {a}", "{a}{b}", "{}")
    assert [text for text in texts if is_template(text)] == ["{a.b}", "{{ a }}"]
    assert [*templates_in({"x": ["{a.b} and {{c}}", 5], "y": {"z": "{d}"}})] == ["a.b", "c", "d"]
