"""Wire schemas: every valid value passes, only keywords known to providers are used, and the way back is exact."""

import json
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.slices import at_once
from soorma_ai.kernel.domain.values import Json, JsonObject, compact
from soorma_ai.kernel.rules.schemas import nulls
from soorma_ai.kernel.rules.schemas.portable import AGAIN, is_too_large, wire_of
from soorma_ai.kernel.rules.schemas.rewriter import MAX_PROPERTIES, Rewriter
from unit.material import obj, rows

CLOSED: JsonObject = {"additionalProperties": False}
WORDS: JsonObject = {"type": "array", "items": {"type": "string"}, "minItems": 1}


def strip_wire_nulls(value: Json, document: JsonObject) -> Json:
    return at_once(nulls.strip_wire_nulls(value, document))


def nested_schema(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(levels):
        schema = obj({"in": schema}, "in")
    return schema


def with_every_null(value: Json, schema: Json) -> Json:
    """An answer of a strict provider: every property, null for a missing value."""
    if not isinstance(schema, dict):
        return value
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        fitting = (with_every_null(value, branch) for branch in branches)
        return next((shown for shown, b in zip(fitting, branches, strict=True) if not violations(b, shown)), value)
    if isinstance(value, list):
        return [with_every_null(item, schema.get("items")) for item in value]
    properties = schema.get("properties")
    if isinstance(value, dict) and isinstance(properties, dict):
        return {name: with_every_null(value.get(name), child) for name, child in properties.items()}
    return value


def test_a_schema_within_the_common_subset_is_strict() -> None:
    document = obj(
        {
            "id": {"type": "string", "pattern": "^o-[0-9]+$"},
            "qty": {"type": "integer", "minimum": 1},
            "note": {"type": "string"},
        },
        "id",
        "qty",
    )
    wire = wire_of(document)
    assert (wire.strict, wire.why, wire.unions) == (True, "", 1)
    note: JsonObject = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    properties: JsonObject = {**document["properties"], "note": note}
    assert wire.schema == obj(properties, "id", "qty", "note", additionalProperties=False)
    assert list(wire.schema["properties"]) == ["id", "qty", "note"]


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", None, 1]}, {"type": ["string", "null", "integer"], "enum": ["a", None, 1]}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": "string", "title": "T", "examples": ["x"]}, {"type": "string"}),
        ({"type": "string", "format": "email"}, {"type": "string", "format": "email"}),
        (WORDS, WORDS),
        (
            {"allOf": [{"type": "string"}, {"maxLength": 3}], "description": "a word"},
            {"type": "string", "description": "a word Rules: maxLength=3."},
        ),
        (
            {"type": "string", "minLength": 2, "default": "ab", "format": "uri", "pattern": "(?=x)"},
            {"type": "string", "description": 'Rules: minLength=2, default="ab", format="uri", pattern="(?=x)".'},
        ),
        (
            {**obj({"a": {"type": "string"}}, "a", description="d"), "type": ["object", "null"]},
            {"description": "d", "anyOf": [obj({"a": {"type": "string"}}, "a", **CLOSED), {"type": "null"}]},
        ),
    ],
)
def test_a_rule_is_expressed_by_common_keywords_or_in_the_description(given_: JsonObject, shown: JsonObject) -> None:
    wire = wire_of(obj({"x": given_}, "x"))
    assert wire.strict, wire.why
    assert wire.schema["properties"]["x"] == shown


