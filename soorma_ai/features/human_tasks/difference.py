"""Difference of two payloads, field by field."""

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json
from soorma_ai.surfaces.forms.shapes import ABSENT, ROOT, Found, below

MOST_CHANGES = 50


class ValueChange(Struct, frozen=True):
    """Changed place, as `$.lines[0].amount`, with its old and new value; either may be absent, and null is a value."""

    path: str
    was: Found
    now: Found


class Difference(Struct, frozen=True):
    """`is_cut`: there are more changes than these."""

    changes: tuple[ValueChange, ...]
    is_cut: bool = False


def difference(was: Json, now: Json) -> Difference:
    found = tuple(islice(_changes(ROOT, was, now), MOST_CHANGES + 1))
    return Difference(found[:MOST_CHANGES], len(found) > MOST_CHANGES)


def _changes(path: str, was: Found, now: Found) -> Iterator[ValueChange]:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in (*now, *(one for one in was if one not in now)):
            yield from _changes(below(path, name), was.get(name, ABSENT), now.get(name, ABSENT))
    elif isinstance(was, list) and isinstance(now, list):
        for place in range(max(len(was), len(now))):
            before = was[place] if place < len(was) else ABSENT
            after = now[place] if place < len(now) else ABSENT
            yield from _changes(below(path, place), before, after)
    elif type(was) is not type(now) if isinstance(was, bool) or isinstance(now, bool) else was != now:
        yield ValueChange(path, was, now)
