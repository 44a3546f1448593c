import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import AnyUrl, BaseModel, Field, TypeAdapter

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.schemas import MAX_REPORTED, check_schema, describe, schema_of, violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from unit.material import rows

PositiveAmount = Annotated[Decimal, Field(gt=0)]
Price = Annotated[Decimal, Field(ge=0, decimal_places=2)]


class Part(BaseModel):
    amount: PositiveAmount


class Bill(BaseModel):
    amount: PositiveAmount
    lines: list[Part]


@pytest.mark.parametrize(
    ("schema", "value", "path", "rule", "wanted"),
    [
        ({"type": "object"}, 1, "$", "type", "object"),
        ({"type": ["string", "null"]}, 1, "$", "type", ["string", "null"]),
        ({"required": ["sku", "qty"]}, {"qty": 1}, "$", "required", ["sku", "qty"]),
        ({"enum": ["a", "b"]}, "c", "$", "enum", ["a", "b"]),
        ({"const": {"a": 1}}, 2, "$", "const", {"a": 1}),
        ({"minimum": 1}, 0, "$", "minimum", 1),
        ({"pattern": "^x"}, "a", "$", "pattern", "^x"),
        ({"format": "email"}, "nobody", "$", "format", "email"),
        ({"uniqueItems": True}, [1, 1], "$", "uniqueItems", True),
        ({"contains": {"type": "string"}}, [1], "$", "contains", {"type": "string"}),
        ({"contains": {"type": "string"}, "minContains": 2}, ["a"], "$", "minContains", 2),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "$", "maxLength", 1),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, "$", "additionalProperties", False),
        ({"unevaluatedProperties": False}, {"b": 1}, "$", "unevaluatedProperties", False),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "$", "dependentRequired", {"a": ["b"]}),
        ({"not": {"type": "integer"}}, 1, "$", "not", {"type": "integer"}),
        ({"if": {"type": "integer"}, "then": {"minimum": 5}}, 1, "$", "minimum", 5),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "$", "anyOf", [{"type": "string"}, {"type": "null"}]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "$", "oneOf", [{"type": "integer"}, {"minimum": 0}]),
        ({"properties": {"a": False}}, {"a": 1}, "$.a", "false", False),
        ({"prefixItems": [True], "items": False}, [1, 2], "$[1]", "items", False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, 1, "$", "type", "string"),
    ],
)
def test_a_violation_has_path_rule_found_and_wanted(
    schema: JsonObject, value: Json, path: str, rule: str, wanted: Json
) -> None:
    (violation,) = violations(schema, value)
    assert (violation.path, violation.rule, json.loads(violation.wanted)) == (path, rule, wanted)
    for part in (path, rule, violation.found, violation.wanted, violation.message):
        assert part and part in str(violation)


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"items": [{"qty": 1}, {"qty": "two"}]}, "$.items[1].qty", '"two"'),
        ({"delivery address": {"post.code": 7}}, '$["delivery address"]["post.code"]', "7"),
    ],
)
def test_a_violations_path_leads_to_the_value_it_shows(value: Json, path: str, found: str) -> None:
    schema: JsonObject = {
        "properties": {
            "items": {"items": {"properties": {"qty": {"type": "integer"}}}},
            "delivery address": {"properties": {"post.code": {"type": "string"}}},
        }
    }
    (violation,) = violations(schema, value)
    assert (violation.path, violation.found) == (path, found)


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Transfer(BaseModel):
    kind: Literal["transfer"]
    iban: str


class Payment(BaseModel):
    amount: int = Field(gt=0)
    by: Card | Transfer
    note: Card | None = None


