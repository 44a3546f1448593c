"""Costs on the front page, and their charts."""

from datetime import UTC, datetime, timedelta, timezone
from xml.etree import ElementTree

import pytest

from soorma_ai.apps.console.overview import costs_of_today, costs_of_week, week_of
from soorma_ai.features.tracking.ports import CallCost
from soorma_ai.surfaces.drawing.bars import ChartBar, draw_bars

NOW = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)  # a Wednesday


def minute(ago: timedelta, usd: float, calls: int = 1, unpriced: int = 0) -> CallCost:
    return CallCost(NOW - ago, calls, usd, unpriced)


def test_a_cost_counts_in_the_hour_and_on_the_day_of_its_call() -> None:
    minutes = [minute(timedelta(minutes=10), 0.5), minute(timedelta(hours=15), 0.25, 2), minute(timedelta(days=2), 2.0)]
    today, week = costs_of_today(minutes, NOW), costs_of_week(minutes, NOW)
    assert {place: bar.value for place, bar in enumerate(today.bars) if bar.value} == {15: 0.5, 0: 0.25}
    assert (today.total, today.calls) == ("$0.7500", 3)
    assert [bar.value for bar in week.bars] == [0, 0, 0, 0, 2.0, 0, 0.75]
    assert [bar.label for bar in week.bars][-1] == "Wed 04"
    assert (week.total, week.calls) == ("$2.75", 4)


def test_costs_are_counted_in_local_hours_even_with_a_half_hour_offset() -> None:
    now = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))  # 21:00
    today = costs_of_today([minute(timedelta(minutes=1), 0.5), minute(timedelta(0), 0.25)], now)
    assert {place: bar.value for place, bar in enumerate(today.bars) if bar.value} == {20: 0.5, 21: 0.25}


def test_a_call_before_the_week_is_not_counted() -> None:
    assert costs_of_week([minute(timedelta(days=7), 1.0)], NOW).total == "$0.00"
    assert week_of(NOW) == datetime(2026, 2, 26, tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "total"),
    [
        ([minute(timedelta(0), 0.5, 2, 1), minute(timedelta(0), 1.0)], "at least $1.50"),
        ([minute(timedelta(0), 0.0, 1, 1)], "unknown"),
        ([], "$0.00"),
    ],
)
def test_an_unknown_price_is_shown_and_never_counts_as_zero(minutes: list[CallCost], total: str) -> None:
    costs = costs_of_week(minutes, NOW)
    assert costs.total == total
    assert costs.bars[-1].is_open is (total != "$0.00")


def test_a_chart_is_svg_with_its_highest_bar_at_full_height_and_escaped_labels() -> None:
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
