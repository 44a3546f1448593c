"""Checks of the options of a server: an unknown name and a value of the wrong type are a ConfigError."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from types import NoneType
from typing import Any, cast, get_args, get_origin
from urllib.parse import urlsplit

from typing_extensions import get_protocol_members, is_protocol

from soorma_ai.agents.arguments import describe
from soorma_ai.errors import ConfigError

_WANTED: Mapping[Any, str] = {int: "a whole number above zero", float: "a number", str: "text", NoneType: "None"}


def check_options(who: str, given: Mapping[str, Any], kinds: Mapping[str, Any], *, named: Iterable[str] = ()) -> None:
    """Compare options with their declared types. `named` are the parameters beside them, for the hint.

    Raise ConfigError with the value found, the value wanted and the nearest name.
    """
    known = [*kinds, *named]
    for name in given:
        if name not in kinds:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
            raise ConfigError(f"{who} has no option {name!r}; {hint}")
    for name, value in given.items():
        if not _fits(value, kinds[name]):
            raise ConfigError(f"{who}: {name}={describe(value)}: give {_describe_type(kinds[name])}")


def check_origins(origins: Collection[str]) -> None:
    """Raise ConfigError for an origin that no browser sends: one without scheme, or with a path."""
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc}" or not parts.netloc:
            raise ConfigError(
                f"server.app: origins has {describe(origin)}: give scheme and host, as https://shop.example"
            )


def _fits(value: Any, kind: Any) -> bool:
    parts = get_args(kind)
    match get_origin(kind):
        case None if kind is int:
            return isinstance(value, int) and not isinstance(value, bool) and value > 0
        case None if kind is float:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case None if is_protocol(kind):
            return not isinstance(value, type) and all(map(dir(value).__contains__, get_protocol_members(kind)))
        case None:
            return isinstance(value, kind)
        case origin if isinstance(origin, type) and issubclass(origin, Collection):
            if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
                return False
            return all(_fits(item, parts[0]) for item in cast("Collection[Any]", value))
        case _:
            return any(_fits(value, part) for part in parts)


def _describe_type(kind: Any) -> str:
    parts = get_args(kind)
    match get_origin(kind):
        case None:
            return _WANTED.get(kind) or _article(kind.__name__)
        case origin if isinstance(origin, type) and issubclass(origin, Collection):
            return f"a list, each item {_describe_type(parts[0])}"
        case _:
            return " or ".join(map(_describe_type, parts))


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"
