"""Figures of the front page, and its charts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from soorma_ai.apps.console.overview import active_plans, costs_of_today, costs_of_week, week_is_whole
from soorma_ai.context_parts.progress import Awaited, PlanLine, PlanPage
from soorma_ai.features.tracking.ports import StoredPlan
from soorma_ai.features.tracking.progress import plan_line
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.limits import Limits, Spent
from soorma_ai.kernel.domain.plans import Blocked, PlanRecord, PlanStatus
from soorma_ai.surfaces.drawing.bars import ChartBar, draw_bars

NOW = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)  # a Wednesday
PLAN = PlanRecord(
    plan_id="p",
    goal_id="g",
    status=PlanStatus.RUNNING,
    goal_event="order.received",
    goal_data={},
    agent="a",
    created_at=NOW,
    updated_at=NOW,
    root_plan_id="p",
    limits=Limits(),
    agent_version="1",
    lineage=Lineage(),
)


def row(ago: timedelta, usd: float | None, status: PlanStatus = PlanStatus.COMPLETED, **fields: Any) -> StoredPlan:
    at_least = fields.pop("at_least", 0.0)
    plan = replace(PLAN, created_at=NOW - ago, status=status, **fields)
    return StoredPlan(1, plan, Spent(cost_usd=usd, at_least_usd=at_least))


def line(**fields: Any) -> PlanLine:
    return replace(plan_line(PLAN, Spent(), ()), **fields)


def test_a_cost_counts_in_the_hour_and_on_the_day_on_which_its_plan_started() -> None:
    rows = [row(timedelta(minutes=10), 0.5), row(timedelta(hours=15), 0.25), row(timedelta(days=2), 2.0)]
    today, week = costs_of_today(rows, NOW), costs_of_week(rows, NOW)
    assert {place: bar.value for place, bar in enumerate(today.bars) if bar.value} == {15: 0.5, 0: 0.25}
    assert (today.total, today.plans) == ("$0.7500", 2)
    assert [bar.value for bar in week.bars] == [0, 0, 0, 0, 2.0, 0, 0.75]
    assert [bar.label for bar in week.bars][-1] == "Wed 04"
    assert (week.total, week.plans) == ("$2.75", 3)


def test_a_plan_before_the_week_and_a_part_of_a_tree_count_nowhere() -> None:
    rows = [row(timedelta(days=7), 1.0), row(timedelta(0), 1.0, root_plan_id="r")]
    assert costs_of_week(rows, NOW).total == "$0.00"


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ([row(timedelta(0), None, at_least=0.5), row(timedelta(0), 1.0)], "at least $1.50"),
        ([row(timedelta(0), None)], "unknown"),
        ([], "$0.00"),
    ],
)
def test_an_unknown_price_is_told_and_is_never_zero_dollars(rows: list[StoredPlan], total: str) -> None:
    costs = costs_of_week(rows, NOW)
    assert costs.total == total
    assert costs.bars[-1].is_open is (total != "$0.00")


def test_failed_plans_of_the_week_are_counted() -> None:
    rows = [row(timedelta(days=1), 0.0, PlanStatus.FAILED), row(timedelta(days=1), 0.0)]
    assert costs_of_week(rows, NOW).failed == 1


def test_the_week_is_whole_where_older_plans_were_read_or_none_are_left() -> None:
    rows = [row(timedelta(days=1), 0.0)]
    assert not week_is_whole(rows, NOW, is_end=False)
    assert week_is_whole(rows, NOW, is_end=True)
    assert week_is_whole([*rows, row(timedelta(days=8), 0.0)], NOW, is_end=False)


def test_plans_wait_for_people_for_an_operator_and_while_they_are_paused() -> None:
    asks = Awaited("w", ExpectationKind.GATE, "pay", (), None)
    works = Awaited("w", ExpectationKind.REPLY, "pay", (), None)
    old = line(created_at=NOW - timedelta(days=1), awaits=(works,))
    plans = (line(awaits=(asks,)), line(status=PlanStatus.PAUSED), line(blocked=Blocked("p", "a key", NOW)), old)
    active = active_plans(PlanPage(plans, 0, True))
    assert (active.running, active.waiting, active.is_part, active.oldest) == (1, 3, False, old)
    part = active_plans(PlanPage(plans, 7, False))
    assert (part.is_part, part.oldest) == (True, None)
    assert active_plans(PlanPage((), 0, True)).oldest is None


def test_a_chart_is_svg_whose_highest_bar_fills_it_and_whose_words_are_escaped() -> None:
    bars = [
        ChartBar(2.0, "a", "<1>"),
        ChartBar(1.0, "", "half", is_open=True),
        ChartBar(0.0, "c", "none"),
        ChartBar(0.001, "d", "few"),
    ]
    drawn = draw_bars(bars, 'Cost & "more"')
    rects = [one.attrib for one in ElementTree.fromstring(drawn).iter() if one.tag.endswith("rect")]
    assert [float(one["height"]) for one in rects] == [80.0, 40.0, 0.0, 2.0]
    assert rects[1]["class"] == "value open"
    assert "style=" not in drawn and "<1>" not in drawn
    assert ElementTree.fromstring(draw_bars([], "none")) is not None
