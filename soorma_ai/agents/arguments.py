"""Checks of agents' arguments. A probable mistake is never accepted in silence."""

from collections.abc import Iterable, Mapping
from sys import maxsize
from typing import TypeVar, cast

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.values import clip

T = TypeVar("T")


def must_be_text(who: str, option: str, given: object, *, may_be_empty: bool = False) -> None:
    """Raise ConfigError for anything but text of one line."""
    if not isinstance(given, str) or not given.isprintable() or not (given.strip() or may_be_empty):
        raise ConfigError(f"{who}: {option}={describe(given)}: give text on one line")


def must_be_number(who: str, option: str, given: object, least: int, most: int | None = None) -> None:
    """Raise ConfigError for anything but a whole number from `least` on, to `most` if there is one."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if not (is_number and least <= cast("int", given) <= (most or maxsize)):
        to = "" if most is None else f" to {most:,}"
        raise ConfigError(f"{who}: {option}={describe(given)}: give a whole number from {least}{to}")


def must_have(who: str, option: str, given: object, method: str, wanted: str) -> None:
    """Raise ConfigError for an object without this method. None is left out."""
    if given is not None and not callable(getattr(given, method, None)):
        raise ConfigError(f"{who}: {option}={describe(given)}: give {wanted}")


def several(name: str, given: Iterable[T]) -> Iterable[T]:
    """Return the items. Raise ConfigError for text, an iterable too but never meant as its letters, and for anything
    else but an iterable."""
    if isinstance(given, str):
        raise ConfigError(f"{name}={given!r} would be its letters; give a list: {name}=[{given!r}]")
    if not isinstance(cast(object, given), Iterable):
        raise ConfigError(f"{name}={describe(given)}: give a list")
    return given


def describe(given: object) -> str:
    return clip(repr(given), 80)


def options_of(kind: type[T], given: Mapping[str, object]) -> T:
    """Return the given options of `kind`, a TypedDict."""
    return cast(T, {name: given[name] for name in kind.__annotations__ if name in given})
