"""Events by meaning: vectors of their texts from a model, compared by cosine."""

from array import array
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from math import isfinite, sqrt
from operator import mul
from typing import TypeVar

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import Same, clip, identity_of
from soorma_ai.kernel.ports import Vector

K = TypeVar("K", bound=Hashable)

MOST_CHARS = 2_000
MOST_NUMBERS = 20_000
# Events whose signs differ least, for each event wanted: the cosine decides between these.
CONTENDERS = 4


def read_vectors(found: Sequence[Sequence[float]], count: int) -> list[Vector]:
    """Return an embedder's vectors for this number of texts. Raise ConfigError, TypeError and the like for anything but
    one vector for each, all of one length."""
    if len(found) != count:
        raise ConfigError(f"{len(found)} vectors for {count} texts: give one each")
    lengths = sorted({len(numbers) for numbers in found})
    if len(lengths) > 1:
        raise ConfigError(f"vectors of several lengths, {lengths[0]} and {lengths[1]}: give an embedder of one model")
    return [vector_of(numbers) for numbers in found]


def vector_of(numbers: Sequence[float]) -> Vector:
    """Return the vector. Raise ConfigError for one without a direction, and for too long a one."""
    if len(numbers) > MOST_NUMBERS:
        raise ConfigError(f"an embedder gave a vector of {len(numbers):,} numbers; give at most {MOST_NUMBERS:,}")
    length = sqrt(sum(map(mul, numbers, numbers)))
    if not isfinite(length) or length == 0:
        raise ConfigError(f"an embedder gave a vector of length {length}, {len(numbers)} numbers: it has no direction")
    signs = int("".join("1" if number > 0 else "0" for number in numbers), 2)
    return Vector(array("f", (number / length for number in numbers)), signs)


def text_of(definition: EventDefinition) -> str:
    """Return the text for an event's vector."""
    return _text(identity_of(definition))


@lru_cache(maxsize=20_000)
def _text(same: Same[EventDefinition]) -> str:
    one = same()
    told = (one.event_name, one.description, one.when_to_use, ", ".join(one.synonyms))
    return clip("\n".join(text for text in told if text), MOST_CHARS)


def nearest(events: Mapping[str, Vector], wanted: Vector, most: int) -> list[str]:
    """Return the names of at most so many events, the nearest by cosine first; ties go by name."""
    likely = contenders({name: events[name].signs for name in sorted(events)}, wanted, most)
    cosines = {name: _cosine(events[name].numbers, wanted) for name in likely}
    return sorted(cosines, key=lambda name: (-cosines[name], name))[:most]


def contenders(signs: Mapping[K, int], wanted: Vector, most: int) -> list[K]:
    """Return those with the least different signs, several times as many as wanted; ties go by the order given."""
    differing = {one: (bits ^ wanted.signs).bit_count() for one, bits in signs.items()}
    return sorted(differing, key=differing.__getitem__)[: CONTENDERS * most]


def by_cosine(numbers: Mapping[int, bytes], wanted: Vector, most: int) -> list[int]:
    """Return the nearest of vectors as `packed` made them; those of another length are none."""
    size = len(wanted.numbers) * wanted.numbers.itemsize
    cosines = {one: _cosine(array("f", found), wanted) for one, found in numbers.items() if len(found) == size}
    return sorted(cosines, key=lambda one: (-cosines[one], one))[:most]


def pack(vector: Vector) -> tuple[bytes, bytes]:
    """Return the numbers and the signs of a vector as bytes of this machine."""
    return vector.numbers.tobytes(), vector.signs.to_bytes((len(vector.numbers) + 7) // 8, "big")


def unpacked_signs(signs: bytes) -> int:
    return int.from_bytes(signs, "big")


def _cosine(numbers: "array[float]", wanted: Vector) -> float:
    return sum(map(mul, numbers, wanted.numbers))
