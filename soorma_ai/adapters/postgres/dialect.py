"""Statements as PostgreSQL spells them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import count

# Text between quotes is none of ours; a name of a parameter is no cast, `::`.
_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_NAMED = re.compile(r"(?<![:\w]):([a-z_]+)\b")
# What SQLite is told of the order of a join, and of an index, PostgreSQL finds by itself.
_JOINED = re.compile(r"\bCROSS JOIN (\w+) ON\b")
_UNINDEXED = re.compile(r"\bAND \+(?=[a-z_])")
# Where it joins with a function, the server reads a table under row-level security as a whole; with an array it goes
# by the index.
_AMONG = re.compile(r"\b(NOT )?IN \((SELECT (?:CAST\(value AS BIGINT\)|value) FROM json_each\((?:\?|:[a-z_]+)\))\)")
_PLACES = re.compile(r"%%|%s|%\(([a-z_]+)\)s")
_INDEXED = re.compile(r"\bINDEXED BY \w+")


@lru_cache(maxsize=4096)
def spell(statement: str) -> str:
    """Return a statement with its parameters as the driver names them."""
    return "".join(part.replace("%", "%%") if is_text else _spell(part) for part, is_text in split(statement))


@lru_cache(maxsize=4096)
def number(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement as it is prepared, with numbers in the place of its parameters, and their names in order, if
    they have names."""
    names: dict[str, int] = {}
    places = count(1)

    def place(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        return f"${next(places) if found[0] == '%s' else names.setdefault(found[1], len(names) + 1)}"

    return _PLACES.sub(place, spell(statement)), tuple(names)


def split(statement: str) -> Iterable[tuple[str, bool]]:
    """Yield the parts of a statement in order, each with whether it stands between quotes."""
    behind = 0
    for found in _PARTS.finditer(statement):
        yield statement[behind : found.start()], False
        yield found.group(), True
        behind = found.end()
    yield statement[behind:], False


def _spell(part: str) -> str:
    part = _AMONG.sub(lambda found: f"{'<> ALL' if found[1] else '= ANY'} (ARRAY({found[2]}))", part)
    part = _UNINDEXED.sub("AND ", part)
    part = _INDEXED.sub("", _JOINED.sub(r"JOIN \1 ON", part.replace("%", "%%")))
    return _NAMED.sub(r"%(\1)s", part.replace("?", "%s"))
