"""Content of A2A messages: a round trip of data, and text placed into the fields of a schema."""

import math
from typing import Any

import pytest
from a2a.types import Part
from a2a.utils.errors import A2AError, ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.struct_pb2 import Value

from soorma_ai.errors import LocalProtocolError
from soorma_ai.gateways.a2a.parts import json_of, part_of, payload_of, read

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"a": 1, "b": 1.5, "c": [True, None, "x", {"d": -0.5}]},
        {"big": 2**53},
        {"bigger": 2**53 + 1},
        {"text": "äöü \U0001f600"},
    ],
)
def test_an_object_survives_a_round_trip_with_its_types(content: Any) -> None:
    assert read([part_of(content)]) == ("", content)
    found = read([part_of(content)])[1]
    assert {name: type(one) for name, one in found.items()} == {name: type(one) for name, one in content.items()}


def test_text_parts_join_as_lines_and_later_data_overrides_earlier() -> None:
    parts = [part_of("a"), part_of({"x": 1, "y": 1}), part_of("b"), part_of({"x": 2})]
    assert read(parts) == ("a\nb", {"x": 2, "y": 1})


@pytest.mark.parametrize(
    ("part", "error"),
    [
        (Part(), InvalidParamsError),
        (Part(raw=b"x"), ContentTypeNotSupportedError),
        (Part(url="file:///etc/passwd"), ContentTypeNotSupportedError),
        (Part(text="<b>", media_type="text/html"), ContentTypeNotSupportedError),
        (Part(text="1", media_type="application/json; charset=utf-8"), InvalidParamsError),
        (Part(text="{NaN", media_type="application/json"), InvalidParamsError),
        (part_of([1]), InvalidParamsError),
        (part_of(None), InvalidParamsError),
    ],
)
def test_a_part_without_supported_content_is_refused(part: Part, error: type[A2AError]) -> None:
    with pytest.raises(error):
        read([part])


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(InvalidParamsError):
        json_of(Value(number_value=number))


@pytest.mark.parametrize(
    ("words", "data", "schema", "payload"),
    [
        ("", {"x": 1}, {}, {"x": 1}),
        ("tea", {}, {}, {"text": "tea"}),
        ("tea", {"x": 1}, {"properties": {"x": NUMBER, "text": TEXT}}, {"x": 1, "text": "tea"}),
        ("tea", {"text": "tea"}, {"properties": {"text": TEXT}}, {"text": "tea"}),
        ("tea", {}, {"properties": {"topic": TEXT}}, {"topic": "tea"}),
        ("tea", {}, {"properties": {"topic": TEXT, "note": TEXT}, "required": ["topic"]}, {"topic": "tea"}),
    ],
)
def test_text_fills_the_text_field_of_the_schema(words: str, data: Any, schema: Any, payload: Any) -> None:
    assert payload_of(words, data, schema) == payload


@pytest.mark.parametrize(
    ("data", "schema", "fault"),
    [
        ({"text": "said"}, {"properties": {"text": TEXT}}, "both give 'text': leave one of them out"),
        ({"topic": ""}, {"properties": {"topic": TEXT}}, "both give 'topic': leave one of them out"),
        ({"x": 1}, {"properties": {"x": NUMBER}}, "no field beside the data: leave it out"),
        ({"x": 1}, {"additionalProperties": False}, "no field beside the data: leave it out"),
    ],
)
def test_text_is_never_dropped_beside_data(data: Any, schema: Any, fault: str) -> None:
    with pytest.raises(LocalProtocolError, match=fault):
        payload_of("tea", data, schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": False},
        {"properties": {"x": NUMBER}},
        {"properties": {"a": TEXT, "b": TEXT}},
        {"properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
        {"properties": {"a": True}, "required": "a"},
    ],
)
def test_text_without_a_matching_field_is_refused(schema: Any) -> None:
    with pytest.raises(LocalProtocolError, match="text alone is not enough"):
        payload_of("tea", {}, schema)
