"""Events by what they mean: the vectors that a model makes of their texts, compared by cosine."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, sqrt
from operator import mul

from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.values import Same, clip
from soorma_ai.errors import ConfigError

MOST_CHARS = 2_000
# Events whose signs differ least, for each event wanted: the cosine decides between these.
CONTENDERS = 4


@dataclass(frozen=True)
class Vector:
    """A direction: its numbers, of length 1 together, and their signs as bits. How many signs differ costs a hundredth
    of a cosine, and is small where the cosine is large."""

    numbers: "array[float]"
    signs: int


def vector_of(numbers: Sequence[float]) -> Vector:
    """Raise ConfigError for what has no direction."""
    length = sqrt(sum(map(mul, numbers, numbers)))
    if not isfinite(length) or length == 0:
        raise ConfigError(f"an embedder gave a vector of length {length}, {len(numbers)} numbers: it has no direction")
    signs = int("".join("1" if number > 0 else "0" for number in numbers), 2)
    return Vector(array("f", (number / length for number in numbers)), signs)


def text_of(definition: EventDefinition) -> str:
    """Return the text of which an event's vector is made."""
    return _text(Same(definition))


@lru_cache(maxsize=20_000)
def _text(same: Same[EventDefinition]) -> str:
    one = same.it
    told = (one.event_name, one.description, one.when_to_use, ", ".join(one.synonyms))
    return clip("\n".join(text for text in told if text), MOST_CHARS)


def nearest(events: Mapping[str, Vector], wanted: Vector, most: int) -> list[str]:
    """Return the names of at most so many events, the nearest by cosine first; ties go by name."""
    ordered = sorted(events)
    differing = {name: (events[name].signs ^ wanted.signs).bit_count() for name in ordered}
    contenders = sorted(ordered, key=differing.__getitem__)[: CONTENDERS * most]
    cosines = {name: sum(map(mul, events[name].numbers, wanted.numbers)) for name in contenders}
    return sorted(cosines, key=lambda name: (-cosines[name], name))[:most]
