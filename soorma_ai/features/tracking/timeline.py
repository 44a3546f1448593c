"""A plan's timeline: a bar for each answer of a model, each request and each wait for people.

A wait of hours beside calls of seconds would leave nothing of these to be seen: a stretch without work of a model or an
agent is folded to a part of the rest.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import asdict

from soorma_ai.features.tracking.lines import Line, LineKind
from soorma_ai.features.tracking.plan_graph import place_of
from soorma_ai.features.tracking.time_shares import Shares
from soorma_ai.kernel.domain.expectations import ExpectationStatus

MOST_BARS = 300
WIDTH = 1_000.0
_NARROWEST = 3.0
_FOLDED = 0.15
_NONE = timedelta(0)


class BarKind(StrEnum):
    MODEL = "model"
    AGENTS = "agents"
    PEOPLE = "people"


class Bar(Struct, frozen=True):
    """`place` is the fragment of the page that tells of its line."""

    kind: BarKind
    label: str
    begin: timedelta
    end: timedelta
    place: str
    is_open: bool = False
    is_failure: bool = False

    @property
    def took(self) -> timedelta:
        return self.end - self.begin


class DrawnBar(Bar, frozen=True):
    """A bar with its place on the axis, of WIDTH."""

    x: float = 0.0
    width: float = 0.0


class Fold(Struct, frozen=True):
    """A stretch of `length` that is drawn at less than half of it."""

    x: float
    width: float
    length: timedelta


class Timeline(Struct, frozen=True):
    """`more` counts the bars that are left out. `parts` are the shares of all time as (owner, from, width)."""

    bars: tuple[DrawnBar, ...]
    folds: tuple[Fold, ...]
    more: int
    parts: tuple[tuple[str, float, float], ...]


def timeline_of(lines: Iterable[Line], shares: Shares, most: int = MOST_BARS) -> Timeline:
    bars = sorted(bars_of(lines), key=lambda bar: (bar.begin, bar.end))
    end = max([shares.total, *(bar.end for bar in bars)])
    scale = _Scale(bars, end)
    drawn = tuple(_draw(bar, scale) for bar in bars[:most])
    return Timeline(drawn, scale.folds, max(0, len(bars) - most), tuple(_parts(shares)))


def bars_of(lines: Iterable[Line]) -> Iterator[Bar]:
    """Yield a bar for each line that took time, in the order of the lines."""
    ahead: list[tuple[Line, Line | None]] = [(line, None) for line in reversed(list(lines))]
    number = 0
    while ahead:
        line, above = ahead.pop()
        if bar := _bar(line, above, place_of(number)):
            yield bar
        number += 1
        ahead += ((below, line) for below in reversed(line.lines))


def _bar(line: Line, above: Line | None, place: str) -> Bar | None:
    match line.kind:
        case LineKind.DECISION | LineKind.CHOICE if line.took is not None:
            begin = line.time - line.took
            return Bar(BarKind.MODEL, line.what or "no decision", begin, line.time, place, is_failure=line.is_failure)
        case LineKind.WAIT | LineKind.GATE if line.asked is not None:
            is_open = line.asked.status is ExpectationStatus.OPEN
            return Bar(BarKind.PEOPLE, line.what, line.time, line.time + line.asked.waited, place, is_open)
        case LineKind.REPLY | LineKind.OPEN | LineKind.EXPIRY | LineKind.CLOSED:
            is_of_people = above is not None and above.asked is not None
            if line.took is None or is_of_people:
                return None
            label = above.what if above and above.kind in (LineKind.REQUEST, LineKind.DELEGATION) else line.what
            is_open = line.kind is LineKind.OPEN
            begin = line.time - line.took
            return Bar(BarKind.AGENTS, label, begin, line.time, place, is_open, line.is_failure)
        case _:
            return None


class _Scale:
    """Places of moments on the axis; stretches without work are folded."""

    def __init__(self, bars: Sequence[Bar], end: timedelta) -> None:
        moments = sorted({_NONE, end, *(at for bar in bars for at in (bar.begin, bar.end))})
        busy = _union((bar.begin, bar.end) for bar in bars if bar.kind is not BarKind.PEOPLE)
        self._moments = moments
        lengths, is_idle = list[float](), list[bool]()
        for first, last in pairwise(moments):
            lengths.append((last - first).total_seconds())
            is_idle.append(not _covers(busy, first))
        worked = sum(length for length, idle in zip(lengths, is_idle, strict=True) if not idle)
        most = worked * _FOLDED if worked else max(lengths, default=0.0)
        folded = [min(length, most) if idle else length for length, idle in zip(lengths, is_idle, strict=True)]
        unit = WIDTH / (sum(folded) or 1.0)
        self._at = [0.0]
        for length in folded:
            self._at.append(self._at[-1] + length * unit)
        self.folds = tuple(
            Fold(self._at[number], shown * unit, timedelta(seconds=length))
            for number, (length, shown) in enumerate(zip(lengths, folded, strict=True))
            if shown < length / 2
        )

    def at(self, moment: timedelta) -> float:
        """Return the place of a moment at which a bar begins or ends."""
        return self._at[max(0, min(bisect_right(self._moments, moment), len(self._moments)) - 1)]


def _draw(bar: Bar, scale: _Scale) -> DrawnBar:
    x, end = scale.at(bar.begin), scale.at(bar.end)
    width = max(end - x, _NARROWEST)
    return DrawnBar(**asdict(bar), x=min(x, WIDTH - width), width=width)


def _parts(shares: Shares) -> Iterator[tuple[str, float, float]]:
    total, x = shares.total.total_seconds() or 1.0, 0.0
    spans = {"model": shares.model, "agents": shares.agents, "people": shares.people, "between": shares.between}
    for whose, span in spans.items():
        width = WIDTH * span.total_seconds() / total
        yield whose, x, width
        x += width


def _union(spans: Iterable[tuple[timedelta, timedelta]]) -> list[tuple[timedelta, timedelta]]:
    joined: list[tuple[timedelta, timedelta]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _covers(disjoint: Sequence[tuple[timedelta, timedelta]], moment: timedelta) -> bool:
    """Tell whether a moment is in one of the spans; the end of one is not."""
    place = bisect_right(disjoint, moment, key=lambda span: span[0]) - 1
    return place >= 0 and moment < disjoint[place][1]