@pytest.mark.parametrize(
    ("payment", "told_of"),
    [
        ({"amount": 1, "by": {"kind": "card", "number": 7}}, ["$.by.number"]),
        ({"amount": 1, "by": {"kind": "transfer"}}, ["$.by"]),
        (
            {"amount": 1, "by": {"kind": "card", "number": "7"}, "note": {"kind": "card", "number": 7}},
            ["$.note.number"],
        ),
        ({"amount": 1, "by": {"kind": "card", "number": "7"}, "note": {"kind": "x", "number": "7"}}, ["$.note.kind"]),
    ],
)
def test_the_fault_of_the_intended_alternative_is_reported(payment: Json, told_of: list[str]) -> None:
    found = violations(schema_of(Payment), payment)
    assert [violation.path for violation in found] == told_of
    assert [violation.rule for violation in found if violation.rule in ("anyOf", "oneOf")] == []


@pytest.mark.parametrize("by", [{"kind": "cash", "iban": "x"}, 7])
def test_without_an_intended_alternative_all_are_reported(by: Json) -> None:
    (violation,) = violations(schema_of(Payment), {"amount": 1, "by": by})
    assert (violation.path, violation.rule) == ("$.by", "anyOf")
    assert json.loads(violation.wanted) == [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Transfer"}]


def test_all_faults_are_reported_once_and_briefly() -> None:
    schema: JsonObject = {"required": ["id"], "properties": {"qty": {"minimum": 1}}, "allOf": [{"required": ["id"]}]}
    assert sorted(violation.rule for violation in violations(schema, {"qty": 0})) == ["minimum", "required"]
    assert len(violations({"items": {"type": "integer"}}, ["x"] * 100)) == MAX_REPORTED
    text = describe(violations({"properties": {"a": {"enum": ["y" * 5_000]}}}, {"a": "x" * 100_000}))
    assert "$.a" in text
    assert len(text) < 1_000


def test_a_fitting_value_has_no_violation_and_formats_are_asserted() -> None:
    assert violations(schema_of(Payment), {"amount": 1, "by": {"kind": "card", "number": "4"}}) == []
    assert violations({"format": "date-time"}, "2026-03-01T12:00:00Z") == []
    assert [violation.rule for violation in violations({"format": "date-time"}, "2026-03-01 12:00")] == ["format"]


@pytest.mark.parametrize(
    ("kind", "off"),
    [
        (PositiveAmount, ["0", "0.00", "-1", "1.", "01", "1,5", "NaN", "1e3", ""]),
        (Price, ["-0.01", "0.005", "1E-3", "1.500"]),
        (Decimal, ["twelve", " 1", "1.5.0", "Infinity"]),
    ],
)
def test_a_decimal_beyond_its_sign_or_its_places_is_a_violation(kind: Any, off: list[str]) -> None:
    for text in off:
        assert violations(schema_of(kind), text), text


def test_a_number_in_the_place_of_a_decimal_is_refused_with_the_cure() -> None:
    schema = schema_of(Bill)
    assert violations(schema, {"amount": "12.50", "lines": [{"amount": "12.50"}]}) == []
    [whole, part] = violations(schema, {"amount": 12.5, "lines": [{"amount": 3}]})
    assert (whole.path, part.path) == ("$.amount", "$.lines[0].amount")
    assert '12.5 is a number and a decimal is wanted: give its digits as text, such as "12.5"' in str(whole)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (datetime, [datetime.fromisoformat("2026-05-09T09:00"), datetime(2026, 5, 9, 9, tzinfo=UTC)]),
        (datetime, [datetime.fromisoformat("0001-01-01"), datetime.fromisoformat("9999-12-31T23:59:59.999999")]),
        (datetime, [datetime(2026, 5, 9, 9, 0, 0, 5, tzinfo=timezone(-timedelta(hours=3, minutes=30)))]),
        (time, [time(10), time(10, 0, 0, 5), time(10, tzinfo=UTC), time(10, tzinfo=timezone(timedelta(hours=2)))]),
        (date, [date.min, date.max]),
        (timedelta, [timedelta(), timedelta(hours=1), timedelta(days=400, seconds=3), timedelta(microseconds=1)]),
        (timedelta, [timedelta(seconds=0.5), -timedelta(hours=1), timedelta.max, timedelta.min]),
        (UUID, [UUID(int=7)]),
        (IPv4Address, [IPv4Address("1.2.3.4")]),
        (IPv6Address, [IPv6Address("::1"), IPv6Address("fe80::1%eth0")]),
        (AnyUrl, [AnyUrl("http://b\u00fccher.example/\u00fc?x=a b"), AnyUrl("http://a.b/{x}|^")]),
        (Decimal, [Decimal("1.5"), Decimal("1E+10"), Decimal("0E-8"), Decimal("-0.00")]),
        (PositiveAmount, [Decimal("1E-9"), Decimal("0.10"), Decimal("1E+10"), Decimal("999999999999999999999.99")]),
        (Price, [Decimal("0"), Decimal("0.00"), Decimal("12.5"), Decimal("1E+3")]),
        (re.Pattern, [re.compile(r"(?P<a>x)+\Z")]),
    ],
)
def test_pydantics_output_of_a_type_passes_the_types_schema(kind: Any, values: list[Any]) -> None:
    for value in values:
        written = TypeAdapter(kind).dump_python(value, mode="json")
        assert violations(schema_of(kind), written) == [], written


