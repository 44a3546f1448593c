"""References to results: their values, their faults, their limits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soorma_ai.errors import MalformedDecision, NotAllowed, PayloadMismatch
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.values import Json, compact
from soorma_ai.kernel.rules.prompting.references import (
    FROM,
    MOST_RESOLVED,
    Reference,
    brings_result,
    look_up,
    name_of,
    parse_reference,
    resolve,
    resolve_decision,
    results_of,
    slice_of,
    steps_referred_to,
)
from unit.kit import NOW

ITEMS: Any = [{"id": "a", "tags": []}, {"id": "b", "a.b": {"0": "zero"}}, {"id": "c", "": None}]
RESULTS: Any = {0: {"order_id": "A1"}, 3: {"items": ITEMS, "total": 3}, 12: "plain", 13: None, 14: {}}


HUGE: Any = [["x" * 1_000_000] * 1_000] * 1_000


def steps_of(data: dict[str, Json]) -> set[int]:
    return steps_referred_to(PlannerDecision(next_action=PublishAction(event_type="part.asked", data=data)))


def reference_to(text: str, **beside: Json) -> dict[str, Json]:
    return {FROM: text, **beside}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("step3.result", RESULTS[3]),
        ("step3.result.total", 3),
        ("step3.result.items[0].id", "a"),
        ("step3.result.items.0.id", "a"),
        ("step3.result.items[0].tags", []),
        ('step3.result.items[1]["a.b"].0', "zero"),
        ('step3.result["items"][1]["a.b"][0]', "zero"),
        ('step3.result.items[2][""]', None),
        ("step3.result.items[1:]", ITEMS[1:]),
        ("step3.result.items[0:2]", ITEMS[:2]),
        ("step3.result.items[:99]", ITEMS),
        ("step3.result.items[1:2][0].id", "b"),
        ("step12.result", "plain"),
        ("step13.result", None),
        ("step0.result.order_id", "A1"),
    ],
)
def test_a_reference_stands_for_the_value_at_its_path(text: str, value: Json) -> None:
    assert look_up(parse_reference(text), RESULTS) == value
    assert resolve({"data": [reference_to(text)]}, RESULTS) == {"data": [value]}
    assert slice_of(parse_reference(text), RESULTS, 1_000) == value


@given(st.integers(0, 10**9 - 1), st.lists(st.text(max_size=5) | st.integers(0, 99).map(str), max_size=5))
def test_every_reference_survives_a_round_trip(step: int, path: list[str]) -> None:
    reference = Reference(step, tuple(path))
    assert parse_reference(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step4.result", "there is no step4.result: only what came has a result"),
        ("step3.result.itms", 'no step3.result.itms: step3.result is an object with the keys "items", "total"'),
        ("step3.result.items[3]", "no step3.result.items[3]: step3.result.items is a list of 3, from [0] to [2]"),
        ("step3.result.items.id", "step3.result.items is a list of 3"),
        ("step3.result.items[3:9]", "no step3.result.items[3:9]"),
        ("step3.result.items[2:1]", "no step3.result.items[2:1]"),
        ("step3.result.items[99999999999999999999]", "a list of 3"),
        ("step3.result.items.²", "a list of 3"),
        ("step3.result.items[0].tags[0]", "step3.result.items[0].tags is an empty list"),
        ("step3.result.total.x", "step3.result.total is 3, with nothing in it"),
        ("step12.result.x", 'step12.result is the text "plain", with nothing in it'),
        ("step13.result.x", "step13.result is null, with nothing in it"),
        ("step14.result.x", "step14.result is an object without keys"),
    ],
)
def test_a_path_to_nowhere_names_its_last_valid_part_and_the_value_there(text: str, said: str) -> None:
    with pytest.raises(PayloadMismatch) as refused:
        resolve([reference_to(text)], RESULTS)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "step3",
        "step3.results",
        "step3.data.items",
        "Step 3.result",
        " step3.result",
        "step3.result.",
        "step3.result.items[]",
        "step3.result.items[-1]",
        "step3.result.items[x]",
        "step3.result..id",
        'step3.result["\\x"]',
        "step1234567890.result",
        "step3.result\n.id",
    ],
)
def test_a_malformed_reference_is_refused(text: str) -> None:
    for refusing in (lambda: resolve(reference_to(text), RESULTS), lambda: steps_of({"a": [reference_to(text)]})):
        with pytest.raises(MalformedDecision, match=r"step<number>\.result|JSON's spelling"):
            refusing()


def test_a_key_beside_a_reference_is_refused_and_named() -> None:
    with pytest.raises(MalformedDecision, match='stands beside "to", "unit"'):
        resolve({"range": reference_to("step3.result.total", unit="EUR", to=9)}, RESULTS)


@pytest.mark.parametrize(
    "data",
    [
        reference_to("2026-11-01", to="2026-11-30"),
        reference_to("2026-11-01"),
        reference_to("steps of the house"),
        reference_to("stepmother.result"),
        {FROM: 3},
        {FROM: ["step3.result"]},
        {"from": "step3.result"},
        {"x": "step3.result"},
        "step3.result",
        {},
    ],
)
def test_a_field_named_like_a_reference_is_unchanged(data: Json) -> None:
    assert steps_of({"data": data}) == set()
    assert resolve({"data": data}, RESULTS) == {"data": data}


def test_the_steps_of_a_payloads_references_are_known_before_their_results() -> None:
    payload: dict[str, Json] = {
        "a": reference_to("step3.result"),
        "b": [reference_to("step12.result"), {"c": reference_to("step3.result.total")}],
    }
    assert steps_of(payload) == {3, 12}


def test_references_inside_a_result_are_never_followed() -> None:
    """An agent could otherwise copy another agent's result into the model's next request."""
    planted: dict[int, Json] = {
        **RESULTS,
        5: {"note": reference_to("step3.result"), "deep": [reference_to("step3.result", x=1)]},
    }
    assert resolve({"x": reference_to("step5.result")}, planted) == {"x": planted[5]}


def test_resolving_leaves_the_payload_unchanged() -> None:
    payload: Json = {"x": [reference_to("step12.result")]}
    assert resolve(payload, RESULTS) == {"x": ["plain"]}
    assert payload == {"x": [reference_to("step12.result")]}


def test_the_values_of_all_references_are_bounded_together() -> None:
    results: dict[int, Json] = {1: "x" * (MOST_RESOLVED // 4 - 2)}
    four: list[Json] = [reference_to("step1.result")] * 4
    assert len(compact(resolve(four, results))) > MOST_RESOLVED
    with pytest.raises(NotAllowed, match="larger than 256000 characters together"):
        resolve([*four, reference_to("step1.result")], results)
    with pytest.raises(NotAllowed):
        resolve(reference_to("step1.result"), {1: HUGE})


def nested_lists(levels: int, inmost: Json) -> Json:
    for _ in range(levels):
        inmost = [inmost]
    return inmost


@pytest.mark.parametrize(("outside", "inside"), [(50, 51), (101, 0), (0, 101), (5_000, 0)])
def test_a_payload_nested_too_deep_after_resolving_is_refused(outside: int, inside: int) -> None:
    assert resolve(nested_lists(40, reference_to("step1.result")), {1: nested_lists(50, 1)}) == nested_lists(90, 1)
    with pytest.raises(NotAllowed, match="deeper than 100 levels"):
        resolve(nested_lists(outside, reference_to("step1.result")), {1: nested_lists(inside, 1)})


def test_a_slice_larger_than_its_room_is_an_outline() -> None:
    results: dict[int, Json] = {2: {"rows": [{"n": n} for n in range(500)]}}
    assert slice_of(parse_reference("step2.result.rows[400:402]"), results, 60) == [{"n": 400}, {"n": 401}]
    outline: Json = [{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"...": "495 more"}]
    assert slice_of(parse_reference("step2.result.rows"), results, 60) == outline


@pytest.mark.parametrize("kind", StepKind)
def test_only_incoming_steps_have_a_result(kind: StepKind) -> None:
    came = (StepKind.GOAL, StepKind.REPLIED, StepKind.ANSWERED, StepKind.RECEIVED, StepKind.LATE)
    step = Step("p-1", 7, kind, NOW, "x", {"a": 1})
    assert brings_result(step) is (kind in came)
    assert results_of([step]) == ({7: {"a": 1}} if kind in came else {})
    assert name_of(7, ("items", "0", "a b", "c.d", "1:2")) == 'step7.result.items[0].a b["c.d"][1:2]'


TOTAL = {FROM: "step3.result.total"}


@pytest.mark.parametrize(
    ("action", "resolved"),
    [
        (PublishAction(event_type="pay", data={"sum": TOTAL}), {"data": {"sum": 3}}),
        (DelegateAction(target_planner="p", goal_event="g", goal_data={"sum": TOTAL}), {"goal_data": {"sum": 3}}),
        (CompleteAction(result=[TOTAL]), {"result": [3]}),
        (WaitAction(expected_event="paid"), {}),
    ],
)
def test_a_decision_carries_the_results_it_refers_to(action: Any, resolved: dict[str, Json]) -> None:
    decision = PlannerDecision(next_action=action)
    assert steps_referred_to(decision) == ({3} if resolved else set())
    found = resolve_decision(decision, RESULTS).next_action
    assert found == action.model_copy(update=resolved)


def test_each_request_of_publish_all_carries_its_own_results() -> None:
    one, two = (PublishAction(event_type="pay", data={"sum": meant}) for meant in (TOTAL, {FROM: "step12"}))
    with pytest.raises(MalformedDecision):
        steps_referred_to(PlannerDecision(next_action=PublishAllAction(requests=(one, two))))
    found = resolve_decision(PlannerDecision(next_action=PublishAllAction(requests=(one, one))), RESULTS).next_action
    assert isinstance(found, PublishAllAction)
    assert [request.data for request in found.requests] == [{"sum": 3}, {"sum": 3}]