def test_alternatives_beside_properties_are_completed_and_required_sets_are_described() -> None:
    kinds: list[Json] = [obj({"kind": {"const": k}, k: {"type": "string"}}, "kind", k) for k in ("card", "iban")]
    wire = wire_of(obj({"pay": obj({"amount": {"type": "number"}}, "amount", oneOf=kinds)}, "pay"))
    assert wire.strict, wire.why
    branches = [list(branch["properties"]) for branch in wire.schema["properties"]["pay"]["anyOf"]]
    assert branches == [["amount", "kind", "card"], ["amount", "kind", "iban"]]
    either: list[Json] = [{"required": ["card"]}, {"required": ["iban"]}]
    wire = wire_of(obj({"card": {"type": "string"}, "iban": {"type": "string"}}, anyOf=either))
    assert wire.strict, wire.why
    assert "anyOf" in wire.schema["description"]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (obj({"x": {}}, "x"), "$.x: anything is possible"),
        (obj({"x": {"type": "object"}}, "x"), "$.x: an open object"),
        (obj({"x": {"type": "object", "additionalProperties": {"type": "integer"}}}, "x"), "$.x: an open object"),
        (obj({}, patternProperties={"^x": {}}), "$: properties under patternProperties"),
        (obj({"a": {"type": "string"}}, "a", "b"), "$: b required but not described"),
        (obj({"x": {"const": {"a": 1}}}, "x"), "$.x: a fixed object or array"),
        ({"anyOf": [obj({}), obj({})]}, "$: the root is no plain object"),
        ({"type": "array", "items": {"type": "string"}}, "$: the root is no plain object"),
        (obj({f"p{n}": {"type": "string"} for n in range(5001)}), "$: 5001 properties, 5000 are possible"),
        (obj({"x": {"enum": [f"v{n}" for n in range(1001)]}}), "$: 1001 enum values, 1000 are possible"),
        (obj({"x": {"enum": ["v" * 60 + str(n) for n in range(300)]}}), "$: one enum of 300 values"),
    ],
)
def test_a_schema_that_cannot_be_strict_names_the_reason(schema: JsonObject, why: str) -> None:
    wire = wire_of(schema)
    assert not wire.strict
    assert wire.why.startswith(why)


def test_a_schema_nested_too_deep_is_loose_and_keeps_its_optional_and_open_parts() -> None:
    schema = nested_schema(11)
    assert wire_of(schema).why == "$: 11 levels of nesting, 10 are possible"
    assert wire_of(schema["properties"]["in"]).strict
    loose = obj({"free": {"type": "object"}, "note": {"type": "string"}}, "free")
    assert wire_of(loose).schema == loose


@pytest.mark.parametrize(
    ("schema", "said", "meant"),
    [
        (obj({"a": {"type": "string"}}), {"a": None}, {}),
        (obj({"a": {"type": "string"}}, "a"), {"a": None}, {"a": None}),
        (obj({"a": {"type": ["string", "null"]}}), {"a": None}, {"a": None}),
        (obj({"a": {"enum": ["x", None]}}), {"a": None}, {"a": None}),
        (obj({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}), {"a": None}, {"a": None}),
        (obj({"a": {}}), {"a": None}, {"a": None}),
        (obj({"a": {"not": {"type": "null"}}}), {"a": None}, {}),
        (obj({"a": {"$ref": "#/$defs/W"}}, **{"$defs": {"W": {"type": "string"}}}), {"a": None}, {}),
        (obj({}), {"b": None}, {"b": None}),
        (
            obj({"l": {"type": "array", "items": obj({"a": {"type": "string"}})}}),
            {"l": [{"a": None}, {}]},
            {"l": [{}, {}]},
        ),
        (obj({}, additionalProperties=obj({"a": {"type": "string"}})), {"x": {"a": None}}, {"x": {}}),
        (
            {"allOf": [obj({"a": {"type": "string"}}), obj({"b": {"type": "string"}}, "b")]},
            {"a": None, "b": None},
            {"b": None},
        ),
        (obj({"a": {"type": "string"}}), [None], [None]),
        (obj({"a": {"type": "string"}}), None, None),
    ],
)
def test_a_null_for_a_missing_value_is_removed(schema: JsonObject, said: Json, meant: Json) -> None:
    assert strip_wire_nulls(said, schema) == meant


def test_alternatives_are_chosen_by_their_tag_or_by_validation() -> None:
    tagged = {
        "anyOf": [
            obj({"action": {"const": "a"}, "note": {"type": "string"}}, "action"),
            obj({"action": {"const": "b"}, "note": {"type": ["string", "null"]}}, "action"),
        ]
    }
    assert strip_wire_nulls({"action": "a", "note": None}, tagged) == {"action": "a"}
    assert strip_wire_nulls({"action": "b", "note": None}, tagged) == {"action": "b", "note": None}
    untagged = {
        "oneOf": [
            obj({"card": {"type": "string"}, "note": {"type": "string"}}, "card"),
            obj({"iban": {"type": "string"}, "note": {"type": ["string", "null"]}}, "iban"),
        ]
    }
    assert strip_wire_nulls({"iban": "x", "note": None}, untagged) == {"iban": "x", "note": None}
    assert strip_wire_nulls({"card": "x", "note": None}, untagged) == {"card": "x"}


