"""Changes of one remembered value, and summaries of tasks and plans as plain data."""

import math
from copy import deepcopy
from typing import assert_never

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    StoredValue,
    StoreMemory,
    add,
    not_a_list,
)
from soorma_ai.kernel.domain.values import UNSTORABLE, Json, is_storable, json_object


def combine(first: MemoryChange | None, then: MemoryChange) -> MemoryChange:
    """Return one change with the effect of both, in this order. Raises LocalProtocolError for an impossible `then`."""
    if first is None or isinstance(then, StoreMemory | DropMemory):
        return then
    value = apply_change(apply_change(StoredValue(), first), then).value
    match first, value:
        case IncrementMemory(), int() | float():
            return IncrementMemory(then.at, value)
        case AppendMemory(), list():
            return AppendMemory(then.at, tuple(value))
        case _:
            return StoreMemory(then.at, value)


def apply_change(stored: StoredValue, change: MemoryChange | None) -> StoredValue:
    """Return the value after the change."""
    match change:
        case None:
            return stored
        case StoreMemory(value=value):
            return replace(stored, exists=True, value=value)
        case DropMemory():
            return replace(stored, exists=False, value=None)
        case IncrementMemory(at, by):
            return replace(stored, exists=True, value=add(at, stored.value if stored.exists else 0, by))
        case AppendMemory(at, items):
            kept = stored.value if stored.exists else []
            if not isinstance(kept, list):
                raise not_a_list(at, kept)
            return replace(stored, exists=True, value=[*kept, *items])
        case _:
            assert_never(change)


def json_value(key: str, value: object) -> Json:
    """Return a copy of `value` as JSON. Raises LocalProtocolError for a value impossible to store."""
    found = json_object("working memory", {key: value})[key]
    if not is_storable(found):
        raise LocalProtocolError(f"working memory[{key!r}] cannot be kept: {UNSTORABLE}")
    return deepcopy(found)


def number(key: str, by: object) -> int | float:
    if isinstance(by, bool) or not isinstance(by, int | float) or not math.isfinite(by):
        raise LocalProtocolError(f"increment({key!r}) by {by!r}: give a number")
    return by
