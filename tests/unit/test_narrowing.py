"""A narrower schema is found by its gaps: data that was valid stays valid, a promised result stays promised."""

import random
from typing import Any

import pytest

from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.rules.schemas.narrowing import find_gaps

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def form(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {**form(*required, **properties), "additionalProperties": False}


def defined(schema: dict[str, Any], **defs: Any) -> dict[str, Any]:
    return {**schema, "$defs": defs}


A_OR_B = {"oneOf": [form("kind", kind={"const": "a"}), form("kind", kind={"const": "b"})]}
TREE = defined({"$ref": "#/$defs/N"}, N=form("v", v=NUMBER, below={"type": "array", "items": {"$ref": "#/$defs/N"}}))
SLIM = defined({"$ref": "#/$defs/N"}, N=form("v", v=WHOLE, below={"type": "array", "items": {"$ref": "#/$defs/N"}}))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (form(a=TEXT), form(a={**TEXT, "description": "words", "title": "A", "default": "x"})),
        (form(a=TEXT), form(a=TEXT, b=NUMBER)),
        (closed(a=TEXT), closed(a=TEXT, b=NUMBER)),
        (closed(a=TEXT), form(a=TEXT)),
        (form("a", a=TEXT), form(a=TEXT)),
        (form(a=WHOLE), form(a=NUMBER)),
        (form(a=TEXT), form(a={"type": ["string", "null"]})),
        (form(a=TEXT), form(a={"anyOf": [TEXT, {"type": "null"}]})),
        (form(a={"anyOf": [WHOLE, {"type": "null"}]}), form(a={"type": ["number", "null"]})),
        (form(a={"enum": ["x", "y"]}), form(a={"enum": ["x", "y", "z"]})),
        (form(a={"enum": ["x", "y"]}), form(a=TEXT)),
        (form(a={"const": 3}), form(a={**WHOLE, "minimum": 1})),
        (form(a={**NUMBER, "minimum": 2}), form(a={**NUMBER, "exclusiveMinimum": 1})),
        (form(a={**TEXT, "maxLength": 5}), form(a={**TEXT, "maxLength": 9})),
        (form(a={**TEXT, "pattern": "^x"}), form(a=TEXT)),
        (form(a={"type": "array", "items": WHOLE}), form(a={"type": "array", "items": NUMBER, "minItems": 0})),
        (form(a={**WHOLE, "multipleOf": 4}), form(a={**WHOLE, "multipleOf": 2})),
        (form(a=TEXT), {"$ref": "#/$defs/F", "$defs": {"F": form(a=TEXT)}}),
        ({"allOf": [form(a=TEXT), form("b", b=NUMBER)]}, form("b", a=TEXT, b=NUMBER)),
        (A_OR_B, {"oneOf": [*A_OR_B["oneOf"], form("kind", kind={"const": "c"})]}),
        (SLIM, TREE),
        (form(a={"not": TEXT}), form(b=TEXT, a={"not": TEXT})),
    ],
)
def test_a_wider_schema_has_no_gap(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert find_gaps(before, now) == []


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (form(a=TEXT), form("a", a=TEXT), "$.a: is required now"),
        (form(a=TEXT), closed(a=TEXT), "$: further properties are not allowed any more"),
        (closed(a=TEXT, b=TEXT), closed(a=TEXT), "$.b: is not allowed any more"),
        (form(a=NUMBER), form(a=WHOLE), "$.a: number is not allowed any more"),
        (form(a={"type": ["string", "null"]}), form(a=TEXT), "$.a: null is not allowed any more"),
        (form(a={"enum": ["x", "y"]}), form(a={"enum": ["x"]}), '$.a: the value "y" is not allowed any more'),
        (form(a=TEXT), form(a={"enum": ["x"]}), '$.a: only ["x"] is allowed now'),
        (form(a=NUMBER), form(a={**NUMBER, "maximum": 9}), "$.a: must be at most 9 now"),
        (form(a={**NUMBER, "minimum": 1}), form(a={**NUMBER, "exclusiveMinimum": 1}), "$.a: must be at least 1 now"),
        (form(a=TEXT), form(a={**TEXT, "maxLength": 9}), "$.a: maxLength is 9 now"),
        (form(a=TEXT), form(a={**TEXT, "pattern": "^x"}), '$.a: pattern "^x" is new'),
        (form(a=TEXT), form(a={**TEXT, "format": "email"}), '$.a: format "email" is new'),
        (form(a=WHOLE), form(a={**WHOLE, "multipleOf": 3}), "$.a: must be a multiple of 3 now"),
        (form(a={"type": "array"}), form(a={"type": "array", "items": TEXT}), "$.a[]: must fit"),
        (form(a={"type": "array"}), form(a={"type": "array", "uniqueItems": True}), "$.a: its items must be unique"),
        (form(a={"type": "array"}), form(a={"type": "array", "minItems": 1}), "$.a: minItems is 1 now"),
        (A_OR_B, {"oneOf": A_OR_B["oneOf"][:1]}, "$.kind"),
        (A_OR_B, {"oneOf": [*A_OR_B["oneOf"], form("kind")]}, "may fit more than one alternative"),
        (TREE, SLIM, "$.v: number is not allowed any more"),
        (form(a=TEXT), {**form(a=TEXT), "if": {"required": ["a"]}, "then": {"required": ["b"]}}, "$: if"),
        ({**closed(a=TEXT), "patternProperties": {"^x": TEXT}}, closed(a=TEXT), "$.*: is not allowed any more"),
        (form(a=TEXT), {**form(a=TEXT), "propertyNames": {"maxLength": 3}}, "$: propertyNames"),
    ],
)
def test_a_narrower_schema_has_a_gap_with_its_place_and_reason(
    before: dict[str, Any], now: dict[str, Any], reason: str
) -> None:
    found = [str(gap) for gap in find_gaps(before, now)]
    assert found
    assert any(reason in one for one in found), found


