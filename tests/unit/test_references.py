"""References to results: what they mean, what they do not mean, and what they may cost."""

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


def meant(text: str, **beside: Json) -> dict[str, Json]:
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
def test_a_reference_means_what_its_path_leads_to(text: str, value: Json) -> None:
    assert look_up(parse_reference(text), RESULTS) == value
    assert resolve({"data": [meant(text)]}, RESULTS) == {"data": [value]}
    assert slice_of(parse_reference(text), RESULTS, 1_000) == value


@given(st.integers(0, 10**9 - 1), st.lists(st.text(max_size=5) | st.integers(0, 99).map(str), max_size=5))
def test_every_reference_can_be_written_and_is_read_as_it_was(step: int, path: list[str]) -> None:
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
def test_where_a_path_leads_nowhere_it_is_said_how_far_it_leads_and_what_is_there(text: str, said: str) -> None:
    with pytest.raises(PayloadMismatch) as refused:
        resolve([meant(text)], RESULTS)
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
def test_what_is_meant_as_a_reference_and_written_wrong_is_refused(text: str) -> None:
    for refusing in (lambda: resolve(meant(text), RESULTS), lambda: steps_of({"a": [meant(text)]})):
        with pytest.raises(MalformedDecision, match=r"step<number>\.result|JSON's spelling"):
            refusing()


def test_a_key_beside_a_reference_is_refused_and_named() -> None:
    with pytest.raises(MalformedDecision, match='stands beside "to", "unit"'):
        resolve({"range": meant("step3.result.total", unit="EUR", to=9)}, RESULTS)


@pytest.mark.parametrize(
    "data",
    [
        meant("2026-11-01", to="2026-11-30"),
        meant("2026-11-01"),
        meant("steps of the house"),
        meant("stepmother.result"),
        {FROM: 3},
        {FROM: ["step3.result"]},
        {"from": "step3.result"},
        {"x": "step3.result"},
        "step3.result",
        {},
    ],
)
def test_a_field_that_is_really_called_so_stays_as_it_is(data: Json) -> None:
    assert steps_of({"data": data}) == set()
    assert resolve({"data": data}, RESULTS) == {"data": data}


def test_the_steps_that_a_payload_refers_to_are_known_before_they_are_read() -> None:
    payload: dict[str, Json] = {
        "a": meant("step3.result"),
        "b": [meant("step12.result"), {"c": meant("step3.result.total")}],
    }
    assert steps_of(payload) == {3, 12}


def test_what_stands_in_a_result_is_never_followed() -> None:
    """Else an agent could have the model's next request carry what another one said."""
    planted: dict[int, Json] = {**RESULTS, 5: {"note": meant("step3.result"), "deep": [meant("step3.result", x=1)]}}
    assert resolve({"x": meant("step5.result")}, planted) == {"x": planted[5]}


def test_a_payload_is_left_as_it_was() -> None:
    payload: Json = {"x": [meant("step12.result")]}
    assert resolve(payload, RESULTS) == {"x": ["plain"]}
    assert payload == {"x": [meant("step12.result")]}


def test_what_is_referred_to_is_bounded_in_sum() -> None:
    results: dict[int, Json] = {1: "x" * (MOST_RESOLVED // 4 - 2)}
    four: list[Json] = [meant("step1.result")] * 4
    assert len(compact(resolve(four, results))) > MOST_RESOLVED
    with pytest.raises(NotAllowed, match="larger than 256000 characters together"):
        resolve([*four, meant("step1.result")], results)
    with pytest.raises(NotAllowed):
        resolve(meant("step1.result"), {1: HUGE})


def nested(levels: int, inmost: Json) -> Json:
    for _ in range(levels):
        inmost = [inmost]
    return inmost


@pytest.mark.parametrize(("outside", "inside"), [(50, 51), (101, 0), (0, 101), (5_000, 0)])
def test_a_payload_that_would_be_nested_too_deep_is_refused(outside: int, inside: int) -> None:
    assert resolve(nested(40, meant("step1.result")), {1: nested(50, 1)}) == nested(90, 1)
    with pytest.raises(NotAllowed, match="deeper than 100 levels"):
        resolve(nested(outside, meant("step1.result")), {1: nested(inside, 1)})


def test_a_slice_is_told_in_outline_where_it_is_larger_than_its_room() -> None:
    results: dict[int, Json] = {2: {"rows": [{"n": n} for n in range(500)]}}
    assert slice_of(parse_reference("step2.result.rows[400:402]"), results, 60) == [{"n": 400}, {"n": 401}]
    outline: Json = [{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"...": "495 more"}]
    assert slice_of(parse_reference("step2.result.rows"), results, 60) == outline


@pytest.mark.parametrize("kind", StepKind)
def test_only_what_came_has_a_result(kind: StepKind) -> None:
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
def test_a_decision_hands_on_the_results_that_it_refers_to(action: Any, resolved: dict[str, Json]) -> None:
    decision = PlannerDecision(next_action=action)
    assert steps_referred_to(decision) == ({3} if resolved else set())
    found = resolve_decision(decision, RESULTS).next_action
    assert found == action.model_copy(update=resolved)


def test_requests_together_hand_on_their_results_each_for_itself() -> None:
    one, two = (PublishAction(event_type="pay", data={"sum": meant}) for meant in (TOTAL, {FROM: "step12"}))
    with pytest.raises(MalformedDecision):
        steps_referred_to(PlannerDecision(next_action=PublishAllAction(requests=(one, two))))
    found = resolve_decision(PlannerDecision(next_action=PublishAllAction(requests=(one, one))), RESULTS).next_action
    assert isinstance(found, PublishAllAction)
    assert [request.data for request in found.requests] == [{"sum": 3}, {"sum": 3}]
