"""State machines as tables: their faults, and the transitions of an event."""

from typing import Any

import pytest

from soorma_ai import EventEnvelope, PlanDefinition, StateAction, StateConfig, StateTransition
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.states import initial_of, states_of
from soorma_ai.kernel.rules.state_machine.machine import check, expected_reply, names_after, names_of, next_state
from unit.kit import event, failure_event, success_event

ASK = {"event_type": "a.asked", "response_event": "a.completed"}
END: dict[str, Any] = {"is_terminal": True}


def way(on: str, to: str, condition: str | None = None) -> dict[str, Any]:
    return {"on_event": on, "to_state": to, "condition": condition}


def fault(machine: dict[str, Any], initial: str = "start") -> str:
    with pytest.raises(ConfigError) as raised:
        check(states_of(machine), initial)
    return str(raised.value)


ONE = {"start": {"action": ASK, "transitions": [way("a.completed", "end")]}, "end": END}

FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"start": StateConfig(state_name="other", default_next="end"), "end": END}, "calls itself 'other'"),
    ({"begin": {"default_next": "end"}, "end": END}, "there is no state 'start' to begin in"),
    ({"start": {"default_next": "ennd"}, "end": END}, "'start' leads to 'ennd', which is no state; did you mean 'end'"),
    ({"start": {"transitions": [way("x", "nowhere")]}, "end": END}, "'start' leads to 'nowhere', which is no state"),
    (ONE | {"island": {"default_next": "end"}}, "no way leads to 'island'"),
    ({"start": {"transitions": [way("x", "start")]}}, "no terminal state can be reached from 'start'"),
    ({"start": {}}, "no terminal state can be reached from 'start'"),
    ({"start": {"default_next": "end"}, "end": END | {"default_next": "start"}}, "'end' is terminal"),
    ({"start": {"default_next": "end"}, "end": END | {"action": ASK}}, "'end' is terminal"),
    ({"start": {"default_next": "end", "outcome": "failed"}, "end": END}, "'start' is not terminal"),
    (
        {"start": {"action": ASK, "transitions": [way("a.failed", "end")]}, "end": END},
        "'start' asks 'a.asked', and no transition takes its answer 'a.completed'",
    ),
    (
        {"start": {"transitions": [way("x", "end", "payload.x >")]}, "end": END},
        "a condition of 'start' cannot be used: 'payload.x >' is no CEL expression",
    ),
    (
        {"start": {"transitions": [way("x", "end", "paylaod.x > 1")]}, "end": END},
        "'paylaod.x > 1' uses paylaod; there are payload, data, goal_data, results, state",
    ),
    (
        {"start": {"action": ASK | {"data": {"q": ["on {goal.x}"]}}, "default_next": "end"}, "end": END},
        "a template of 'start' names nothing known: {goal.x}",
    ),
    (
        {"start": {"action": ASK | {"data": {"q": "{{results.strat.x}}"}}, "default_next": "end"}, "end": END},
        "{results.strat.x} (results are kept by the name of their state; did you mean 'start')",
    ),
    ({"start": {"default_next": "end"}, "end": END | {"result": "{nope}"}}, "a template of 'end' names nothing known"),
    (
        {"start": {"default_next": "b"}, "b": {"default_next": "start", "transitions": [way("x", "end")]}, "end": END},
        "'start' comes back to itself by default_next alone; 'b' comes back to itself",
    ),
]


@pytest.mark.parametrize(("machine", "words"), FAULTY)
def test_a_fault_names_its_state_and_its_reason(machine: dict[str, Any], words: str) -> None:
    assert words in fault(machine)


def test_every_fault_is_reported_at_once() -> None:
    told = fault(
        {
            "start": {"transitions": [way("x", "nowhere", "("), way("y", "end")]},
            "end": END | {"result": "{nope}"},
            "island": {"default_next": "end"},
        }
    )
    assert [words in told for words in ("'nowhere'", "'island'", "condition of 'start'", "{nope}")] == [True] * 4


def test_a_machine_without_faults_is_accepted() -> None:
    check(states_of(ONE))
    check(states_of(ONE | {"start": ONE["start"] | {"description": "{goal_data}"}}))
    for condition in ("payload.l.all(x, x.n > 1)", "size(payload.l.filter(x, x > 1).map(n, n + 1)) > 2"):
        check(states_of(ONE | {"start": {"action": ASK, "transitions": [way("a.completed", "end", condition)]}}))
    check(states_of(PlanDefinition(plan_type="p", states=states_of(ONE))))


