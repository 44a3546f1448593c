"""What the oracle found: an answer beside the closed schema of its branch was taken for a decision."""

import pytest

from soorma_ai.core.deciding.judge import parse_decision
from soorma_ai.domain.decisions import WaitAction
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import MalformedDecision

WAIT: JsonObject = {"action": "wait", "expected_event": "user.replied", "message": "Which one?"}
PUBLISH: JsonObject = {"action": "publish:stock.reserve", "data": {}}


def without(step: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in step.items() if key != name}


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (without(WAIT, "message"), "has no message"),
        (WAIT | {"message": None}, "step.message"),
        (without(WAIT, "expected_event"), "has no expected_event"),
        (WAIT | {"timeout_seconds": "600"}, "step.timeout_seconds"),
        (WAIT | {"timeout_seconds": True}, "step.timeout_seconds"),
        (WAIT | {"reason": "approval"}, "holds reason"),
        (without(PUBLISH, "data"), "has no data"),
        (PUBLISH | {"event_type": "money.send"}, "holds event_type"),
        ({"action": "delegate:other/goal"}, "has no data"),
        ({"action": "delegate:other/goal", "data": {}, "target_planner": "third"}, "holds target_planner"),
        ({"action": "complete"}, "has no result"),
    ],
)
def test_a_step_beside_its_branch_of_the_schema_is_no_decision(step: JsonObject, told: str) -> None:
    with pytest.raises(MalformedDecision, match=told):
        parse_decision({"reasoning": "?", "step": step}, "")


def test_an_optional_field_may_be_left_out_or_null() -> None:
    for step in (WAIT, WAIT | {"timeout_seconds": None}):
        action = parse_decision({"reasoning": "?", "step": step}, "").next_action
        assert action == WaitAction(expected_event="user.replied", message="Which one?")
