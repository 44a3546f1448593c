"""Spelling of values in prompts, and their price in tokens.

A size is a number of characters of English. Characters of other scripts cost more, by the tokens of running text in the
tokenizer of GPT-4 (cl100k); newer tokenizers take fewer, never more.
"""

import json
import re

from soorma_ai.kernel.domain.values import Json

CHARS_PER_TOKEN = 4

# Nothing in a fence can spell its end, a line of ours, or a character that no encoder takes.
_ESCAPED = re.compile("[<\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ENCODE = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).iterencode

# Size of a character, by the first byte of its UTF-8: Latin with marks and Greek, Cyrillic, Armenian, Hebrew, Arabic,
# smaller scripts, India and Thai, Georgian and others, symbols to Hangul, the private area, emoji.
_SIZES = (
    (0xC2, 0xCF, 4),
    (0xD0, 0xD3, 2),
    (0xD4, 0xD5, 8),
    (0xD6, 0xD7, 4),
    (0xD8, 0xDB, 3),
    (0xDC, 0xDF, 8),
    (0xE0, 0xE0, 5),
    (0xE1, 0xE1, 8),
    (0xE2, 0xED, 5),
    (0xEE, 0xEF, 8),
    (0xF0, 0xF4, 10),
)
# Characters that JSON escapes by a second one, and characters that a spelling has as six.
_TWO = b'"\\\n\r\t\f\b'
_SIX = bytes({*range(0x20), *b"<\x7f"} - {*_TWO})
_FOLLOWING = bytes(range(0x80, 0xC0))
_SIZE_OF_BYTE = bytes(next((size for first, last, size in _SIZES if first <= byte <= last), 1) for byte in range(256))
_MORE_THAN_ONE = sorted({size - 1 for _, _, size in _SIZES})


def spell(value: Json) -> str:
    """Return the JSON of a value as a prompt shows it: sorted keys, no spaces, every script as it is."""
    return escape("".join(_ENCODE(value, True)))


def escape(text: str) -> str:
    """Return JSON text without `<`, control characters, separators of lines and lone surrogates."""
    return _ESCAPED.sub(_escape_one, text)


def size_of_text(text: str) -> int:
    """Return the size of a text, at least its number of characters."""
    if text.isascii():
        return len(text)
    sizes = text.encode("utf-8", "surrogatepass").translate(_SIZE_OF_BYTE, _FOLLOWING)
    return len(sizes) + sum([more * sizes.count(more + 1) for more in _MORE_THAN_ONE])


def size_of_spelled(text: str) -> int:
    """Return the size of the spelling of a text."""
    if not text.isascii():
        if not text.replace("\n", "").isprintable():
            return size_of_text(_ESCAPED.sub("_u0000", "".join(_ENCODE(text, True))))
        longer = text.count("\n") + text.count('"') + text.count("\\") + 5 * text.count("<")
        return size_of_text(text) + longer + len('""')
    given = text.encode()
    longer = len(given) - len(given.translate(None, _TWO)) + 5 * (len(given) - len(given.translate(None, _SIX)))
    return len(given) + longer + len('""')


def tokens_of(text: str) -> int:
    """Return the estimated tokens of a text, before a model's own count is known."""
    return size_of_text(text) // CHARS_PER_TOKEN


def clip_to_size(text: str, size: int) -> str:
    """Return a text of at most this size, marked with `…` where something is cut."""
    if len(text) <= size and size_of_text(text) <= size:
        return text
    low, high = 0, min(len(text), size)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size_of_text(text[:middle]) < size else (low, middle - 1)
    return f"{text[:low]}…"


def _escape_one(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
