"""Records are frozen dataclasses, whoever asks."""

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass
from dataclasses import replace as standard_replace
from functools import cached_property
from typing import cast

import pytest
from pydantic import TypeAdapter

from soorma_ai.domain.records import record, replace


@record
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list[str], compare=False)
    secret: str = field(default="", repr=False)

    @cached_property
    def sum(self) -> int:
        return self.x + self.y


@record
class Even:
    half: int
    whole: int = field(init=False)

    def __post_init__(self) -> None:
        if self.half < 0:
            raise ValueError("it is below zero")
        object.__setattr__(self, "whole", 2 * self.half)


@record
class Named(Point):
    name: str = field(kw_only=True)


@record
class Loose:
    word: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose) and other.word.lower() == self.word.lower()

    def __hash__(self) -> int:
        return hash(self.word.lower())


@record
class Nothing:
    """Hold nothing."""


@dataclass(frozen=True)
class Derived(Point):
    z: int = 1


def test_a_record_takes_its_fields_by_place_and_by_name_with_defaults_of_its_own() -> None:
    assert (Point(1, y=2).x, Point(1, y=2).y, Point(1).y, Point(1).tags) == (1, 2, 0, [])
    assert Point(1).tags is not Point(1).tags
    assert (Named(1, 2, name="a").name, Even(4).whole, Derived(1, z=5).z) == ("a", 8, 5)
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        (Point(1, 2), Point(1, 2), True),
        (Point(1, 2), Point(1, 3), False),
        (Point(1, tags=["a"]), Point(1), True),
        (Point(1), Derived(1), False),
        (Point(1), Even(1), False),
        (Named(1, name="a"), Named(1, name="b"), False),
        (Loose("A"), Loose("a"), True),
        (Nothing(), Nothing(), True),
        (Nothing(), Even(1), False),
    ],
)
def test_records_of_one_class_are_equal_by_the_fields_that_are_compared(
    one: object, other: object, is_equal: bool
) -> None:
    assert (one == other) is is_equal
    assert not is_equal or hash(one) == hash(other)


def test_what_was_worked_out_since_makes_no_difference() -> None:
    point = Point(1, 2)
    assert point.sum == 3
    assert point == Point(1, 2) and hash(point) == hash(Point(1, 2))
    assert replace(point, x=5).sum == 7


def test_a_record_is_spelled_as_it_is_made_without_what_is_to_be_hidden() -> None:
    assert repr(Named(1, secret="s", name="a")) == "Named(x=1, y=0, tags=[], name='a')"
    assert repr(Nothing()) == "Nothing()"


def test_a_record_does_not_change() -> None:
    point = cast(object, Point(1))
    with pytest.raises(FrozenInstanceError, match="'x'"):
        setattr(point, *("x", 2))
    with pytest.raises(FrozenInstanceError, match="'x'"):
        delattr(point, "x")


@pytest.mark.parametrize("copy_of", [replace, standard_replace])
def test_a_copy_has_other_values_and_is_checked_as_the_first_was(copy_of: object) -> None:
    changed = cast(Callable[..., object], copy_of)
    assert changed(Named(1, 2, name="a"), y=3) == Named(1, 3, name="a")
    assert changed(Even(1), half=3) == Even(3)
    with pytest.raises(ValueError, match="below zero"):
        changed(Even(1), half=-1)
    with pytest.raises(TypeError, match="height"):
        changed(Point(1), height=1)


def test_to_others_a_record_is_a_frozen_dataclass() -> None:
    point = Point(1, 2, ["a"])
    assert is_dataclass(Point) and [one.name for one in fields(Point)] == ["x", "y", "tags", "secret"]
    assert asdict(point) == {"x": 1, "y": 2, "tags": ["a"], "secret": ""}
    assert copy.deepcopy(point).tags == pickle.loads(pickle.dumps(point)).tags == ["a"]
    assert TypeAdapter(Point).validate_json(TypeAdapter(Point).dump_json(point)) == point
    assert TypeAdapter(Even).validate_python({"half": 2}) == Even(2)
    assert Point.__match_args__ == ("x", "y", "tags", "secret")
    assert inspect.getdoc(Nothing) == "Hold nothing." and Point.__doc__ is None
