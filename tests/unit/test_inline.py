"""Inlining of references; a widened reference accepts every value of its document."""

import json

import pytest

from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.inline import inline
from unit.material import obj, rows


def test_local_references_are_expanded() -> None:
    address = obj({"city": {"type": "string"}}, "city")
    document: JsonObject = {
        **obj({"to": {"$ref": "#/$defs/Address", "description": "where to"}, "from": {"$ref": "#/$defs/Address"}}),
        "$defs": {"Address": address},
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    assert inline(document) == obj({"to": {**address, "description": "where to"}, "from": address})


def test_a_rule_beside_a_reference_stays() -> None:
    document: JsonObject = {"$ref": "#/$defs/Word", "maxLength": 3, "$defs": {"Word": {"type": "string"}}}
    assert inline(document) == {"allOf": [{"type": "string"}], "maxLength": 3}


def test_a_recursive_reference_keeps_its_type_and_accepts_any_value_of_it() -> None:
    tree = obj({"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}, "name")
    plain = inline({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}})
    assert plain["properties"]["below"]["items"] == {"type": "object"}
    assert violations(plain, {"name": "a", "below": [{"below": []}]}) == []


def test_a_reference_to_another_document_accepts_any_value() -> None:
    assert inline(obj({"x": {"$ref": "https://example.com/schema.json"}})) == obj({"x": True})


@pytest.mark.parametrize("place", ["2", "²", "9" * 5_000])
def test_a_reference_to_a_missing_place_accepts_any_value(place: str) -> None:
    document: JsonObject = {"allOf": [True, obj({"x": {"$ref": f"#/allOf/{place}"}})]}
    assert inline(document) == {"allOf": [True, obj({"x": True})]}


def test_a_property_or_constant_named_like_a_reference_is_left_alone() -> None:
    document = obj({"$ref": {"type": "string"}, "x": {"const": {"$ref": "#/nowhere"}}, "y": {"enum": [{"$ref": "#"}]}})
    assert inline(document) == document


@pytest.mark.parametrize(
    ("keyword", "document", "value"),
    [
        ("not", {"not": {"$ref": "urn:elsewhere"}}, 1),
        ("oneOf", {"oneOf": [{"type": "integer"}, {"$ref": "urn:elsewhere"}]}, 1),
        ("if", {"if": {"$ref": "urn:elsewhere"}, "then": False}, 1),
        ("contains", {"contains": {"$ref": "urn:elsewhere"}, "maxContains": 1}, [1, 2]),
        ("unevaluatedProperties", {"$ref": "urn:elsewhere", "unevaluatedProperties": False}, {"a": 1}),
    ],
)
def test_widening_a_part_never_narrows_the_whole(keyword: str, document: JsonObject, value: Json) -> None:
    assert violations(inline(document), value) == [], keyword


def test_exploding_references_are_cut_short() -> None:
    levels: JsonObject = {
        f"L{n}": obj({"a": {"$ref": f"#/$defs/L{n + 1}"}, "b": {"$ref": f"#/$defs/L{n + 1}"}}) for n in range(40)
    }
    document: JsonObject = {"$ref": "#/$defs/L0", "$defs": {**levels, "L40": {"type": "string"}}}
    assert len(json.dumps(inline(document))) < 5_000_000


def test_inlining_never_refuses_a_value_the_document_accepts() -> None:
    checked = exact = 0
    for case in rows("json-schema/draft2020-12.jsonl.gz"):
        schema = case["schema"]
        if not isinstance(schema, dict) or "format" in case["file"] or "vocabulary" in case["file"]:
            continue
        took = not violations(inline(schema), case["data"])
        assert took or not case["valid"], (case["file"], case["case"], case["test"])
        checked += 1
        exact += took == case["valid"]
    assert checked > 1000
    assert exact / checked > 0.94, "only remote and recursive references are widened"
