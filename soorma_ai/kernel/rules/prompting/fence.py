"""Fences around values in a prompt.

A fence holds JSON in which no `<` stands, so nothing inside can spell its end. Outside of fences stand our own
sentences only; nothing from outside is ever a template.
"""

import re
from collections.abc import Mapping, Sequence

from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.prompting.spelling import clip_to_size, escape, spell

ENTRY_CHARS = 4_000
FENCE_CHARS = ENTRY_CHARS * 4

_NAME = re.compile(r"[^\s<>]{1,200}")
# What begins a quotation: a bracket, or a quote that is no apostrophe within a word.
_QUOTATION = re.compile(r"""(?<![\w)\]}"'])["']|[\[{]""")
_INSIDE = re.compile(r"""\\.|["'\[\]{}]""", re.DOTALL)
_PLAIN = re.compile(r"""["'\[{][\w.:$/@*-]{0,200}["'\]}]""")
_CLOSERS = "\"'])}"
_OPENING, _CLOSING = "<data>", "</data>"
SIZE_OF_FENCE = len(_OPENING + _CLOSING)


def fence(value: Json, size: int = FENCE_CHARS) -> str:
    return fence_spelled(spell(value), size)


def fence_spelled(text: str, size: int = FENCE_CHARS) -> str:
    """Return the fence around a value that is spelled already, by `spell`."""
    return f"{_OPENING}{clip_to_size(text, size)}{_CLOSING}"


def fence_whole(text: str) -> str:
    """Return the fence around a value that is spelled already, and within its room."""
    return f"{_OPENING}{text}{_CLOSING}"


def fence_lines(entries: Mapping[str, str]) -> str:
    """Return a fenced object with a line for each of its texts, whole and in their order."""
    lines = [f"{spell(name)}:{spell(text)}" for name, text in entries.items()]
    return "\n".join((_OPENING + "{", ",\n".join(lines), "}" + _CLOSING))


def fence_rows(rows: Sequence[Json]) -> str:
    """Return a fenced list with a line for each of its items, whole and in their order."""
    return "\n".join((_OPENING + "[", ",\n".join(map(spell, rows)), "]" + _CLOSING))


def name_in_prompt(name: str) -> str:
    """Return the name of an event or an agent, fenced unless it is one short word."""
    return name if _NAME.fullmatch(name) else fence(name, ENTRY_CHARS)


def with_name(sentence: str, name: str) -> str:
    """Return a sentence of ours that holds this name, with the name as a prompt shows it."""
    return sentence if _NAME.fullmatch(name) or not name else sentence.replace(name, name_in_prompt(name))


def fence_quotations(sentence: str) -> str:
    """Return a sentence of ours with a fence from its first quotation to its last: text in quotes, and JSON in
    brackets. A single word without blanks stays as it is. A quotation that is cut lasts to the end."""
    start, at, is_cut = None, 0, False
    while found := _QUOTATION.search(sentence, at):
        at = _end_of_quotation(sentence, found.start())
        if start is None and not _PLAIN.fullmatch(sentence, found.start(), at):
            start = found.start()
        is_cut = at == len(sentence) and sentence[-1] not in _CLOSERS
    if start is None:
        return _in_one_line(sentence)
    end = 1 + max(map(sentence.rfind, _CLOSERS))
    if is_cut or "…" in sentence[end:]:
        end = len(sentence)
    fenced = fence_spelled(_in_one_line(sentence[start:end]))
    return _in_one_line(sentence[:start]) + fenced + _in_one_line(sentence[end:])


def _in_one_line(text: str) -> str:
    return escape(text).replace("\n", " ")


def _end_of_quotation(text: str, start: int) -> int:
    """Return the place behind a quotation, by its quotes and brackets."""
    quote, depth = "", 0
    for found in _INSIDE.finditer(text, start):
        sign = found[0]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        if not quote and depth <= 0:
            return found.end()
    return len(text)
