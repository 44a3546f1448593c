"""Keys of the parts of a store."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class StoreKey(Struct, Generic[T], frozen=True):
    """Name and type of a part of a store. `feature`: the name of its feature."""

    name: str
    feature: str = ""
