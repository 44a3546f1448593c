"""What was asked for as JSON text comes back as what it spells; everything else stays as it came."""

import json

import pytest

from soorma_ai.adapters.models.texts import read_texts
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.portable import object_schema, wire_of

OPEN: JsonObject = {"type": "object"}
NAMED = object_schema({"name": {"type": "string"}})


def branch(action: str, **properties: Json) -> JsonObject:
    return object_schema({"action": {"const": action}, **properties})


REQUEST: JsonObject = {"$ref": "#/$defs/request"}
STEPS: list[Json] = [
    REQUEST,
    branch("publish_all", requests={"type": "array", "items": REQUEST}),
    branch("complete", result=OPEN),
]
REQUESTS: list[Json] = [branch("publish:open", data=OPEN), branch("publish:named", data=NAMED)]
DOCUMENT = {
    **object_schema({"reasoning": {"type": "string"}, "step": {"anyOf": STEPS}}),
    "$defs": {"request": {"anyOf": REQUESTS}},
}
DEEP = "[" * 100_000


def decided(**step: Json) -> JsonObject:
    return {"reasoning": "{}", "step": step}


def opened(data: Json) -> JsonObject:
    return decided(action="publish:open", data=data)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (opened('{"a": [1, "{}"]}'), opened({"a": [1, "{}"]})),
        (opened({"a": 1}), opened({"a": 1})),
        (opened("no JSON"), opened("no JSON")),
        (opened('{"a": 1, "a": 2}'), opened('{"a": 1, "a": 2}')),
        (opened('{"a": NaN}'), opened('{"a": NaN}')),
        (opened(DEEP), opened(DEEP)),
        (opened('"{}"'), opened("{}")),
        (decided(action="complete", result="[1]"), decided(action="complete", result=[1])),
        (
            decided(action="publish:named", data={"name": '{"a": 1}'}),
            decided(action="publish:named", data={"name": '{"a": 1}'}),
        ),
        (
            decided(action="publish_all", requests=[{"action": "publish:open", "data": "{}"}, 7]),
            decided(action="publish_all", requests=[{"action": "publish:open", "data": {}}, 7]),
        ),
        (decided(action="unknown", data="{}"), decided(action="unknown", data="{}")),
        (["{}"], ["{}"]),
        (None, None),
    ],
    ids=lambda value: str(value)[:60],
)
def test_text_is_turned_back_where_it_was_asked_for(shared: bool, said: Json, meant: Json) -> None:
    assert read_texts(said, wire_of(DOCUMENT, shared=shared)) == meant


def test_requests_that_are_told_in_outline_are_given_as_text() -> None:
    wire = wire_of(DOCUMENT, shared=False)
    said = decided(action="publish_all", requests=[{"action": "publish:named", "data": '{"name": "x"}'}])
    assert violations(wire.schema, said) == []
    assert read_texts(said, wire) == decided(
        action="publish_all", requests=[{"action": "publish:named", "data": {"name": "x"}}]
    )


def test_a_part_that_is_text_by_its_own_schema_is_left_alone() -> None:
    document = object_schema({"step": {"anyOf": [branch("complete", result={"type": "string"})]}})
    said: JsonObject = {"step": {"action": "complete", "result": "{}"}}
    assert read_texts(said, wire_of(document)) is said


def test_an_optional_text_may_be_null() -> None:
    wire = wire_of(object_schema({"result": OPEN}, optional=["result"]))
    assert [read_texts({"result": said}, wire) for said in (None, "{}")] == [{"result": None}, {"result": {}}]


def test_the_way_there_and_back_changes_nothing() -> None:
    for value in ({"a": {"b": [None, 1.5, "x"]}}, {}):
        assert read_texts(opened(json.dumps(value)), wire_of(DOCUMENT)) == opened(value)
