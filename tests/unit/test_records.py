"""Records behave in pydantic like dataclasses of the same fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import field
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from soorma_ai.kernel.domain.records import Record, plain

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Leaf(Record, frozen=True):
    """One leaf."""

    at: datetime
    leaves: tuple[Leaf, ...] = ()


class Tree(Record, frozen=True, kw_only=True):
    """A tree."""

    height: int = 3
    leaf: Leaf | None = None
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.height > 100:
            raise ValueError("it would fall")


class Garden(BaseModel):
    tree: Tree


TREES: TypeAdapter[Tree] = TypeAdapter(Tree)
TALL = Tree(height=7, leaf=Leaf(NOON, (Leaf(NOON),)), names={"a": "b"})


def test_a_record_survives_a_round_trip() -> None:
    assert TREES.validate_json(TREES.dump_json(TALL)) == TALL


def test_defaults_of_a_record_can_be_left_out() -> None:
    assert TREES.dump_json(Tree(height=7), exclude_defaults=True) == b'{"height":7}'
    assert TREES.dump_json(TALL, exclude={"leaf", "names"}) == b'{"height":7}'


def test_a_record_in_a_model_is_not_copied() -> None:
    assert Garden(tree=TALL).tree is TALL
    assert Garden.model_validate_json(Garden(tree=TALL).model_dump_json()) == Garden(tree=TALL)


@pytest.mark.parametrize(
    ("given", "place", "fault"),
    [
        ({"height": "tall"}, ("height",), "int_parsing"),
        ({"height": 101}, (), "value_error"),
        ({"leaf": {}}, ("leaf", "at"), "missing"),
        ({"leaf": {"at": NOON, "leaves": [{"at": 1}, {}]}}, ("leaf", "leaves", 1, "at"), "missing"),
        ([], (), "dataclass_type"),
    ],
)
def test_an_invalid_field_is_reported_with_its_place(given: Any, place: tuple[str | int, ...], fault: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TREES.validate_python(given)
    assert [(one["loc"], one["type"]) for one in refused.value.errors()] == [(place, fault)]


@dataclass(frozen=True)
class Plain:
    """A thing."""

    at: datetime
    names: tuple[str, ...] = ()


class Struct(Record, frozen=True):
    """A thing."""

    at: datetime
    names: tuple[str, ...] = ()


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_a_records_schema_is_that_of_a_dataclass(mode: Any) -> None:
    plain, record = (TypeAdapter[Any](kind).json_schema(mode=mode) for kind in (Plain, Struct))
    assert record == plain | {"title": "Struct"}


def test_a_list_of_records_is_serialized_through_the_fallback() -> None:
    assert to_jsonable_python([TALL.leaf], fallback=plain) == [
        {"at": "2026-05-04T12:00:00Z", "leaves": [{"at": "2026-05-04T12:00:00Z", "leaves": []}]}
    ]
    with pytest.raises(PydanticSerializationError, match="unknown type"):
        to_jsonable_python(object(), fallback=plain)


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    leaf: Leaf


def test_a_strict_model_reads_a_record_from_json() -> None:
    assert Strict.model_validate_json('{"leaf":{"at":"2026-05-04T12:00:00Z"}}').leaf == Leaf(NOON)
