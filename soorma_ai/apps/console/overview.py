"""Figures of the front page, made of rows that lists read."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from soorma_ai.context_parts.progress import PlanLine, PlanPage
from soorma_ai.features.tracking.ports import StoredPlan
from soorma_ai.kernel.domain.expectations import FOR_PEOPLE
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.surfaces.drawing.bars import ChartBar
from soorma_ai.surfaces.terminal.wording import cost

HOURS, DAYS = 24, 7


class ActivePlans(Struct, frozen=True):
    """Active plans by their state. `is_part`: there are more of them, and `oldest` is None, since it is not known."""

    running: int
    waiting: int
    is_part: bool
    oldest: PlanLine | None


class Costs(Struct, frozen=True):
    """Cost of the plans that started in a period, by its parts. `total`, and `most` of one part, are in words."""

    bars: tuple[ChartBar, ...]
    total: str
    most: str
    plans: int
    failed: int


def active_plans(page: PlanPage) -> ActivePlans:
    """Waiting are plans that are paused, that ask people, and that need an operator."""
    waiting = sum(_is_waiting(one) for one in page.plans)
    oldest = min(page.plans, key=lambda one: one.created_at, default=None)
    return ActivePlans(len(page.plans) - waiting, waiting, not page.is_end, oldest if page.is_end else None)


def _is_waiting(plan: PlanLine) -> bool:
    asks = any(one.kind in FOR_PEOPLE for one in plan.awaits)
    return asks or plan.status is PlanStatus.PAUSED or plan.blocked is not None


def costs_of_today(rows: Sequence[StoredPlan], now: datetime) -> Costs:
    """Return the costs by hour of the day of `now`, in its time zone."""
    start = _midnight(now)

    def label(hour: int) -> str:
        return f"{hour:02}:00"

    return _costs(rows, [start + timedelta(hours=hour) for hour in range(HOURS + 1)], lambda _, n: label(n), every=6)


def costs_of_week(rows: Sequence[StoredPlan], now: datetime) -> Costs:
    """Return the costs by day, of seven days up to that of `now`."""
    start = _midnight(now) - timedelta(days=DAYS - 1)
    return _costs(rows, [start + timedelta(days=day) for day in range(DAYS + 1)], lambda at, _: f"{at:%a %d}", every=1)


def week_is_whole(rows: Sequence[StoredPlan], now: datetime, *, is_end: bool) -> bool:
    """Tell whether the newest plans reach back to the beginning of the week."""
    first = _midnight(now) - timedelta(days=DAYS - 1)
    return is_end or any(one.plan.created_at < first for one in rows)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _costs(
    rows: Sequence[StoredPlan], edges: Sequence[datetime], label: Callable[[datetime, int], str], *, every: int
) -> Costs:
    roots = [one for one in rows if one.plan.plan_id == one.plan.root_plan_id]
    found = [one for one in roots if edges[0] <= one.plan.created_at < edges[-1]]
    bars = list[ChartBar]()
    for number, (start, end) in enumerate(pairwise(edges)):
        here = [one.spent for one in found if start <= one.plan.created_at < end]
        usd, name = sum(map(_dollars, here)), label(start, number)
        words = f"{name}: {_words(here)}, {len(here)} plans"
        bars.append(ChartBar(usd, name if number % every == 0 else "", words, _is_open(here)))
    failed = sum(one.plan.status is PlanStatus.FAILED for one in found)
    most = max(one.value for one in bars)
    return Costs(tuple(bars), _words([one.spent for one in found]), cost(most) if most else "", len(found), failed)


def _dollars(spent: Spent) -> float:
    return spent.at_least_usd if spent.cost_usd is None else spent.cost_usd


def _is_open(spent: Iterable[Spent]) -> bool:
    return any(one.cost_usd is None for one in spent)


def _words(spent: Sequence[Spent]) -> str:
    usd = sum(map(_dollars, spent))
    if not _is_open(spent):
        return cost(usd)
    return f"at least {cost(usd)}" if usd > 0 else "unknown"