NOTED = obj({"note": {"type": "string"}}, "id")
EITHER: JsonObject = {"anyOf": [obj({"note": {"type": "string"}}, f"x{number}") for number in range(5)]}


@pytest.mark.parametrize("item", [NOTED, EITHER])
def test_nulls_of_large_data_are_removed_in_slices(item: JsonObject) -> None:
    document = obj({"items": {"type": "array", "items": item}})
    said: JsonObject = {"items": [{"id": 1, "note": None}] * 20_000}
    slices, left = 0, nulls.strip_wire_nulls(said, document)
    with suppress(StopIteration):
        while True:
            next(left)
            slices += 1
    assert slices > 2
    assert strip_wire_nulls(said, document) == {"items": [{"id": 1}] * 20_000}
    assert not list(nulls.strip_wire_nulls({"items": [{"id": 1, "note": None}]}, document))


def test_nested_alternatives_are_tried_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def count(document: JsonObject, value: Json) -> Generator[int, None, bool]:
        tried.append(1)
        yield 1
        return not violations(document, value)

    monkeypatch.setattr(nulls, "fits", count)
    schema: JsonObject = {"type": "string"}
    said: Json = None
    for _ in range(12):
        schema = {"anyOf": [obj({"a": schema}, "x"), obj({"a": True}, "y")]}
        said = {"a": said, "x": 1}
    strip_wire_nulls(said, schema)
    assert len(tried) == 12


SCALARS = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": ["string", "null"]}, {"enum": ["a", "b"]}])
NAMES = st.sampled_from(["a", "b", "c"])


def objects(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(NAMES, children, min_size=1).flatmap(
        lambda properties: st.sets(st.sampled_from(sorted(properties))).map(
            lambda needed: obj(properties, *sorted(needed), additionalProperties=False)
        )
    )


SCHEMAS = objects(
    st.recursive(SCALARS, lambda c: objects(c) | c.map(lambda item: {"type": "array", "items": item}), max_leaves=8)
)


@st.composite
def fitting_value(draw: st.DrawFn, schema: Any) -> Any:
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    match schema["type"]:
        case "string":
            return draw(st.text(max_size=3))
        case "integer":
            return draw(st.integers(-5, 5))
        case "array":
            return draw(st.lists(fitting_value(schema["items"]), max_size=2))
        case "object":
            here = [name for name in schema["properties"] if name in schema["required"] or draw(st.booleans())]
            return {name: draw(fitting_value(schema["properties"][name])) for name in here}
        case _:
            return draw(st.none() | st.text(max_size=3))


@given(SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), fitting_value(schema))))
def test_a_valid_value_fits_the_wire_schema_and_comes_back_unchanged(pair: tuple[JsonObject, Json]) -> None:
    schema, value = pair
    before = json.dumps(schema)
    wire = wire_of(schema)
    assert wire.strict, wire.why
    shown = with_every_null(value, wire.schema)
    assert violations(wire.schema, shown) == []
    back = strip_wire_nulls(shown, schema)
    assert violations(schema, back) == []
    assert strip_wire_nulls(back, schema) == back
    assert json.dumps(schema) == before, "the document is unchanged"


def test_decisions_of_the_data_set_pass_the_wire_and_come_back_unchanged() -> None:
    schemas = {row["name"]: row["payload_schema"] for row in rows("plans-dev/events.jsonl")}
    wires = {name: wire_of(schema, held=False, shared=False) for name, schema in schemas.items()}
    assert sum(wire.strict for wire in wires.values()) / len(wires) > 0.95
    checked = 0
    for plan in rows("plans-dev/plans.jsonl"):
        for step in plan["steps"]:
            if step["decision"] == "PUBLISH":
                wire, data = wires[step["event"]], step["data"]
                shown = with_every_null(data, wire.schema) if wire.strict else data
                assert violations(wire.schema, shown) == []
                assert strip_wire_nulls(shown, schemas[step["event"]]) == data
                checked += 1
    assert checked > 200


