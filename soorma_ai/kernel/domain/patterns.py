"""Regular expressions of schemas: the cost of a match.

The engine matches most patterns in one pass, and those with look-around or back-references by backtracking, up to a
limit. The cost of both grows with the number of simultaneous positions of a match in the pattern.
"""

import re
from functools import lru_cache

FEW_PLACES = 10  # of so few, every set is kept as one state of an automaton
MOST_PLACES = 10**9
MOST_STEPS = 1_000  # of backtracking, in a text of ordinary length
LONG_TEXT = 400  # characters, from where on fewer steps are granted
MOST_CHARACTERS = 100_000  # for which backtracking is tried at all
MOST_STANDING = 1_000_000  # places, times characters, that a match in one pass may look at

_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}[?+]?|\(\?<?[=!]|\(\?[<:P][^>:)]*[>:]|.", re.DOTALL
)
_ONE_CLASS = re.compile(r"\^(?:\.|\\[wWdDsS]|\[(?:\\.|[^\]\\])+\])(?:\{\d+(?:,\d*)?\}|[*+])?\$", re.DOTALL)


@lru_cache(maxsize=4096)
def places_in(pattern: str) -> int:
    """Return the number of characters and classes of a pattern, its counted repetitions written out."""
    if _ONE_CLASS.fullmatch(pattern):
        return 1  # at each character only one of its repetitions can stand
    total, last, outer = 0, 0, list[int]()
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        if text.startswith("(") and text != "()":
            outer.append(total)
            last = 0
        elif text == ")" and outer:
            last = total - outer.pop()
        elif token.group(1) is not None:
            times = max(int(token.group(2) or 0), int(token.group(1)) + 1)
            total = min(MOST_PLACES, total + last * (times - 1))
            last = min(MOST_PLACES, last * times)
        elif text not in "*+?|^$":
            total, last = total + 1, 1
    return max(1, total)


@lru_cache(maxsize=4096)
def is_backtracking(pattern: str) -> bool:
    """Tell whether no automaton can match a pattern: it has look-around, back-references or atomic groups."""
    from jsonschema_rs import Draft202012Validator, RegexOptions

    try:
        Draft202012Validator({"pattern": pattern}, pattern_options=RegexOptions())
    except ValueError:
        return True
    return False


def is_affordable(pattern: str, characters: int) -> bool:
    """Tell whether a text of this length may be matched at all."""
    places = places_in(pattern)
    if is_backtracking(pattern):
        return characters * max(1, places // FEW_PLACES) <= MOST_CHARACTERS
    return places <= FEW_PLACES or characters * places <= MOST_STANDING


def steps_for(pattern: str, characters: int) -> int:
    """Return how many steps of backtracking may be spent on a text of this length."""
    breadth = max(1, places_in(pattern) // FEW_PLACES)
    return max(10, min(MOST_STEPS, MOST_STEPS * LONG_TEXT // max(1, characters * breadth)))
