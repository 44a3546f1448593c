"""Values asked for as JSON text are parsed; every other value is unchanged."""

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


def decision(**step: Json) -> JsonObject:
    return {"reasoning": "{}", "step": step}


def open_data(data: Json) -> JsonObject:
    return decision(action="publish:open", data=data)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (open_data('{"a": [1, "{}"]}'), open_data({"a": [1, "{}"]})),
        (open_data({"a": 1}), open_data({"a": 1})),
        (open_data("no JSON"), open_data("no JSON")),
        (open_data('{"a": 1, "a": 2}'), open_data('{"a": 1, "a": 2}')),
        (open_data('{"a": NaN}'), open_data('{"a": NaN}')),
        (open_data(DEEP), open_data(DEEP)),
        (open_data('"{}"'), open_data("{}")),
        (decision(action="complete", result="[1]"), decision(action="complete", result=[1])),
        (
            decision(action="publish:named", data={"name": '{"a": 1}'}),
            decision(action="publish:named", data={"name": '{"a": 1}'}),
        ),
        (
            decision(action="publish_all", requests=[{"action": "publish:open", "data": "{}"}, 7]),
            decision(action="publish_all", requests=[{"action": "publish:open", "data": {}}, 7]),
        ),
        (decision(action="unknown", data="{}"), decision(action="unknown", data="{}")),
        (["{}"], ["{}"]),
        (None, None),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_text_is_parsed_if_its_schema_asked_for_text(shared: bool, said: Json, meant: Json) -> None:
    assert read_texts(said, wire_of(DOCUMENT, shared=shared)) == meant


def test_requests_in_an_outline_are_given_as_text() -> None:
    wire = wire_of(DOCUMENT, shared=False)
    said = decision(action="publish_all", requests=[{"action": "publish:named", "data": '{"name": "x"}'}])
    assert violations(wire.schema, said) == []
    assert read_texts(said, wire) == decision(
        action="publish_all", requests=[{"action": "publish:named", "data": {"name": "x"}}]
    )


def test_a_part_with_a_text_schema_of_its_own_is_left_alone() -> None:
    document = object_schema({"step": {"anyOf": [branch("complete", result={"type": "string"})]}})
    said: JsonObject = {"step": {"action": "complete", "result": "{}"}}
    assert read_texts(said, wire_of(document)) is said


def test_an_optional_text_may_be_null() -> None:
    wire = wire_of(object_schema({"result": OPEN}, optional=["result"]))
    assert [read_texts({"result": said}, wire) for said in (None, "{}")] == [{"result": None}, {"result": {}}]


def test_a_value_survives_a_round_trip_through_text() -> None:
    for value in ({"a": {"b": [None, 1.5, "x"]}}, {}):
        assert read_texts(open_data(json.dumps(value)), wire_of(DOCUMENT)) == open_data(value)
