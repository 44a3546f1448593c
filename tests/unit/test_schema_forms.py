"""Forms built from a JSON Schema: fields, typed values, faults."""

import json
from typing import Any

import pytest

from soorma_ai.kernel.domain.values import UNSTORABLE, clip
from soorma_ai.surfaces.forms.forms import FormField, add_item, form_of, remove_item
from soorma_ai.surfaces.forms.readings import read_form
from soorma_ai.surfaces.forms.shapes import ABSENT, MOST_FIELDS, below, shape_of

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 5000, "description": "USD"},
        "order_id": {"type": "string", "minLength": 1},
        "speed": {"enum": ["slow", "fast"]},
        "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "ok": {"type": "boolean"},
        "address": {"$ref": "#/$defs/Address"},
        "any": {},
    },
    "required": ["amount", "order_id", "due", "lines"],
    "$defs": {
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}},
            "required": ["sku", "qty"],
        },
        "Address": {
            "type": "object",
            "properties": {"street": {"type": "string", "minLength": 1}},
            "required": ["street"],
        },
    },
}
VALUE: dict[str, Any] = {
    "amount": 1840.0,
    "order_id": "4711",
    "due": None,
    "lines": [{"sku": "a\nb", "qty": 1}, {"sku": "c", "qty": 2, "more": 1}],
    "unknown": {"x": 1},
}


def browser_fields(form: FormField) -> dict[str, str]:
    """The fields of an unchanged form, as a browser sends them."""
    typed = {} if form.kind in ("group", "list", "kept") else {form.name: form.text.replace("\n", "\r\n")}
    if form.kind == "list":
        typed[f"{form.name}#"] = str(len(form.fields))
    for one in form.fields:
        typed |= browser_fields(one)
        if one.origin is not None:
            typed[f"{one.name}@"] = str(one.origin)
    return typed


def fields(form: FormField) -> dict[str, FormField]:
    return {form.name: form} | {name: one for inner in form.fields for name, one in fields(inner).items()}


@pytest.mark.parametrize(
    ("schema", "value", "kind"),
    [
        ({"type": "string"}, "x", "text"),
        ({"type": "string"}, "x\ny", "lines"),
        ({"type": "string", "maxLength": 5000}, ABSENT, "lines"),
        ({"type": "string", "format": "date"}, ABSENT, "date"),
        ({"type": "integer"}, 1, "number"),
        ({"type": "integer"}, "not one", "json"),
        ({"type": "number"}, True, "json"),
        ({"type": "boolean"}, False, "choice"),
        ({"enum": [1, "a", None]}, "a", "choice"),
        ({"enum": [1]}, True, "json"),
        ({"const": "x"}, "x", "choice"),
        ({"type": ["string", "null"]}, None, "text"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 3, "number"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 3, "json"),
        ({"allOf": [{"type": "integer"}], "minimum": 1}, 3, "number"),
        ({"type": "object", "properties": {"a": {}}}, {}, "group"),
        ({"type": "object"}, {}, "json"),
        ({"type": "array", "items": {"type": "string"}}, ["a"], "list"),
        ({"type": "array", "items": {"type": "string"}}, ["a"] * 101, "json"),
        ({"type": "array", "prefixItems": [{}]}, [1], "json"),
        (True, 1, "json"),
        ({"type": "string"}, "W" * 2**20, "kept"),
        ({}, ["W" * 2**20], "kept"),
    ],
)
def test_a_value_gets_a_field_of_its_schema_or_a_json_field_if_it_does_not_fit(
    schema: Any, value: Any, kind: str
) -> None:
    assert shape_of(schema, value, 0).kind == kind


def test_an_unchanged_form_gives_back_the_same_payload() -> None:
    read = read_form(ORDER, VALUE, browser_fields(form_of(ORDER, VALUE)))
    assert read.is_good
    assert json.dumps(read.value, sort_keys=True) == json.dumps(VALUE, sort_keys=True)


def test_fields_have_hints_and_choices() -> None:
    shown = fields(form_of(ORDER, VALUE))
    assert shown["$.amount"].hint == "USD, more than 0, at most 5000"
    assert shown["$.lines[1].qty"].text == "2"
    assert [one.label for one in shown["$.speed"].choices] == ["choose", "slow", "fast"]
    assert not shown["$.speed"].is_required


@pytest.mark.parametrize(
    ("typed", "place", "value"),
    [
        ({"$.amount": "12.5"}, "amount", 12.5),
        ({"$.amount": "12"}, "amount", 12),
        ({"$.due": "2026-02-03"}, "due", "2026-02-03"),
        ({"$.speed": '"fast"'}, "speed", "fast"),
        ({"$.ok": "false"}, "ok", False),
        ({"$.any": '{"a": [1]}'}, "any", {"a": [1]}),
        ({"$.address.street": "Main"}, "address", {"street": "Main"}),
        ({"$.lines#": "1"}, "lines", VALUE["lines"][:1]),
        ({"$.order_id": "two\r\nlines"}, "order_id", "two\nlines"),
    ],
)
def test_a_typed_text_becomes_a_value_of_its_type(typed: dict[str, str], place: str, value: Any) -> None:
    read = read_form(ORDER, VALUE, browser_fields(form_of(ORDER, VALUE)) | typed)
    assert read.is_good
    assert isinstance(read.value, dict)
    assert read.value == VALUE | {place: value}
    assert type(read.value[place]) is type(value)


