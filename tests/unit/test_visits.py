"""Visits of a schema's parts, bounded by the schema and the depth of a value."""

from typing import Any

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.schema_graph import SchemaGraph, sizes_of_levels, visits_of_root
from soorma_ai.kernel.domain.schemas import check_schema, schema_of, violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from unit.material import branching, obj

NODE: JsonObject = {"$ref": "#/$defs/node"}


def recursive(node: JsonObject) -> JsonObject:
    return {**NODE, "$defs": {"node": node}}


TWINS = recursive({"anyOf": [obj({"a": NODE}, "x"), obj({"a": NODE}, "y")]})
TREE = recursive(obj({"left": NODE, "right": NODE, "more": {"type": "array", "items": NODE}}))
ANY_JSON = recursive(
    {"anyOf": [{"type": "string"}, {"type": "array", "items": NODE}, {"type": "object", "additionalProperties": NODE}]}
)
ALIKE: JsonObject = {
    "$ref": "#/$defs/L0",
    "$defs": {
        **{f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 3} for n in range(40)},
        "L40": {"type": "string"},
    },
}


def nested_objects(levels: int, inmost: Json = 1) -> Any:
    value: Json = inmost
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("schema", "growth"),
    [
        (obj({f"p{n}": {"type": "string"} for n in range(500)}), 0),
        (branching(30), 0),
        (TREE, 1),
        (ANY_JSON, 1),
        (recursive({"allOf": [{"items": NODE}, {"properties": {"a": NODE}}]}), 1),
        ({"anyOf": [{"$ref": "#"}]}, 0),
        (TWINS, 2),
        (recursive({"patternProperties": {"a": NODE, "b": NODE}}), 2),
        (recursive({"allOf": [{"items": NODE}, {"contains": NODE}]}), 2),
        (
            {
                "$id": "urn:a",
                "$anchor": "a",
                "not": {"$ref": "#b"},
                "$defs": {"b": {"$anchor": "b", "items": {"$ref": "urn:a"}}},
            },
            1,
        ),
    ],
)
def test_visits_grow_exponentially_with_depth_only_if_alternatives_recurse(schema: JsonObject, growth: int) -> None:
    """`growth` 0: constant, 1: linear in the depth, 2: exponential."""
    visits = visits_of_root(SchemaGraph(schema))
    if growth == 0:
        assert max(visits) < 1_000
    else:
        assert (visits[20] > 1_000_000) is (growth == 2)


def test_a_schema_with_exploding_alternatives_is_refused_at_its_registration() -> None:
    with pytest.raises(ConfigError, match="branch into so many alternatives"):
        check_schema(ALIKE)


def test_a_value_nested_deeper_than_can_be_checked_is_refused() -> None:
    check_schema(TWINS)
    assert [violation.rule for violation in violations(TWINS, nested_objects(3))] == ["anyOf"]
    for levels, rule, words in ((16, "anyOf", "not valid under any"), (60, "nesting", "deeper than can be checked")):
        (violation,) = violations(TWINS, nested_objects(levels))
        assert (violation.path, violation.rule) == ("$", rule) and words in violation.message
    right: Json = nested_objects(0, {"x": 1})
    for _ in range(16):
        right = {"a": right, "x": 1}
    assert violations(TWINS, right) == []
    assert violations(ANY_JSON, nested_objects(90, "text")) == [] != violations(ANY_JSON, nested_objects(5))


def test_pydantics_schemas_have_few_visits() -> None:
    class_like = schema_of(dict[str, list[dict[str, int | str | None]]])
    assert max(visits_of_root(SchemaGraph(class_like))) < 30


@pytest.mark.parametrize(
    ("value", "depth"), [(1, 0), ([], 0), ({"a": 1}, 1), ([[1], {"a": [{}]}], 3), (nested_objects(99), 99)]
)
def test_the_depth_of_a_value_is_counted(value: Json, depth: int) -> None:
    assert len([*sizes_of_levels(value)]) == depth
