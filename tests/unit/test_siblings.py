"""Equal siblings of a plan as one row."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from soorma_ai.apps.console.siblings import LEAST, MOST_ROWS, WIDTH, describe, fold_siblings, progress_of
from soorma_ai.context_parts.progress import Action, ActionStatus, Report
from soorma_ai.features.tracking.lines import Line, LineKind
from soorma_ai.kernel.rules.waits.sentences import title_of

NOW = datetime(2026, 3, 4, tzinfo=UTC)
PART = Action("a", "item.load", "etl", (), ActionStatus.PENDING, NOW, None)
REPORT = Report(0.4, "half of it", NOW)


def at(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def part(number: int, *below: Line, what: str = "item.load") -> Line:
    return Line(LineKind.REQUEST, at(number), "etl", what, lines=below)


def reply(seconds: float, *, is_failure: bool = False) -> Line:
    return Line(LineKind.REPLY, at(seconds), "loader", "item.loaded", took=at(1), is_failure=is_failure)


def test_two_hundred_requests_are_one_row_with_a_bar() -> None:
    statuses = [ActionStatus.COMPLETED] * 30 + [ActionStatus.RUNNING] * 8 + [ActionStatus.TIMED_OUT]
    statuses += [ActionStatus.PENDING] * (200 - len(statuses))
    (row,) = progress_of([replace(PART, status=status) for status in statuses])
    assert (row.name, row.words) == ("item.load", "30 of 200 done, 8 running, 1 failed")
    assert row.parts == (("done", 0, WIDTH * 0.15), ("failed", 150.0, 5.0), ("running", 155.0, 40.0))


def test_requests_group_below_the_same_task_only_and_few_make_no_row() -> None:
    few = [replace(PART, parent_id=f"task {number % 2}") for number in range(2 * LEAST - 1)]
    assert [row.words for row in progress_of(few)] == [describe(LEAST, done=0)]
    assert progress_of([PART] * (LEAST - 1)) == ()


def test_a_running_requests_report_is_a_row_and_rows_are_bounded() -> None:
    running = replace(PART, status=ActionStatus.RUNNING, report=REPORT)
    (row,) = progress_of([running, replace(running, status=ActionStatus.COMPLETED)])
    assert (row.words, row.parts) == ("40% half of it", (("done", 0.0, 400.0),))
    assert len(progress_of([running] * LEAST * 3)) == MOST_ROWS


def test_equal_lines_fold_with_their_counts_and_keep_their_failures() -> None:
    still_open = Line(LineKind.OPEN, at(9), "loader", note="no answer yet", took=at(1))
    lines = [part(0, reply(1)), part(1, reply(2, is_failure=True)), *(part(2, still_open) for _ in range(4))]
    (row,) = fold_siblings([replace(part(0, *lines), what="table.load")])
    (folded,) = row.lines
    summary, failure = folded.lines
    assert (folded.what, folded.time) == ("item.load ×6", at(0))
    assert (summary.kind, summary.note, summary.took) == (LineKind.OPEN, "1 of 6 done, 1 failed", at(9))
    assert failure.is_failure
    ended = fold_siblings([part(number, reply(number + 1)) for number in range(LEAST)])
    assert ended[0].lines[0].kind is LineKind.CLOSED


def test_unequal_lines_and_lines_with_a_decision_stay() -> None:
    few = tuple(part(number, reply(1)) for number in range(LEAST - 1))
    assert fold_siblings((*few, part(0, what="other"))) == (*few, part(0, what="other"))
    deciding = tuple(part(number, Line(LineKind.CHOICE, at(1), "x")) for number in range(9))
    assert fold_siblings(deciding) == deciding
    turns = [Line(LineKind.TURN, at(1), "etl", "item.load", "was answered")] * LEAST
    assert fold_siblings([*turns, replace(turns[0], note="failed")])[0].what == f"item.load ×{LEAST}"
    assert len(fold_siblings([*turns, replace(turns[0], note="failed")])) == 2


def test_a_fold_in_a_part_of_a_plan_claims_no_outcomes() -> None:
    (row,) = fold_siblings([part(number) for number in range(LEAST)], is_part=True)
    assert (row.what, row.lines) == (f"item.load ×{LEAST}", ())


@pytest.mark.parametrize(
    ("template", "title"),
    [
        ("{ticket_id}", "T-1"),
        ("Refund {amount} $ for {customer.name}", "Refund 1,200 $ for Ada"),
        ("{ticket_id} {missing}", "T-1 {missing}"),
        ("{missing}", ""),
        ("Nightly report", "Nightly report"),
        ("", ""),
        ("{note}", "x" * 79 + "…"),
    ],
)
def test_a_title_is_filled_from_the_goals_data_on_one_line(template: str, title: str) -> None:
    data = {"ticket_id": "T-1", "amount": 1200, "customer": {"name": "Ada"}, "note": "x" * 500}
    assert title_of(template, data) == title
