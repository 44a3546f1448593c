"""Costs of calls on the front page, by hour and by day."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from soorma_ai.features.tracking.ports import CallCost
from soorma_ai.surfaces.drawing.bars import ChartBar
from soorma_ai.surfaces.terminal.wording import cost

HOURS, DAYS = 24, 7


class Costs(Struct, frozen=True):
    """Cost of the calls of models in a period, by its parts. `total`, and `most` of one part, are in words."""

    bars: tuple[ChartBar, ...]
    total: str
    most: str
    calls: int


def costs_of_today(minutes: Sequence[CallCost], now: datetime) -> Costs:
    """Return the costs by hour of the day of `now`, in its time zone."""
    start = _midnight(now)

    def label(hour: int) -> str:
        return f"{hour:02}:00"

    return _costs(minutes, [start + timedelta(hours=hour) for hour in range(HOURS + 1)], lambda _, n: label(n), every=6)


def costs_of_week(minutes: Sequence[CallCost], now: datetime) -> Costs:
    """Return the costs by day, of seven days up to that of `now`."""
    start = week_of(now)
    days = [start + timedelta(days=day) for day in range(DAYS + 1)]
    return _costs(minutes, days, lambda at, _: f"{at:%a %d}", every=1)


def week_of(now: datetime) -> datetime:
    """Return the beginning of the seven days up to that of `now`."""
    return _midnight(now) - timedelta(days=DAYS - 1)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _costs(
    minutes: Sequence[CallCost], edges: Sequence[datetime], label: Callable[[datetime, int], str], *, every: int
) -> Costs:
    found = [one for one in minutes if edges[0] <= one.at < edges[-1]]
    bars = list[ChartBar]()
    for number, (start, end) in enumerate(pairwise(edges)):
        here = [one for one in found if start <= one.at < end]
        usd, name = sum(one.cost_usd for one in here), label(start, number)
        words = f"{name}: {_words(here)}, {_count(here)} calls"
        bars.append(ChartBar(usd, name if number % every == 0 else "", words, _is_open(here)))
    most = max(one.value for one in bars)
    return Costs(tuple(bars), _words(found), cost(most) if most else "", _count(found))


def _count(minutes: Sequence[CallCost]) -> int:
    return sum(one.calls for one in minutes)


def _is_open(minutes: Sequence[CallCost]) -> bool:
    return any(one.unpriced for one in minutes)


def _words(minutes: Sequence[CallCost]) -> str:
    usd = sum(one.cost_usd for one in minutes)
    if not _is_open(minutes):
        return cost(usd)
    return f"at least {cost(usd)}" if usd > 0 else "unknown"
