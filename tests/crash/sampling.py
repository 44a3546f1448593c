"""A sample of positions with every kind among them."""

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def one_of_each(kinds: Iterable[Sequence[T]], size: int, rng: random.Random) -> list[T]:
    """Return one of every kind, and further ones by chance, up to `size`."""
    groups = [group for group in kinds if group]
    chosen = [rng.choice(group) for group in groups]
    rest = [position for group in groups for position in group if position not in chosen]
    return chosen + rng.sample(rest, min(len(rest), max(0, size - len(chosen))))
