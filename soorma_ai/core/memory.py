"""What several changes of one remembered value come to, before and after they are stored."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import assert_never

from soorma_ai.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    MemoryKey,
    Remembered,
    StoreMemory,
    not_a_list,
    plus,
)
from soorma_ai.domain.values import UNSTORABLE, Json, is_storable, json_object
from soorma_ai.errors import LocalProtocolError


def combined(first: MemoryChange | None, then: MemoryChange) -> MemoryChange:
    """One change that does what both do, in this order. Raises LocalProtocolError where the second cannot follow."""
    match then:
        case StoreMemory() | DropMemory():
            return then
        case IncrementMemory(at, by):
            return _incremented(first, at, by)
        case AppendMemory(at, items):
            return _appended(first, at, items)
        case _:
            assert_never(then)


def seen(stored: Remembered, change: MemoryChange | None) -> Remembered:
    """What is remembered once the change is stored."""
    match change:
        case None:
            return stored
        case StoreMemory(value=value):
            return replace(stored, exists=True, value=value)
        case DropMemory():
            return replace(stored, exists=False, value=None)
        case IncrementMemory(at, by):
            return replace(stored, exists=True, value=plus(at, stored.value if stored.exists else 0, by))
        case AppendMemory(at, items):
            return replace(stored, exists=True, value=[*listed(at, stored.value if stored.exists else []), *items])
        case _:
            assert_never(change)


def listed(at: MemoryKey, value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise not_a_list(at, value)
    return value


def _incremented(first: MemoryChange | None, at: MemoryKey, by: int | float) -> MemoryChange:
    match first:
        case None:
            return IncrementMemory(at, by)
        case IncrementMemory(by=before):
            return IncrementMemory(at, plus(at, before, by))
        case StoreMemory(value=value):
            return StoreMemory(at, plus(at, value, by))
        case DropMemory():
            return StoreMemory(at, plus(at, 0, by))
        case AppendMemory(items=items):
            return StoreMemory(at, plus(at, list(items), by))
        case _:
            assert_never(first)


def _appended(first: MemoryChange | None, at: MemoryKey, items: tuple[Json, ...]) -> MemoryChange:
    match first:
        case None:
            return AppendMemory(at, items)
        case AppendMemory(items=before):
            return AppendMemory(at, (*before, *items))
        case StoreMemory(value=value):
            return StoreMemory(at, [*listed(at, value), *items])
        case DropMemory():
            return StoreMemory(at, [*items])
        case IncrementMemory(by=by):
            raise not_a_list(at, by)
        case _:
            assert_never(first)


def json_value(key: str, value: object) -> Json:
    """Raises LocalProtocolError for what cannot be kept."""
    found = json_object("working memory", {key: value})[key]
    if not is_storable(found):
        raise LocalProtocolError(f"working memory[{key!r}] cannot be kept: {UNSTORABLE}")
    return deepcopy(found)


def number(key: str, by: object) -> int | float:
    if isinstance(by, bool) or not isinstance(by, int | float) or not math.isfinite(by):
        raise LocalProtocolError(f"increment({key!r}) by {by!r}: give a number")
    return by
