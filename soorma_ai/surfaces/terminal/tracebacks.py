"""Tracebacks for a terminal. Messages and notes of errors are text of others: each is one line, and harmless."""

from collections.abc import Iterator
from itertools import islice
from traceback import StackSummary, walk_tb
from typing import cast

from soorma_ai.surfaces.terminal.escapes import one_line, printable

MOST_LINKS = 20
MOST_OF_GROUP = 15
MOST_DEPTH = 5

_BECAUSE = "The above exception was the direct cause of the following exception:"
_MEANWHILE = "During handling of the above exception, another exception occurred:"


def traceback_lines(error: BaseException, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a traceback, the first cause first, and those of a group below its own."""
    links = list(islice(_links(error), MOST_LINKS))
    for number, (one, told) in enumerate(reversed(links)):
        yield from _lines_of(one, depth)
        if number < len(links) - 1:
            yield told


def _links(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """Yield an error and its causes, each with its joining words."""
    seen, found, told = set[int](), error, ""
    while id(found) not in seen:
        seen.add(id(found))
        yield found, told
        before = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        if before is None:
            return
        told = _MEANWHILE if found.__cause__ is None else _BECAUSE
        found = before


def _lines_of(error: BaseException, depth: int) -> Iterator[str]:
    yield "Traceback (most recent call last):"
    for frame in StackSummary.extract(walk_tb(error.__traceback__)).format():
        yield from map(printable, frame.splitlines())
    yield one_line(f"{type(error).__qualname__}: {_text_of(error)}")
    yield from (one_line(str(note)) for note in getattr(error, "__notes__", ()))
    if isinstance(error, BaseExceptionGroup) and depth < MOST_DEPTH:
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions[:MOST_OF_GROUP]:
            yield from (f"  {line}" for line in traceback_lines(one, depth + 1))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "<an error whose text cannot be made>"
