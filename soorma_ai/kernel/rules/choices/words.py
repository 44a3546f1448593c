"""Words of texts and names as terms, so that `orderItems`, `order_items` and "an order's items" meet."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

LONGEST_TERM = 40

_WORD = re.compile(r"[^\W_]+")
# Between `orderItem` and before the last capital of `HTTPServer`.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean set no space where a term ends.
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)")
_NO_PLURAL = ("ss", "us", "is")
_VOWEL = re.compile("[aeiouy]")
_STOP_WORDS = frozenset(
    _WORD.findall("""
    a am an and are as at be been by can could did do does for from had has have he her his how i if in is it its me my
    of on or our please s she should so t that the their them then there these they this those to was we were what which
    who will with would you your
    """)
)


def terms(text: str, most_chars: int) -> list[str]:
    """Return the terms of the beginning of a text, in their order: lower case, stemmed, without stop words.

    Where a script sets no spaces, each pair of neighbouring characters is a term.
    """
    found = list[str]()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text[:most_chars])):
        found += _cached_terms(word) if len(word) <= LONGEST_TERM else _terms_of(word)
    return found


def stem(word: str) -> str:
    """Return the common part of an English word's regular forms: `cancel` for `cancels`, `cancelled` and `cancelling`.
    It need be no word."""
    if not (word.isascii() and word.isalpha()):
        return word
    if len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURAL):
        if word.endswith("ies") and len(word) > 4:
            word = f"{word[:-3]}y"
        else:
            word = word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if len(word) > len(rest) > 2 and _VOWEL.search(rest):
            word = rest
            break
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


@lru_cache(maxsize=20_000)
def _cached_terms(word: str) -> tuple[str, ...]:
    """Terms of a word of no great length, worked out once: the words of events are the same few thousand."""
    return _terms_of(word)


def _terms_of(word: str) -> tuple[str, ...]:
    parts = (part.lower()[:LONGEST_TERM] for part in (_HUMP.split(word) if word.isascii() else _parts(word)))
    return tuple(stem(part) for part in parts if part not in _STOP_WORDS)


def _parts(word: str) -> Iterator[str]:
    """Yield the pairs of characters of scripts without spaces, and the words between."""
    for number, part in enumerate(_UNSPACED.split(word)):
        if number % 2:
            yield from (part[at : at + 2] for at in range(max(1, len(part) - 1)))
        elif part:
            yield part