def test_recorded_tool_calls_get_their_recorded_verdict() -> None:
    checked = 0
    for row in rows("recordings-dev/tool_call_pairs.jsonl.gz"):
        if row["schema"] is None:
            continue
        arguments = json.loads(row["args"] or "{}") if isinstance(row["args"], str) else row["args"]
        wire = wire_of(row["schema"], held=False)
        back = strip_wire_nulls(arguments, row["schema"])
        assert (not violations(row["schema"], back)) == (row["verdict"] == "valid"), row
        shown = with_every_null(arguments, wire.schema) if wire.strict else arguments
        if row["verdict"] == "valid":
            assert violations(wire.schema, shown) == [], row
        checked += 1
    assert checked > 200


def test_every_real_tool_has_a_wire_schema_and_a_broken_one_fails_only_on_use() -> None:
    wires = [
        wire_of(row.get("payload_schema") or row["schema"], held=False) for row in rows("registry-dev/events.jsonl.gz")
    ]
    assert sum(wire.strict for wire in wires) / len(wires) > 0.95
    broken = obj({"a": {"type": "nonsense"}})
    wire_of(broken)
    with pytest.raises(ConfigError):
        violations(broken, {})


def test_real_payloads_fit_the_wire_schema_of_their_schema() -> None:
    schemas = {row["event"]: row["schema"] for row in rows("webhooks/schemas.jsonl.gz")}
    checked = 0
    for row in rows("webhooks/payloads.jsonl.gz"):
        schema = schemas[row["event"]]
        wire = wire_of(schema, held=False)
        # Invalid timestamps are out of scope here. Strict schemas are closed; these payloads have extra fields.
        if row["valid"] and not wire.strict and not violations(schema, row["payload"]):
            assert violations(wire.schema, row["payload"]) == [], row["event"]
            checked += 1
    assert checked > 50


ORDER = obj({"id": {"type": "string"}, "note": {"type": "string"}}, "id", **CLOSED)
OPEN: JsonObject = {"type": "object"}


def branch(action: str, **properties: Json) -> JsonObject:
    return obj({"action": {"const": action}, **properties}, "action", *properties, **CLOSED)


def decision(*requests: JsonObject, result: Json = ORDER) -> JsonObject:
    """The form of a planner's decision, with a definition of its requests used twice."""
    request: JsonObject = {"$ref": "#/$defs/request"}
    steps: list[Json] = [
        request,
        branch("publish_all", requests={"type": "array", "items": request, "minItems": 1}),
        branch("complete", result=result),
    ]
    document = obj({"reasoning": {"type": "string"}, "step": {"anyOf": steps}}, "reasoning", "step", **CLOSED)
    return {**document, "$defs": {"request": {"anyOf": [*requests]}}}


def asks(name: str, data: Json = ORDER) -> JsonObject:
    return branch(f"publish:{name}", data=data)


def test_a_definition_stays_a_reference_for_a_provider_that_follows_them() -> None:
    document = decision(asks("a"), asks("b"))
    wire = wire_of(document)
    assert (wire.strict, wire.why) == (True, "")
    assert wire.schema["properties"]["step"]["anyOf"][0] == {"$ref": "#/$defs/request"}
    shown = wire.schema["$defs"]["request"]["anyOf"]
    assert [one["properties"]["action"]["enum"] for one in shown] == [["publish:a"], ["publish:b"]]
    assert wire.text.count('"publish:a"') == 1
    assert wire.text == json.dumps(wire.schema, separators=(",", ":"))
    assert wire_of(document) is wire


@pytest.mark.parametrize(
    ("held", "data", "again"),
    [
        (True, ORDER, {"type": "string", "description": f"JSON text of the value, {AGAIN}"}),
        (False, OPEN, {"type": "object", "description": AGAIN}),
    ],
)
def test_without_references_a_definition_is_expanded_once_and_then_outlined(
    held: bool, data: JsonObject, again: JsonObject
) -> None:
    wire = wire_of(decision(asks("a", data), asks("b")), held=held, shared=False)
    assert wire.strict is held
    assert "$" not in wire.text
    first, several, _ = wire.schema["properties"]["step"]["anyOf"]
    assert [one["properties"]["action"]["enum"] for one in first["anyOf"]] == [["publish:a"], ["publish:b"]]
    actions: JsonObject = {"type": "string", "enum": ["publish:a", "publish:b"]}
    outline = obj({"action": actions, "data": again}, "action", "data", **CLOSED)
    assert several["properties"]["requests"]["items"] == outline


