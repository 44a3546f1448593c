"""Search of earlier steps by words: each matching part with its reference."""

from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.choices.step_search import FEW_FOUND, find_parts
from soorma_ai.kernel.rules.prompting.outline import length_of
from unit.kit import NOW


def step(ordinal: int, data: Json, kind: StepKind = StepKind.REPLIED, note: str = "ok") -> Step:
    return Step("p-1", ordinal, kind, NOW, "look.up", data, note)


STEPS = [
    step(0, {"items": [{"id": f"sku-{n}", "note": "x" * 60} for n in range(200)]}, StepKind.GOAL, ""),
    *(step(n, {"id": f"item-{n}", "amount": 1000 + n}) for n in range(1, 120)),
    step(120, {"approved": False}, StepKind.ANSWERED, "reject: the supplier ACME is bankrupt"),
]


def test_a_part_of_a_large_list_is_found_with_its_path() -> None:
    (first, *_) = find_parts(STEPS, "sku-90", 6_000)
    assert isinstance(first, dict) and first["at"] == "step0.result.items[90]"


def test_a_number_in_an_early_result_and_a_persons_words_are_found() -> None:
    amount, said = find_parts(STEPS, "amount 1003", 6_000)[0], find_parts(STEPS, "which supplier is bankrupt", 6_000)[0]
    assert isinstance(amount, dict) and amount["at"] == "step3.result"
    assert isinstance(said, dict) and said["note"] == "reject: the supplier ACME is bankrupt"


def test_equal_parts_fill_the_room_with_those_of_hidden_steps_first() -> None:
    found = find_parts(STEPS, "amount", 6_000, hidden=60)
    places = [row["at"] for row in found if isinstance(row, dict)]
    assert places[:60] == [f"step{n}.result" for n in range(60, 0, -1)]
    assert places[60:62] == ["step119.result", "step118.result"]
    assert 5_800 < sum(map(length_of, found)) <= 6_000


def test_only_a_few_worse_parts_are_listed_beside_the_best() -> None:
    assert len(find_parts(STEPS, "amount of item-3", 6_000)) == FEW_FOUND


def test_a_short_field_of_a_large_result_is_found_with_its_neighbours() -> None:
    large = [step(n, {"id": f"item-{n}", "customer": f"CUST-{n * 7}", "detail": "x" * 600}) for n in range(1, 120)]
    (first, *_) = find_parts(large, "customer of item-5", 6_000)
    assert isinstance(first, dict) and first["at"] == "step5.result"
    assert first["value"] == {"id": "item-5", "customer": "CUST-35", "...": "1 more"}


def test_many_short_fields_are_listed_in_groups() -> None:
    wide = step(1, {f"field-{n}": f"value of {n}" for n in range(100)})
    (first, *_) = find_parts([wide], "field-77", 6_000)
    assert isinstance(first, dict) and isinstance(first["value"], dict)
    assert first["value"]["field-77"] == "value of 77"
    assert length_of(first["value"]) < 500
    (found, *_) = find_parts([step(1, {**{f"f{n}": "y" * 300 for n in range(3)}, "code": "Z9"})], "Z9", 6_000)
    assert isinstance(found, dict) and found["value"] == {"code": "Z9", "...": "3 more"}


def test_matches_stay_within_their_room_and_unknown_words_find_nothing() -> None:
    found = find_parts(STEPS, "look up item", 2_000)
    assert found and sum(map(length_of, found)) <= 2_000
    assert find_parts(STEPS, "zebra", 2_000) == []
