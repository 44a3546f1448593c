"""Values told in less than they are: still JSON, the same for the same value, with marks where something is left out.

Sizes are those of the spelling in a fence, in characters of English.
"""

from collections.abc import Sequence
from heapq import nsmallest

from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.prompting.spelling import size_of_text, spell

SMALLEST_ROOM = 40
MORE = "..."

_FIRST_ITEMS = 3


def size_of(value: Json, most: int) -> int:
    """Return the characters of a value; `most` + 1 for all that are more, at no more cost than of so many."""
    found, left = 0, [value]
    while left:
        item = left.pop()
        if isinstance(item, dict | list):
            found += max(2, len(item) + 1)  # brackets and commas
            # Whatever is in it takes a character at least, so that long ones are not even looked through.
            if found + len(item) > most:
                return most + 1
            left += item.values() if isinstance(item, dict) else item
            for key in item if isinstance(item, dict) else ():
                found += length_of(key) + 1 if len(key) < most else most
                if found > most:
                    return most + 1
        else:
            found += most + 1 if isinstance(item, str) and len(item) > most else length_of(item)
        if found > most:
            return most + 1
    return found


def length_of(value: Json) -> int:
    """Return the size of a value: quicker than `size_of` for what is not large."""
    return size_of_text(spell(value))


def shorten(value: Json, room: int) -> Json:
    """Return as much of a value as `room` characters hold, SMALLEST_ROOM at least: what fits is returned as it is.

    An object keeps its keys and a list its first items, each with a share of the room; what of them is left out stands
    under the key MORE, in a list as an object of that one key. A text says how much of it is left out.
    """
    if size_of(value, room) <= room:
        return value
    if isinstance(value, dict):
        return _shorten_object(value, room)
    if isinstance(value, list):
        return _shorten_list(value, room)
    return _cut(value if isinstance(value, str) else spell(value), room)


def _shorten_object(value: JsonObject, room: int) -> JsonObject:
    """A key like the mark itself is left out, so that the mark is always ours."""
    keys = nsmallest(room // 5, (key for key in value if key != MORE and len(key) < room))
    least = {key: length_of(key) + 2 + min(size_of(value[key], SMALLEST_ROOM), SMALLEST_ROOM) for key in keys}
    has_all = len(least) == len(value) and sum(least.values()) <= room - 2
    left = room - size_of({} if has_all else _mark(len(value)), room)
    kept: list[str] = []
    for key, spelled in least.items():
        if spelled <= left:
            kept.append(key)
            left -= spelled
    large = [key for key in kept if size_of(value[key], SMALLEST_ROOM) > SMALLEST_ROOM]
    shown = {key: value[key] for key in kept} | _share(value, large, left + SMALLEST_ROOM * len(large))
    return shown if has_all else {**shown, **_mark(len(value) - len(shown))}


def _share(value: JsonObject, keys: Sequence[str], left: int) -> JsonObject:
    """Return the values of these keys in so much room together: what one needs not, larger ones get."""
    measured = 4 * left // max(1, len(keys))  # so that measuring many costs no more than showing them
    sizes = {key: size_of(value[key], measured) for key in keys}
    shown: JsonObject = {}
    for number, key in enumerate(sorted(keys, key=sizes.__getitem__)):
        share = left // (len(keys) - number)
        shown[key] = shorten(value[key], share)
        left -= share if sizes[key] > measured else min(sizes[key], share)
    return shown


def _shorten_list(value: Sequence[Json], room: int) -> list[Json]:
    """The first few items share the room; those after them come whole, while there is some."""
    left = room - size_of([_mark(len(value))], room)
    shown: list[Json] = []
    for item in value:
        share = left // max(1, min(_FIRST_ITEMS, len(value)) - len(shown)) - 1
        is_whole = size_of(item, share) <= share
        if not is_whole and (len(shown) >= _FIRST_ITEMS or share < SMALLEST_ROOM):
            break
        shown.append(shorten(item, share))
        left -= size_of(shown[-1], share) + 1
    return [*shown, _mark(len(value) - len(shown))] if len(shown) < len(value) else shown


def _cut(text: str, room: int) -> str:
    """Return the beginning of a text, and how many characters follow it."""
    longest = f"{MORE} ({len(text)} characters more)"
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if length_of(text[:middle] + longest) <= room:
            low = middle
        else:
            high = middle - 1
    return f"{text[:low]}{MORE} ({len(text) - low} characters more)"


def _mark(count: int) -> JsonObject:
    return {MORE: f"{count} more"}
