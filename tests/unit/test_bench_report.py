"""The benchmark's report: ratios, verdicts and tables."""

import pytest

from bench.process import syncs_between
from bench.report import BEGIN, END, Runs, bounds_table, figures_table, number, put_between, value_of, verdict
from bench.table import ROWS, Bound, Row

RUNS: Runs = {
    "ours": [{"ms": 2.0, "cpu_ms": 1.0, "per_s": 500.0}, {"ms": 6.0, "cpu_ms": 1.5, "per_s": 166.0}],
    "rival": [{"ms": 4.0, "cpu_ms": 3.0, "per_s": 250.0}, {"ms": 4.0, "cpu_ms": 3.0, "per_s": 250.0}],
}
ROW = Row("row", "work", {}, (Bound("of the rival", "ms", 0.5, of="rival", aim=0.25),), {})


def test_a_ratio_is_taken_in_each_round() -> None:
    value = value_of(ROW.bounds[0], RUNS)
    assert value is not None and (value.least, value.middle, value.most) == (0.5, 1.0, 1.5)


def test_a_missing_figure_is_reported_as_not_measured() -> None:
    for bound in (Bound("", "fsyncs", 1), Bound("", "ms", 1, of="another"), Bound("", "ms", 1, who="another")):
        assert verdict(bound, value_of(bound, RUNS)) == "not measured"


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        (Bound("", "ms", 4), "holds"),
        (Bound("", "ms", 3.9), "**misses**"),
        (Bound("", "ms", 5, aim=3), "holds, above the aim"),
        (Bound("", "ms", 5, aim=4), "holds"),
        (Bound("", "ms", float("inf"), aim=4), "comes to the aim"),
        (Bound("", "ms", float("inf"), aim=3), "above the aim"),
        (Bound("", "per_s", 333, kind="at least"), "holds"),
        (Bound("", "per_s", 334, kind="at least"), "**misses**"),
    ],
)
def test_the_median_decides_a_bound(bound: Bound, told: str) -> None:
    assert verdict(bound, value_of(bound, RUNS)) == told


def test_tables_have_a_line_for_each_bound_and_each_program() -> None:
    line = "| work | of the rival | 1.00 (0.50 to 1.50) | 0.42 (0.33 to 0.50) | at most 0.50 | 0.25 | **misses** |"
    assert bounds_table([ROW], {"row": RUNS}).splitlines()[2:] == [line]
    lines = figures_table([ROW], {"row": RUNS}).splitlines()[2:]
    assert lines[0] == "| row | ours | 4.00 (2.00 to 6.00) | 1.25 (1.00 to 1.50) | not counted |  |"
    assert len(lines) == 2


def test_a_program_that_failed_has_no_line() -> None:
    assert figures_table([ROW], {"row": {"ours": []}}).count("\n") == 1
    assert "not measured" in bounds_table([ROW], {"row": {"ours": []}})


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00763, "0.0076"), (0.256, "0.26"), (9.876, "9.88"), (12.34, "12.3"), (1234.5, "1,234")],
)
def test_a_number_is_printed_with_two_or_three_significant_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_syncs_are_counted_once_and_only_during_the_measurement() -> None:
    trace = """
12.000001 fdatasync(7)            = 0
71   13.500000 fdatasync(7 <unfinished ...>
70   13.600000 fsync(9)                = 0
71   13.700000 <... fdatasync resumed>) = 0
71   14.000000 --- SIGCHLD {si_signo=SIGCHLD} ---
71   15.000000 fdatasync(7)            = 0
70   15.100000 +++ exited with 0 +++
"""
    assert syncs_between(trace, 13.0, 14.9) == 2
    assert syncs_between(trace, 0.0, 99.0) == 4
    assert syncs_between("", 0.0, 99.0) == 0


def test_an_earlier_report_is_replaced() -> None:
    assert put_between(f"head {BEGIN} old {END} tail", "new") == f"head {BEGIN}\n\nnew\n\n{END} tail"
    with pytest.raises(ValueError, match="put both"):
        put_between("no marks", "new")


def test_bounds_name_programs_of_their_row() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert {bound.who for bound in row.bounds} <= set(row.programs), row.name
        assert {bound.of for bound in row.bounds} <= {"", *row.programs}, row.name
