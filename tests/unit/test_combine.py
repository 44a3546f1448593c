"""Several schemas combined into one."""

import pytest

from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.combine import fold_all_of, kind_of, kinds_of, values_of

TEXT: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("parts", "folded"),
    [
        ([], {}),
        ([TEXT, {"maxLength": 3}], {"type": "string", "maxLength": 3}),
        ([{"allOf": [TEXT]}, {"minLength": 1}], {"type": "string", "minLength": 1}),
        ([{"required": ["a", "b"]}, {"required": ["b", "c"]}], {"required": ["a", "b", "c"]}),
        ([{"type": "number"}, {"type": "integer"}], {"type": "integer"}),
        ([{"type": ["string", "null"]}, TEXT], {"type": "string"}),
        ([{"type": ["integer", "string"]}, {"type": ["number", "string"]}], {"type": ["integer", "string"]}),
        ([TEXT, {"type": "integer"}], TEXT),
        ([{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}], {"enum": [2, 3]}),
        ([{"enum": [1]}, {"enum": [2]}], {"enum": [1]}),
        ([{"properties": {"a": TEXT}}, {"properties": {"a": TEXT, "b": {}}}], {"properties": {"a": TEXT, "b": {}}}),
        (
            [{"properties": {"a": TEXT}}, {"properties": {"a": {"maxLength": 3}}}],
            {"properties": {"a": {"allOf": [TEXT, {"maxLength": 3}]}}},
        ),
        ([{"items": True}, {"items": TEXT}], {"items": TEXT}),
        ([{"additionalProperties": TEXT}, {"additionalProperties": False}], {"additionalProperties": False}),
        ([{"maxLength": 3}, {"maxLength": 2}], {"maxLength": 3}),
        ([True, TEXT], TEXT),
    ],
)
def test_combined_rules_become_one_and_on_a_conflict_the_first_stays(parts: list[Json], folded: JsonObject) -> None:
    assert fold_all_of({"allOf": parts}) == folded


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        (TEXT, ["string"]),
        ({"type": ["string", "null"]}, ["string", "null"]),
        ({"properties": {}}, ["object"]),
        ({"additionalProperties": False}, ["object"]),
        ({"items": {}}, ["array"]),
        ({"prefixItems": []}, ["array"]),
        ({"enum": [1]}, []),
    ],
)
def test_the_kinds_of_a_schema_are_named_or_inferred_from_its_rules(schema: JsonObject, kinds: list[Json]) -> None:
    assert kinds_of(schema) == kinds


def test_every_value_has_one_kind() -> None:
    values: list[Json] = [None, True, 1, 1.5, "x", {}, []]
    assert [kind_of(value) for value in values] == ["null", "boolean", "integer", "number", "string", "object", "array"]


def test_the_values_of_a_schema_are_its_constant_or_its_enum() -> None:
    assert [values_of(schema) for schema in ({"const": None}, {"enum": [1, 2]}, TEXT)] == [[None], [1, 2], None]