@pytest.mark.parametrize(
    ("came", "names"),
    [
        (event("a.completed", success=True), {"a.completed"}),
        (event("other", x=1), {"other"}),
        (failure_event("a.failed", "network"), {"a.failed", "network"}),
        (failure_event("a.timeout", "timeout"), {"a.timeout", "timeout", "a.failed", "a.asked.timeout"}),
        (failure_event("a.rejected", "rejected"), {"a.rejected", "rejected", "a.failed"}),
        (failure_event("a.failed", "task.timeout"), {"a.failed", "task.timeout"}),
        (event("a.failed", success=False, error="words"), {"a.failed", "failed"}),
    ],
)
def test_an_event_matches_transitions_by_its_type_and_its_failure_code(came: EventEnvelope, names: set[str]) -> None:
    assert names_of(came, states_of(ONE)["start"]) == names


VIEW: dict[str, Any] = {
    "goal_data": {"limit": 3},
    "results": {"s": {"n": [1, 2]}},
    "state": {"seen": True},
    "plan_id": "p",
}


@pytest.mark.parametrize(
    ("ways", "default", "came", "leads_to"),
    [
        ([way("a.completed", "x"), way("a.completed", "y")], None, event("a.completed"), "x"),
        ([way("a.completed", "x", "false"), way("a.completed", "y")], None, event("a.completed"), "y"),
        ([way("a.completed", "x", "payload.n > goal_data.limit")], None, event("a.completed", n=4), "x"),
        ([way("a.completed", "x", "payload.n > goal_data.limit")], None, event("a.completed", n=3), None),
        ([way("a.completed", "x", "payload > 1")], None, event("a.completed", result=2), "x"),
        ([way("a.completed", "x", "results.s.n[1] == 2 && state.seen")], None, event("a.completed"), "x"),
        ([way("a.completed", "x", "payload.missing == 1")], "z", event("a.completed"), "z"),
        ([way("a.completed", "x", "payload")], "z", event("a.completed", result="text"), "z"),
        ([way("a.completed", "x", "data.success && data.result > 1")], None, success_event("a.completed", 2), "x"),
        ([way("a.empty", "x")], "z", event("a.completed"), "z"),
        ([way("a.failed", "x")], "z", event("unrelated"), None),
        ([way("a.completed", "x")], "z", failure_event("a.failed", "c"), None),
        ([way("c", "x"), way("a.failed", "y")], None, failure_event("a.failed", "c"), "x"),
        ([way("a.failed", "y"), way("c", "x")], None, failure_event("a.failed", "c"), "y"),
    ],
)
def test_an_event_takes_the_first_transition_with_its_name_and_a_true_condition(
    ways: Any, default: str | None, came: EventEnvelope, leads_to: str | None
) -> None:
    config = StateConfig.model_validate(
        {"state_name": "s", "action": ASK, "transitions": ways, "default_next": default}
    )
    assert next_state(config, came, VIEW) == leads_to


@pytest.mark.parametrize(
    ("seconds", "given", "timeout"), [(None, None, None), (60, None, 60), (None, 30.0, 30), (60, 30.0, 60)]
)
def test_an_action_expects_every_event_of_its_state_within_its_timeout(seconds: Any, given: Any, timeout: Any) -> None:
    action = StateAction(event_type="a.asked", timeout_seconds=seconds)
    ways = [StateTransition(on_event=name, to_state="s") for name in ("b", "a.asked.completed", "b", "c")]
    found = expected_reply(StateConfig(state_name="s", transitions=ways), action, timeout=given)
    assert (found.timeout and found.timeout.total_seconds()) == timeout
    assert (found.event_type, found.others) == ("a.asked.completed", ("b", "c"))


@pytest.mark.parametrize(
    ("seconds", "is_gated", "more"),
    [
        (None, False, []),
        (5, False, ["a.timeout", "a.asked.timeout", "timeout"]),
        (None, True, ["a.rejected", "rejected"]),
    ],
)
def test_the_events_after_an_action_are_its_reply_failure_timeout_and_rejection(
    seconds: Any, is_gated: bool, more: list[str]
) -> None:
    action = StateAction(event_type="a.asked", response_event="a.completed", timeout_seconds=seconds)
    assert names_after(action, is_gated=is_gated) == ["a.completed", "a.failed", *more]


def test_a_malformed_machine_is_refused_and_a_definition_names_its_initial_state() -> None:
    for given in ("research", [1], {"start": 1}):
        with pytest.raises(ConfigError, match="is a mapping by names"):
            states_of(given)
    with pytest.raises(ConfigError, match=r"start\.action\.event_type: Field required.*end\.is_termnial: Extra inputs"):
        states_of({"start": {"action": {}}, "end": {"is_termnial": True}})
    assert initial_of(PlanDefinition(plan_type="p", initial_state="begin", states={})) == "begin"
    assert initial_of(ONE) == "start"
