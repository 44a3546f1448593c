"""The state of a journey: export and import."""

from typing import Any

import pytest

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.phases.export import export, move_key, moves_in, read_state, work_key, works_in
from soorma_ai.features.phases.records import OpenTransition
from soorma_ai.features.phases.rules import begin_in, keep_message, move_on, record_of, write_journey_state
from soorma_ai.kernel.domain.values import Json
from unit.kit import NOW
from unit.test_phases import GRAPH

THERE, BACK = OpenTransition("B", "a_done", False), OpenTransition("A", "more_needed", True, detail="owls")


def rows() -> dict[str, Json]:
    first = begin_in("A")
    second = move_on(first, THERE, {})
    return {
        "brief": {"topic": "owls"},
        "standing": write_journey_state(move_on(second, BACK, {})),
        move_key(1): record_of(first, THERE, NOW),
        move_key(2): record_of(second, BACK, NOW),
        work_key("A", 1): {"n": 1},
        work_key("B", 1): {"n": 2},
        "context:found": ["mice"],
        "messages": keep_message([], "hello"),
    }


def test_an_exported_state_is_imported_unchanged() -> None:
    state = export(rows(), "Writer", "p-1")
    again = read_state(state, "Writer", GRAPH)
    assert again == {key: row for key, row in rows().items() if key != "brief"}
    assert state["mode_data"]["brief"] == {"topic": "owls"}  # type: ignore[index,call-overload]


def test_an_exported_state_has_the_fields_of_the_document() -> None:
    state: Any = export(rows(), "Writer", "p-1")
    assert {*state} >= {"agent_type", "current_phase", "phase_context", "transition_history", "mode_data"}
    assert {*state["transition_history"][0]} >= {"from", "to", "reason", "is_backward", "timestamp"}
    context = state["phase_context"]
    assert (context["phase_visits"], context["backward_trigger"]) == ({"A": 2, "B": 1}, "more_needed")
    assert (context["backward_trigger_detail"], context["found"]) == ("owls", ["mice"])


def test_moves_and_works_are_read_in_their_order() -> None:
    assert [row["to"] for row in moves_in(rows())] == ["B", "A"]
    assert works_in({**rows(), work_key("A", 2): 3}, "A") == {1: {"n": 1}, 2: 3}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"agent_type": "Cook"}, "one of 'Cook', and this agent is 'Writer'"),
        ({"agent_type": None}, "one of None"),
        ({"current_phase": "END"}, "complete"),
        ({"current_phase": "X"}, "'X'"),
        ({"current_phase": 7}, "phase"),
        ({"phase_context": 7}, "'phase_context' of the state must be an object"),
        ({"phase_context": {"phase_visits": {"A": "many"}}}, "visits"),
        ({"transition_history": {}}, "visits|transition"),
        ({"transition_history": [7]}, "a transition of the state must tell"),
        ({"mode_data": {"work": {"A": 1}}}, "names no phase and visit"),
        ({"mode_data": {"work": {"A:B:1": 1}}}, "names no phase and visit"),
        ({"mode_data": {"work": {f"A:{n}": n for n in range(1001)}}}, "more than 1000"),
        ({"transition_history": [{}] * 1001}, "more than 1000"),
        ({"mode_data": {"messages": "hi"}}, "must be a list"),
    ],
)
def test_an_unusable_state_is_refused_with_the_reason(changes: dict[str, Any], told: str) -> None:
    state = export(rows(), "Writer", "p-1")
    if "transition_history" in changes and changes["transition_history"] == {}:
        changes = {**changes, "phase_context": {}}
    with pytest.raises(LocalProtocolError, match=told):
        read_state({**state, **changes}, "Writer", GRAPH)
