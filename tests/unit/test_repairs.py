"""Repairs of a decision in another wrapping: accepted without a call, named, and never guessed."""

import json
from typing import Any

import pytest

from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.decisions.repairs import Repair, repair_step

NAMES = ("publish:order.ship", "publish:complete", "publish:find_steps", "delegate:buyer/buy", "wait:paid")
DATA: JsonObject = {"qty": 2}
STEP: JsonObject = {"action": "publish:order.ship", "data": DATA}
MEANT: JsonObject = {"reasoning": "Ship it.", "step": STEP}
DONE: JsonObject = {"action": "complete", "result": {"total": 3}}


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ({"reasoning": "Ship it.", **STEP}, ("a step without its wrapper",)),
        ({"Decision": MEANT}, ("in a wrapper 'Decision'",)),
        ({"answer": {"reasoning": "Ship it.", **STEP}}, ("in a wrapper 'answer'", "a step without its wrapper")),
        ({**MEANT, "step": json.dumps(STEP)}, ("the step as JSON text",)),
        ({**MEANT, "step": {**STEP, "data": json.dumps(DATA)}}, ("`data` as JSON text",)),
        ({**MEANT, "step": {**STEP, "action": "order.ship"}}, ("'order.ship' for 'publish:order.ship'",)),
    ],
)
def test_a_decision_in_another_wrapping_is_accepted(said: Any, how: tuple[str, ...]) -> None:
    assert repair_step(said, NAMES) == Repair(MEANT, how)


def test_each_request_of_publish_all_is_repaired() -> None:
    requests = [{"action": "order.ship", "data": json.dumps(DATA)}, STEP]
    said: JsonObject = {"reasoning": "", "step": {"action": "publish_all", "requests": requests}}  # type: ignore[dict-item]
    found = repair_step(said, NAMES)
    assert found.value == {"reasoning": "", "step": {"action": "publish_all", "requests": [STEP, STEP]}}
    assert found.how == ("'order.ship' for 'publish:order.ship'", "`data` as JSON text")


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_a_result_that_must_be_an_object_may_be_given_as_text(schema: Any) -> None:
    said = {"reasoning": "", "step": {**DONE, "result": json.dumps(DONE["result"])}}
    assert repair_step(said, NAMES, schema) == Repair({"reasoning": "", "step": DONE}, ("`result` as JSON text",))


def test_a_result_that_may_be_text_is_left_alone() -> None:
    said: Any = {"reasoning": "", "step": {**DONE, "result": '{"total": 3}'}}
    for schema in ({"type": "string"}, {"type": ["object", "string"]}):
        assert repair_step(said, NAMES, schema) == Repair(said)


@pytest.mark.parametrize(
    "said",
    [
        MEANT,
        None,
        [MEANT],
        {"reasoning": "?"},
        {"data": {"action": "publish:order.ship"}},
        {"a": MEANT, "b": MEANT},
        {"Decision": "publish:order.ship"},
        {**MEANT, "step": "ship it"},
        {**MEANT, "step": '{"action": "a", "action": "b"}'},
        {**MEANT, "step": {**STEP, "data": "[1]"}},
        {**MEANT, "step": {**STEP, "data": "two"}},
        {**MEANT, "step": {**STEP, "action": "order.shipp"}},
        {**MEANT, "step": {"action": "complete", "result": {}}},
        {**MEANT, "step": {"action": "find_steps", "words": "x"}},
        {**MEANT, "step": {"action": 5}},
    ],
)
def test_an_answer_that_needs_guessing_is_left_unchanged(said: Any) -> None:
    assert repair_step(said, NAMES) == Repair(said)
