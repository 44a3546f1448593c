"""The cost of schema validation: no single call of the validator is long, counted in units of work."""

from collections.abc import Iterator
from typing import Any

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain import schema_cost, schemas
from soorma_ai.kernel.domain.patterns import is_affordable, is_backtracking, places_in
from soorma_ai.kernel.domain.schema_cost import MOST_AT_ONCE, MOST_IN_ALL, SchemaCosts, measure
from soorma_ai.kernel.domain.schema_graph import SchemaGraph
from soorma_ai.kernel.domain.schema_steps import At, SchemaFault
from soorma_ai.kernel.domain.schema_walk import Walk
from soorma_ai.kernel.domain.schemas import MAX_REPORTED, check_schema, describe, examine, violations
from soorma_ai.kernel.domain.values import Json, JsonObject, compact, excerpt
from unit.material import rows
from unit.worst_data import KINDS, LINE, SIZES, UNION, items_of, lists_of, short_keys

LONGEST_CALL = 4 * MOST_AT_ONCE  # 20 ms
MOST_COPIED = 2_000  # parts of a value, into errors


def work(schema: JsonObject, value: Json) -> tuple[list[int], list[int], int]:
    """Return the units of each step up to the first faults, the sizes of the values in errors, and the number
    of faults."""
    told: list[int] = []
    parts = schemas.parts_of(compact(schema))

    def tell(validator: Any, value: Json, path: Any) -> Iterator[SchemaFault]:
        size = measure(value, 10**9)
        assert size is not None
        told.append(size.parts)
        yield from schemas.tell_faults(validator, value, path)

    steps: list[int] = []
    found = whole = 0
    for step in Walk(parts, tell).faults(parts.document, value, At()):
        if isinstance(step, SchemaFault):
            found += 1
        else:
            steps.append(step)
            whole += step
        if found > MAX_REPORTED or whole > MOST_IN_ALL:
            break
    return steps, told, found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_call_is_estimated_above_20_ms(kind: str, size: int) -> None:
    schema, make = KINDS[kind]
    steps, told, found = work(schema, make(size))
    assert max(steps) <= LONGEST_CALL
    assert max(told, default=0) <= MOST_COPIED
    assert found or kind == "uniqueItems"


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_grows_linearly_with_the_data(kind: str) -> None:
    schema, make = KINDS[kind]
    small, large = (sum(work(schema, make(size))[0]) for size in (2**18, 2**20))
    assert large <= 4 * 1.2 * small + LONGEST_CALL


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_faults_are_listed_with_a_mark_for_more(kind: str) -> None:
    schema, make = KINDS[kind]
    found = violations(schema, make(2**17))
    assert len(found) <= MAX_REPORTED
    if len(found) == MAX_REPORTED:
        assert describe(found).endswith("; and more")
    assert all(len(str(one)) < 1_000 for one in found)


def test_the_cost_of_error_messages_has_a_bound() -> None:
    """Without this bound, errors would contain the whole value."""
    schema, make = KINDS["propertyNames with a pattern"]
    value = make(2**16)
    size = measure(value, 10**9)
    assert size is not None and size.parts > MOST_COPIED
    parts = schemas.parts_of(compact(schema))
    assert parts.costs.telling(schema, value) is None
    assert parts.costs.telling(schema, {"k": 1}) is not None


def test_faults_of_small_data_are_the_validators() -> None:
    found = violations(items_of(LINE), {"items": [{"sku": 1, "count": 0}]})
    assert [(one.path, one.rule, one.found, one.wanted, one.message) for one in found] == [
        ("$.items[0].sku", "type", "1", '"string"', '1 is not of type "string"'),
        ("$.items[0].count", "minimum", "0", "1", "0 is less than the minimum of 1"),
    ]


def test_a_fault_in_large_data_has_the_same_message_as_in_small_data() -> None:
    good: Json = {"sku": "a", "count": 1}
    few = violations(items_of(LINE), {"items": [good, {"sku": 1}]})
    (late, *_), (early, *_) = violations(items_of(LINE), {"items": [good] * 50_000 + [{"sku": 1}]}), few
    assert late.path.startswith("$.items[50000]")
    assert (late.rule, late.found, late.wanted, late.message) == (early.rule, early.found, early.wanted, early.message)


def test_the_alternative_named_by_a_tag_is_followed_in_large_data() -> None:
    value: Json = {"kind": "c", "v": ["x"] * 50_000}
    (fault,) = violations(UNION, value)
    assert (fault.path, fault.rule) == ("$.v", "type")


def test_valid_data_of_any_size_is_valid() -> None:
    assert violations(items_of(LINE), lists_of({"sku": "a", "count": 1})(2**20)) == []
    assert violations(items_of(UNION), lists_of({"kind": "e", "v": "x"})(2**20)) == []
    assert violations({"propertyNames": {"pattern": "^k"}}, short_keys(2**20)) == []


