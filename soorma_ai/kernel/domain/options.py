"""Options of a call, declared by a TypedDict."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar, cast

from soorma_ai.errors import ConfigError

T = TypeVar("T")


def must_know(who: str, given: Iterable[str], known: type) -> None:
    """Raise ConfigError for an option outside of `known`, a TypedDict."""
    names = known.__annotations__
    for name in given:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; it takes {', '.join(names)}"
            raise ConfigError(f"{who} has no parameter {name!r}{hint}")


def options_of(kind: type[T], given: Mapping[str, object]) -> T:
    """Return the given options of `kind`, a TypedDict."""
    return cast(T, {name: given[name] for name in kind.__annotations__ if name in given})