def test_a_result_property_that_is_gone_breaks_the_promise() -> None:
    promised = form(a=TEXT, b=NUMBER)
    (gap,) = find_gaps(form(a=TEXT), promised, promises=True)
    assert str(gap) == "$.b: is not promised any more"
    assert find_gaps(form("a", a=TEXT, b=NUMBER, c=TEXT), promised, promises=True) == []


def test_dynamic_references_are_not_compared() -> None:
    dynamic = {"$id": "https://x.test/a", "type": "object"}
    (gap,) = find_gaps(dynamic, {**dynamic, "maxProperties": 3})
    assert "not compared" in gap.reason


def _value(dice: random.Random, depth: int) -> Any:
    plain = [None, True, dice.randrange(-1, 5), dice.choice([0.5, 3.0]), dice.choice(["", "x", "xy", "abc"])]
    if depth == 0 or dice.random() < 0.4:
        return dice.choice(plain)
    if dice.random() < 0.4:
        return [_value(dice, depth - 1) for _ in range(dice.randrange(3))]
    return {name: _value(dice, depth - 1) for name in "abc" if dice.random() < 0.6}


def _schema(dice: random.Random, depth: int) -> Any:
    kind = dice.randrange(6 if depth == 0 else 12)
    match kind:
        case 0:
            return {"type": dice.choice(["integer", "number"]), "minimum": dice.randrange(3)}
        case 1:
            return {"type": "string", "maxLength": dice.randrange(4)}
        case 2:
            return {"enum": dice.sample([1, 2, "x", None, True], 2)}
        case 3 | 4:
            return {"type": dice.sample(["null", "boolean", "integer", "number", "string", "array", "object"], 2)}
        case 5:
            return dice.choice([True, {"const": "x"}, {"$ref": "#/$defs/D"}])
        case 6 | 7:
            return {dice.choice(["anyOf", "oneOf", "allOf"]): [_schema(dice, depth - 1) for _ in range(2)]}
        case 8:
            return {"type": "array", "items": _schema(dice, depth - 1), "maxItems": dice.randrange(3)}
        case 9:
            return {"not": _schema(dice, depth - 1)}
        case _:
            names = [name for name in "abc" if dice.random() < 0.6]
            made = {"type": "object", "properties": {name: _schema(dice, depth - 1) for name in names}}
            made["required"] = [name for name in "abc" if dice.random() < 0.3]
            made["additionalProperties"] = dice.choice([True, False, {"type": "string"}])
            return made


def _changed(dice: random.Random, schema: Any) -> Any:
    if not isinstance(schema, dict) or dice.random() < 0.2:
        return _schema(dice, 1)
    name = dice.choice([*schema])
    part = schema[name]
    if isinstance(part, dict) and name == "properties" and part:
        inner = dice.choice([*part])
        return {**schema, name: {**part, inner: _changed(dice, part[inner])}}
    if isinstance(part, list) and name in ("anyOf", "oneOf", "allOf"):
        return {**schema, name: [*part[:-1], _changed(dice, part[-1])]}
    return {key: one for key, one in schema.items() if key != name} if name not in ("type", "$ref") else schema


@pytest.mark.parametrize("seed", range(8))
def test_without_a_gap_every_value_of_the_former_schema_fits(seed: int) -> None:
    dice, without = random.Random(seed), 0
    for _ in range(250):
        defs = {"D": _schema(dice, 0)} if dice.random() < 0.8 else {"D": TEXT}
        before = _schema(dice, 2)
        now = _changed(dice, before)
        if not (isinstance(before, dict) and isinstance(now, dict)) or "$ref" in str(defs):
            continue
        before, now = {**before, "$defs": defs}, {**now, "$defs": defs}
        if find_gaps(before, now, promises=True):
            continue
        without += 1
        for value in (_value(dice, 3) for _ in range(30)):
            assert violations(before, value) or not violations(now, value), (before, now, value)
    assert without > 20
