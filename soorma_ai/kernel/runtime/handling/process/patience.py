"""Bound of a test's patience with a model that is away. Light, since every test imports it."""

from collections.abc import Generator
from contextlib import contextmanager

_bounds: list[float] = []


@contextmanager
def bound_patience(seconds: float) -> Generator[None]:
    """Inside, a call that waits for a plan raises once its model has been away for so many seconds of real time."""
    _bounds.append(seconds)
    try:
        yield
    finally:
        _bounds.remove(seconds)


def patience() -> float | None:
    """Return the bound in force; None outside of tests, where a plan may rest for days."""
    return _bounds[-1] if _bounds else None