@pytest.mark.parametrize(
    ("format", "refused"),
    [
        ("date-time", ["2026-05-09", "09:00:00", "2026-05-09 09:00:00", "2026-13-09T09:00:00Z", "1700000000", "soon"]),
        ("time", ["9:00", "25:00:00", "09:00", "soon"]),
        ("date", ["2026-05-32", "09.05.2026"]),
        ("duration", ["P", "PT", "1 hour", "P1H", "3600"]),
        ("ipv6", ["1.2.3.4", "::g"]),
        ("uri", ["example.com", "http://a b", "/path"]),
        ("email", ["nobody"]),
    ],
)
def test_a_format_is_asserted_for_text_only(format: str, refused: list[Json]) -> None:
    for value in refused:
        assert [violation.rule for violation in violations({"format": format}, value)] == ["format"], value
    assert violations({"format": format}, 7) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"items": [{"type": "string"}]}, "'items' as .*draft-07.* has it is prefixItems in 2020-12"),
        ({"properties": {"a": {"additionalItems": False}}}, "'additionalItems' .* is items in 2020-12"),
        ({"allOf": [{"dependencies": {"a": ["b"]}}]}, "'dependencies' .* is dependentRequired or dependentSchemas"),
        ({"definitions": {"a": {"exclusiveMinimum": True}}}, "'exclusiveMinimum' .* is a number"),
        ({"id": "urn:a"}, "'id' .* is \\$id"),
    ],
)
def test_an_older_drafts_schema_with_another_meaning_today_is_refused_by_keyword(schema: JsonObject, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_schema({"$schema": "http://json-schema.org/draft-07/schema#", **schema})


def test_an_older_drafts_schema_with_the_same_meaning_today_is_accepted() -> None:
    document: JsonObject = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "string", "default": {"id": 1}}},
        "properties": {"id": {"$ref": "#/definitions/a"}, "items": {"enum": [{"items": []}]}},
        "required": ["id"],
    }
    check_schema(document)
    assert [violation.path for violation in violations(document, {"id": 1})] == ["$.id"]


def test_a_schema_nested_too_deep_is_refused() -> None:
    deep: JsonObject = {}
    for _ in range(200):
        deep = {"not": deep}
    with pytest.raises(ConfigError, match="nested deeper than 100 levels"):
        check_schema(deep)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objekt"}, "objekt"),
        ({"items": [{"type": "string"}]}, "not of types"),
        ({"pattern": "("}, "regex"),
        ({"required": "sku"}, "sku"),
        ({"$ref": "#/$defs/nowhere"}, "nowhere"),
    ],
)
def test_a_malformed_schema_is_a_config_error(schema: JsonObject, said: str) -> None:
    with pytest.raises(ConfigError, match="malformed JSON Schema") as refused:
        check_schema(schema)
    assert said in str(refused.value)
    with pytest.raises(ConfigError):
        schema_of(schema)


