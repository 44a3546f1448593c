"""Keys of what features bring: parts of a store, parts of a handler's context."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class StoreKey(Struct, Generic[T], frozen=True):
    """Name and type of a part of a store. `feature`: the name of its feature."""

    name: str
    feature: str = ""


class ContextKey(Struct, Generic[T], frozen=True):
    """Name and type of a part of a context. `feature`: the name of its feature."""

    name: str
    feature: str
