"""Slices of large work: a generator with a yield between slices, for others to run, and a result at its end."""

from collections.abc import Generator
from typing import TypeVar

from soorma_ai.kernel.domain.schema_cost import MOST_AT_ONCE, MOST_IN_ALL

T = TypeVar("T")
Work = Generator[int, None, T]  # yields the units of each step before it
Slices = Generator[None, None, T]


def sliced(work: Work[T], most: int = MOST_IN_ALL) -> Slices[T | None]:
    """Return the result of counted work; yields after each slice. None for work of more than `most` units."""
    spent = whole = 0
    while True:
        try:
            units = next(work)
        except StopIteration as end:
            return end.value
        spent, whole = spent + units, whole + units
        if whole > most:
            work.close()
            return None
        if spent > MOST_AT_ONCE:
            yield
            spent = units


def at_once(slices: Slices[T]) -> T:
    """Return the result of work without a pause."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value
