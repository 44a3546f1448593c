"""Several changes of one value combine into one equal change."""

import itertools

import pytest

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    MemoryKey,
    StoredValue,
    StoreMemory,
)
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.memory import apply_change, combine, json_value, number

AT = MemoryKey("t", "p", "k")
CHANGES: list[MemoryChange] = [
    StoreMemory(AT, 5),
    StoreMemory(AT, [5]),
    DropMemory(AT),
    IncrementMemory(AT, 2),
    AppendMemory(AT, (2, 3)),
]
STORED = [StoredValue(), StoredValue(3, exists=True, value=1), StoredValue(3, exists=True, value=[1])]


def result(stored: StoredValue, *changes: MemoryChange) -> StoredValue | None:
    """Applies changes in order; None for an impossible one."""
    try:
        for change in changes:
            stored = apply_change(stored, change)
    except LocalProtocolError:
        return None
    return stored


@pytest.mark.parametrize("changes", list(itertools.product(CHANGES, repeat=3)))
def test_a_combined_change_equals_its_changes_in_order(changes: tuple[MemoryChange, ...]) -> None:
    together: MemoryChange | None = None
    try:
        for change in changes:
            together = combine(together, change)
    except LocalProtocolError:
        assert [result(stored, *changes) for stored in STORED] == [None] * 3, (
            "refused only if impossible for every value"
        )
        return
    assert together is not None
    for stored in STORED:
        expected = result(stored, *changes)
        if expected is not None:
            assert result(stored, together) == expected


@pytest.mark.parametrize("value", [None, True, 1.5, "x", [], {}, {"a": [1, {"b": None}]}])
def test_json_is_stored_as_a_copy(value: Json) -> None:
    kept = json_value("k", value)
    assert kept == value
    assert not isinstance(value, list | dict) or kept is not value


@pytest.mark.parametrize("value", [float("inf"), b"x", {1: 2}, "\ud800"])
def test_a_value_outside_json_is_refused(value: object) -> None:
    with pytest.raises(LocalProtocolError, match="'k'"):
        json_value("k", value)


@pytest.mark.parametrize("by", [True, "1", None, float("nan")])
def test_only_numbers_are_added(by: object) -> None:
    with pytest.raises(LocalProtocolError, match="give a number"):
        number("k", by)
