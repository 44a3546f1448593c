"""Keys of the parts of a store that features bring."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class StoreKey(Struct, Generic[T], frozen=True):
    """Name of a part of a store, with the type of that part. `feature`: the feature that brings it."""

    name: str
    feature: str = ""