@pytest.mark.parametrize("reference", ["http://localhost:1/x", "https://example.org/x", "file:///etc/hosts"])
def test_a_reference_to_another_document_is_refused_and_not_fetched(reference: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.0)
        here = reference.replace("localhost:1", f"127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(ConfigError, match="disabled"):
            check_schema({"properties": {"a": {"$ref": here}}})
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_reference_into_an_embedded_document_is_followed() -> None:
    schema: JsonObject = {
        "$ref": "https://example.org/address",
        "$defs": {"address": {"$id": "https://example.org/address", "properties": {"zip": {"type": "string"}}}},
    }
    assert [violation.path for violation in violations(schema, {"zip": 1})] == ["$.zip"]


@dataclass
class Parcel:
    weight: float
    tags: list[str]


def test_a_schema_is_made_from_a_mapping_a_model_or_any_pydantic_type() -> None:
    given: JsonObject = {"type": "object"}
    made = schema_of(given)
    assert made == given
    assert made is not given, "a later change of the mapping does not change the schema"
    assert violations(schema_of(Parcel), {"weight": "heavy", "tags": []})
    assert violations(schema_of(list[int]), ["x"])
    with pytest.raises(ConfigError, match="no JSON Schema can be made of"):
        schema_of(socket.socket)


def verdict(row: dict[str, Any]) -> bool | None:
    """None for a refused schema."""
    try:
        return not violations(row["schema"], row["data"])
    except ConfigError:
        return None


def references(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (str(schema[key]) for key in ("$ref", "$schema", "$id") if key in schema)
        for inner in schema.values():
            yield from references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from references(inner)


def test_the_official_suite_passes_except_for_remote_references() -> None:
    """All required tests give the right verdict, or their schema needs another document: such a reference is
    refused, and a dialect of another document is read as 2020-12. `format` is asserted, an option in the suite."""
    suite = rows("json-schema/draft2020-12.jsonl.gz")
    required = [row for row in suite if "/optional/" not in row["file"] and not row["file"].endswith("/format.json")]
    counted = Counter(verdict(row) is row["valid"] for row in required)
    wrong = [row for row in required if verdict(row) is not row["valid"]]
    elsewhere = [row for row in wrong if any("localhost:1234" in reference for reference in references(row["schema"]))]
    assert [(row["case"], row["test"]) for row in wrong if row not in elsewhere] == []
    assert [row["case"] for row in elsewhere if verdict(row) is not None] == [
        "schema that uses custom metaschema with with no validation vocabulary"
    ]
    files = {row["file"].rpartition("/")[2] for row in elsewhere}
    assert files == {"dynamicRef.json", "refRemote.json", "vocabulary.json"}
    assert counted[True] > 1_100
    assert len(elsewhere) / len(required) < 0.04


def test_every_planted_fault_in_real_webhooks_is_found() -> None:
    schemas = {row["event"]: row["schema"] for row in rows("webhooks/schemas.jsonl.gz")}
    missed = [
        (row["event"], row["op"], row["path"])
        for row in rows("webhooks/mutants.jsonl.gz")
        if not violations(schemas[row["event"]], row["payload"])
    ]
    assert missed == []


def test_verdicts_on_real_webhooks_match_the_recorded_ones_except_for_formats() -> None:
    schemas = {row["event"]: row["schema"] for row in rows("webhooks/schemas.jsonl.gz")}
    payloads = rows("webhooks/payloads.jsonl.gz")
    for row in payloads:
        assert (not violations(without_formats(schemas[row["event"]]), row["payload"])) is row["valid"], row["file"]
    strict = [row for row in payloads if (not violations(schemas[row["event"]], row["payload"])) is not row["valid"]]
    rules = {violation.rule for row in strict for violation in violations(schemas[row["event"]], row["payload"])}
    assert rules <= {"format"}
    assert len(strict) < 0.05 * len(payloads)


def without_formats(schema: Any) -> Any:
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if key != "format" or not isinstance(value, str)}
        return {key: without_formats(value) for key, value in kept.items()}
    return [without_formats(item) for item in schema] if isinstance(schema, list) else schema
