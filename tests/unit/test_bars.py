"""The timeline of a plan: bars of models, agents and people, and folds of idle time."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from soorma_ai.features.tracking.lines import Line, LineKind
from soorma_ai.features.tracking.timeline import WIDTH, BarKind, bars_of, timeline_of
from unit.rows import answer
from unit.test_trace import goal_event, held_charge, reservation, trace_of


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def test_models_agents_and_people_have_separate_bars() -> None:
    told = [(bar.kind, bar.label, bar.begin, bar.end) for bar in bars_of(trace_of(*reservation()).lines)]
    assert told == [
        (BarKind.MODEL, "publish:reserve", seconds(0), seconds(2)),
        (BarKind.AGENTS, "reserve", seconds(2), seconds(6)),
        (BarKind.MODEL, "complete", seconds(7), seconds(9)),
    ]
    (asked,) = bars_of(trace_of(held_charge(closed=31, given=answer(31)), [goal_event()]).lines)
    assert (asked.kind, asked.took, asked.is_open) == (BarKind.PEOPLE, seconds(30), False)


def test_an_open_question_is_one_bar_until_now() -> None:
    (asked,) = bars_of(trace_of(held_charge(), [goal_event()], now=100).lines)
    assert (asked.kind, asked.begin, asked.end, asked.is_open) == (BarKind.PEOPLE, seconds(1), seconds(100), True)


def call(begin: float, end: float, kind: LineKind = LineKind.DECISION) -> Line:
    return Line(kind, seconds(end), "a", "b", took=seconds(end - begin))


def people(begin: float, end: float) -> Line:
    (wait,) = [line for line in trace_of(held_charge(), [goal_event()]).lines[0].lines if line.asked]
    assert wait.asked is not None
    asked = replace(wait.asked, waited=seconds(end - begin))
    return replace(wait, time=seconds(begin), asked=asked, lines=())


@pytest.mark.parametrize(
    ("lines", "widths", "folded"),
    [
        ([call(0, 5), call(5, 10)], [500, 500], []),
        ([call(0, 5), people(5, 3600), call(3600, 3605)], [435, 130, 435], [3595]),
        ([call(0, 5), people(5, 6), call(6, 10)], [500, 100, 400], []),
        ([call(0, 5), call(3600, 3605)], [435, 435], [3595]),
        ([people(0, 7200)], [1000], []),
        ([call(0, 3600, LineKind.REPLY), people(10, 3600)], [1000, 997], []),
        ([], [], []),
    ],
)
def test_idle_time_is_folded_if_it_would_hide_the_work(lines: list[Line], widths: list[int], folded: list[int]) -> None:
    told = trace_of(*reservation())
    total = max((line.time for line in lines), default=seconds(0))
    timeline = timeline_of(lines, replace(told.shares, total=total))
    assert [round(bar.width) for bar in timeline.bars] == widths
    assert [round(fold.length.total_seconds()) for fold in timeline.folds] == folded


def test_a_bar_is_visible_and_inside_the_width() -> None:
    told = trace_of(*reservation())
    timeline = timeline_of([call(5, 5), call(0, 5)], replace(told.shares, total=seconds(5)))
    assert all(bar.width >= 3 and bar.x + bar.width <= WIDTH for bar in timeline.bars)


def test_shares_fill_the_width_and_bars_over_the_bound_are_counted() -> None:
    told = trace_of(*reservation())
    timeline = timeline_of(told.lines, told.shares, most=1)
    assert [(whose, round(width)) for whose, _, width in timeline.parts] == [
        ("model", 400),
        ("agents", 400),
        ("people", 0),
        ("between", 200),
    ]
    assert (len(timeline.bars), timeline.more) == (1, 2)