@pytest.mark.parametrize(
    ("typed", "faults"),
    [
        ({"$.amount": "6000"}, {"$.amount": "6000 is greater than the maximum of 5000"}),
        ({"$.amount": "1,840"}, {"$.amount": "'1,840' is not a number, such as 12.5"}),
        ({"$.amount": "1e999"}, {"$.amount": "'1e999' is not a number, such as 12.5"}),
        ({"$.amount": "NaN"}, {"$.amount": "'NaN' is not a number, such as 12.5"}),
        ({"$.amount": " "}, {"$.amount": "this is needed"}),
        ({"$.order_id": ""}, {"$.order_id": "this is needed"}),
        ({"$.lines[0].qty": "1.5"}, {"$.lines[0].qty": "'1.5' is not a whole number, such as 12"}),
        ({"$.speed": '"warp"'}, {"$.speed": "choose one of the list"}),
        (
            {"$.any": "{"},
            {"$.any": "this is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
        ),
        ({"$.any": "NaN"}, {"$.any": "this is not JSON: NaN is no value of JSON"}),
        ({"$.any": "1e999"}, {"$.any": "this is not JSON: 1e999 is no value of JSON"}),
        ({"$.any": '"\\ud800"'}, {"$.any": f"this is not JSON: {clip(UNSTORABLE, 120)}"}),
        ({"$.due": "tomorrow"}, {"$.due": '"tomorrow" is not a "date"'}),
        (
            {"$.amount": "6000", "$.lines[0].qty": "x"},
            {
                "$.amount": "6000 is greater than the maximum of 5000",
                "$.lines[0].qty": "'x' is not a whole number, such as 12",
            },
        ),
    ],
)
def test_a_fault_is_shown_at_its_field_with_the_typed_text(typed: dict[str, str], faults: dict[str, str]) -> None:
    given = browser_fields(form_of(ORDER, VALUE)) | typed
    read = read_form(ORDER, VALUE, given)
    assert read.faults == faults
    shown = fields(form_of(ORDER, VALUE, given, read.faults))
    assert {name: shown[name].text for name in typed} == typed  # the typed text stays
    assert {name: one.fault for name, one in shown.items() if one.fault} == faults


def test_a_fault_outside_the_fields_belongs_to_the_whole_form() -> None:
    closed = {"type": "object", "properties": {"a": {}}, "maxProperties": 1}
    assert read_form(closed, {"b": 1}, {"$.a": "1"}).faults == {"$": '{"a":1,"b":1} has more than 1 property'}
    inner = {"type": "object", "properties": {"a": {"properties": {"b": {"type": "integer"}}}}}
    assert read_form(inner, {"a": {"b": "x"}}, {}).others == ('a.b: "x" is not of type "integer"',)


def test_a_list_item_is_added_or_removed_and_keeps_its_hidden_parts() -> None:
    typed = browser_fields(form_of(ORDER, VALUE))
    left = read_form(ORDER, VALUE, remove_item(typed, "$.lines", 0))
    assert isinstance(left.value, dict)
    assert left.value["lines"] == VALUE["lines"][1:]
    more = add_item(typed, "$.lines")
    assert len(fields(form_of(ORDER, VALUE, more))["$.lines"].fields) == 3
    assert remove_item(typed, "$.lines", 7) == typed
    again = browser_fields(form_of(ORDER, VALUE, more)) | {"$.lines[2].sku": "new", "$.lines[2].qty": "9"}
    found = read_form(ORDER, VALUE, again)
    assert isinstance(found.value, dict)
    assert found.value["lines"] == [*VALUE["lines"], {"sku": "new", "qty": 9}]


def test_an_empty_optional_group_is_left_out() -> None:
    assert read_form(ORDER, VALUE, {"$.address.street": ""}).value == VALUE


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(2_000)}},
        {
            "$ref": "#/$defs/Node",
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        },
        {"type": "object", "properties": {"a" * 10_000: {"type": "array", "items": {"type": "string"}}}},
    ],
)
def test_a_hostile_schema_makes_a_bounded_form(schema: Any) -> None:
    value = {"f1": "x", "next": {"next": {}}}
    shown = form_of(schema, value, {"$.f#": "99999"})
    assert len(fields(shown)) <= 2_001
    assert sum(one.kind != "kept" for one in fields(shown).values()) <= MOST_FIELDS + 1
    assert read_form(schema, value, {}).value == value


def test_only_a_bounded_amount_of_text_is_editable_and_the_rest_stays() -> None:
    schema = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(60)}}
    value: Any = {f"f{n}": "W" * 19_000 for n in range(60)}
    shown = form_of(schema, value)
    assert sum(len(one.text) for one in shown.fields) < 250_000
    assert read_form(schema, value, browser_fields(shown) | {"$.f0": "x"}).value == value | {"f0": "x"}


def test_field_names_are_the_paths_of_violations() -> None:
    assert below(below("$", "a b"), 0) == '$["a b"][0]'
