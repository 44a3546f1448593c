"""Keys of the parts of a handler's context that features bring."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class ContextKey(Struct, Generic[T], frozen=True):
    """Name and type of a part of a context. `feature`: the name of its feature."""

    name: str
    feature: str