def test_an_unaffordable_check_is_refused_with_the_reason() -> None:
    schema = items_of({"dependentRequired": {f"p{number}": ["x"] for number in range(2_000)}})
    (fault,) = violations(schema, lists_of({})(2**20), most=MOST_AT_ONCE)
    assert fault.rule == "cost" and "too long to check" in fault.message
    assert violations(schema, {"items": [{}]}) == []


def test_a_verdict_on_large_data_is_cached_and_changed_data_is_checked_again() -> None:
    schema = items_of(UNION)
    value: dict[str, Any] = {"items": [{"kind": "a", "v": "x"}] * 20_000}
    slices = sum(1 for _ in examine(schema, value))
    assert slices > 1
    assert sum(1 for _ in examine(schema, value)) == 0
    value["items"][-1] = {"kind": "a", "v": 1}
    assert [one.path for one in violations(schema, value)] == ["$.items[19999].v"]


def test_nan_and_true_are_not_mistaken_for_other_values() -> None:
    schema = items_of({"anyOf": [{"type": "null"}, {"const": 1}]})
    assert violations(schema, {"items": [None] * 60_000}) == []
    assert violations(schema, {"items": [None] * 60_000 + [float("nan")]}) != []
    unique: JsonObject = {"uniqueItems": True}
    assert violations(unique, [[n] for n in range(60_000)] + [True, 1, ["boolean", 1], ["boolean", True]]) == []
    assert violations(unique, [[n] for n in range(60_000)] + [1, 1.0]) != []


@pytest.mark.parametrize(
    ("pattern", "places", "backtracks"),
    [
        (r"\S", 1, False),
        (r"^.{1,5000}$", 1, False),
        (r"^(?:[01]\d|2[0-3]):[0-5]\d$", 8, False),
        (r"[ab]*a[ab]{200}c", 204, False),
        (r"(a{10}){10}", 121, False),
        (r"^(?!\s*$).+", 2, True),
        (r"(a)\1", 2, True),
    ],
)
def test_the_positions_of_a_pattern_are_counted(pattern: str, places: int, backtracks: bool) -> None:
    assert (places_in(pattern), is_backtracking(pattern)) == (places, backtracks)


def test_a_text_is_matched_only_if_its_cost_is_bounded() -> None:
    assert is_affordable(r"\S", 2**20) and is_affordable(r"^[0-9a-f]{8}-[0-9a-f]{4}$", 10_000)
    assert not is_affordable(r"[ab]*a[ab]{200}c", 2**20)
    for pattern in (r"(?=((a|aa)+)$)c", r"[ab]*a[ab]{200}c"):
        (fault,) = violations({"pattern": pattern}, "ab" * 2**19)
        assert fault.rule == "pattern" and "too long" in fault.message
    assert violations({"pattern": r"^(?!\s*$).+"}, "text " * 10_000) == []


def test_an_excerpt_writes_only_the_shown_part_of_a_large_value() -> None:
    assert excerpt({"a": [1, 2]}, 40) == '{"a": [1, 2]}'
    assert excerpt([1] * 10**6, 10) == "[1, 1, 1,…"
    assert excerpt("x" * 10**6, 10) == '"xxxxxxxx…'


def test_costs_count_a_schemas_work_on_each_value() -> None:
    def cost(schema: JsonObject) -> int:
        return SchemaCosts(SchemaGraph(schema)).highest

    assert cost({"type": "string"}) == 1
    assert cost({"enum": [f"v{number}" for number in range(2_000)]}) == 2
    assert cost({"enum": [number + 0.5 for number in range(100)]}) > 10_000
    assert cost(items_of({"type": "string"})) == 3
    assert cost({"pattern": "(?=a)b"}) > 1_000


def test_the_official_suite_has_the_same_verdicts_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases, with room for calls of the validator on single keywords only. A reference out of the document, or one
    that depends on its path, is one call or none."""
    whole = [(row, verdict_of(row)) for row in rows("json-schema/draft2020-12.jsonl.gz")]
    monkeypatch.setattr(schemas, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(schema_cost, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(schemas, "key_of", lambda *_: None)
    refused = wrong = 0
    for row, verdict in whole:
        found = verdict_of(row)
        if found is not verdict:
            is_refused = found is False and violations(row["schema"], row["data"])[0].rule == "cost"
            refused, wrong = refused + is_refused, wrong + (not is_refused)
    assert wrong == 0
    assert refused < 0.02 * len(whole)


def verdict_of(row: dict[str, Any]) -> bool | None:
    try:
        check_schema({"allOf": [row["schema"]]})
        return not violations(row["schema"], row["data"])
    except (ConfigError, ValueError):
        return None
