"""Verdicts on large values, kept by the digest of the value: a payload is checked at each of the places it passes."""

import hashlib
import marshal
from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec.json import Encoder

from soorma_ai.kernel.domain.values import Json

MOST_KEPT = 256
T = TypeVar("T")
Key = tuple[str, bytes]

_encode = Encoder().encode


class Verdicts(Generic[T]):
    """The last verdicts, each by a spelled schema and the digest of a value. No value is held."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, tuple[T, ...]] = OrderedDict()

    def recall(self, key: Key) -> tuple[T, ...] | None:
        return self._kept.get(key)

    def remember(self, key: Key, verdict: Sequence[T]) -> None:
        self._kept[key] = tuple(verdict)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def key_of(schema: str, value: Json, least: int) -> Key | None:
    """Return the key of a verdict; None for a value without a digest, or no longer than one."""
    try:
        spelled = _encode(value)
        if len(spelled) <= least:
            return None
        if b"null" in spelled:  # NaN is spelled so too
            spelled = marshal.dumps(value, 2)
    except (TypeError, ValueError, RecursionError):
        return None
    return schema, hashlib.sha256(spelled).digest()