def test_a_definition_of_another_form_is_expanded_at_every_use() -> None:
    size: JsonObject = {"$ref": "#/$defs/size"}
    document: JsonObject = {**obj({"one": size, "two": size}), "$defs": {"size": {"enum": ["s", "m"]}}}
    properties = wire_of(document, held=False, shared=False).schema["properties"]
    assert properties["one"] == properties["two"]
    assert properties["two"]["anyOf"][0] == {"type": "string", "enum": ["s", "m"]}


@pytest.mark.parametrize("data", [OPEN, {}, obj({"x": OPEN}), nested_schema(7)])
def test_a_part_that_cannot_be_strict_becomes_text_and_leaves_the_rest_strict(data: Json) -> None:
    wire = wire_of(decision(asks("a", data), asks("b"), result=OPEN))
    assert (wire.strict, wire.why, len(wire.texts)) == (True, "", 2)
    of_a, of_b = (one["properties"]["data"] for one in wire.schema["$defs"]["request"]["anyOf"])
    assert of_a["type"] == "string"
    assert of_a["description"] == f"The value as JSON text; it must fit this schema: {compact(data)}"
    assert of_b == wire_of(decision(asks("b"))).schema["$defs"]["request"]["anyOf"][0]["properties"]["data"]
    loose = wire_of(decision(asks("a", data), asks("b")), held=False)
    assert (loose.strict, loose.texts) == (False, frozenset())
    assert loose.why.startswith(("request|0.data", "$: 11 levels"))


def test_a_part_may_be_as_deep_as_its_place_allows() -> None:
    assert not wire_of(decision(asks("a", nested_schema(6)))).texts
    assert wire_of(decision(asks("a", nested_schema(7)))).texts
    assert not wire_of(obj({"data": nested_schema(9)}, "data")).texts


def test_an_optional_part_as_text_may_be_left_out() -> None:
    wire = wire_of(obj({"result": OPEN}))
    (text,) = wire.texts
    assert wire.schema["properties"]["result"] == {"anyOf": [text(), {"type": "null"}]}


def test_a_part_is_rewritten_once() -> None:
    data = obj({"x": {"type": "string"}})
    one, other = (wire_of(decision(asks("a", data), asks(name))) for name in "bc")
    first = [wire.schema["$defs"]["request"]["anyOf"][0]["properties"]["data"] for wire in (one, other)]
    assert first[0] is first[1]


def test_the_limits_of_providers_count_all_parts_together() -> None:
    def wide(count: int, number: int) -> JsonObject:
        part = obj({f"p{n}": {"type": "string"} for n in range(number)})
        return decision(*(asks(f"e{n}", part) for n in range(count)))

    most = (MAX_PROPERTIES - 9) // 102
    for count, is_over in ((most, False), (most + 1, True)):
        document = wide(count, 100)
        assert is_too_large(document) is is_over
        assert wire_of(document).strict is not is_over
        assert is_over is wire_of(document).why.endswith("properties, 5000 are possible")


def test_a_document_with_other_references_is_expanded_as_a_whole() -> None:
    tree = obj({"data": {"$ref": "#/$defs/node"}, "next": {"$ref": "#/$defs/node"}}, "data", "next")
    node = obj({"id": {"type": "string"}, "below": {"$ref": "#/$defs/node"}}, "id", **CLOSED)
    wire = wire_of({**tree, "$defs": {"node": node}}, held=False)
    assert "$" not in wire.text
    assert wire.schema["properties"]["next"]["properties"]["id"] == {"type": "string"}


def test_a_schemas_properties_characters_and_enums_are_counted() -> None:
    rewriter = Rewriter(strict=True)
    rewriter.rewrite(obj({"ab": {"enum": ["x", "yz"]}, "c": {"type": "array", "items": ORDER}}, "ab"), "$", 0)
    found = rewriter.tally
    assert (found.properties, found.chars, found.enum_values, found.longest_enum) == (4, 12, 2, (2, 3))
    assert (found.unions, found.depth) == (2, 3)
