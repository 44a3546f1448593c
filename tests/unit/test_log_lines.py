"""Lines of the log and of tracebacks, as people see them: no text of an error starts a line of its own."""

from collections.abc import Callable
from typing import Never

import pytest

from soorma_ai.apps.cli.view.logs import ForPeople
from soorma_ai.kernel.runtime.handling.logs import warn

FORGED = "error: till failed at pay.requested"
BREAKS = ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[1A\x1b[2K\n"]


def plain(text: str) -> Never:
    raise ValueError(text)


def with_note(text: str) -> Never:
    error = ValueError("bad order")
    error.add_note(text)
    raise error


def with_cause(text: str) -> Never:
    try:
        plain(text)
    except ValueError as error:
        raise RuntimeError("no order") from error


def with_context(text: str) -> Never:
    try:
        plain(text)
    except ValueError:
        raise RuntimeError("no order")  # noqa: B904


def in_a_group(text: str) -> Never:
    raise ExceptionGroup("several", [ValueError(text), ExceptionGroup(text, [ValueError(text)])])


def without_text(text: str) -> Never:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError(text)

    raise Odd


def log_line(way: Callable[[str], Never], text: str, caplog: pytest.LogCaptureFixture) -> str:
    try:
        way(text)
    except Exception as error:
        warn("handling_broke", bug=error, reason=text)
    (record,) = caplog.records
    return ForPeople().format(record)


@pytest.mark.parametrize("broken", BREAKS, ids=ascii)
@pytest.mark.parametrize("way", [plain, with_note, with_cause, with_context, in_a_group, without_text])
def test_an_error_cannot_start_a_line_of_the_log(
    way: Callable[[str], Never], broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = log_line(way, f"bad order 7{broken}{FORGED}", caplog)
    first, *rest = told.split("\n")
    assert first.startswith("error: handling_broke")
    assert rest and all(line.startswith("  ") for line in rest)
    assert not [line for line in rest if line.strip().startswith("error:")]
    assert told.isprintable() or {one for one in told if not one.isprintable()} == {"\n"}


def test_a_traceback_lists_its_causes_in_order(caplog: pytest.LogCaptureFixture) -> None:
    told = log_line(with_cause, "bad order", caplog)
    first, second = told.index("ValueError: bad order"), told.index("RuntimeError: no order")
    assert first < told.index("was the direct cause") < second


@pytest.mark.parametrize("broken", BREAKS, ids=ascii)
def test_a_record_is_one_line_under_every_formatter(broken: str, caplog: pytest.LogCaptureFixture) -> None:
    warn("delivery_failed", reason=f"bad order 7{broken}{FORGED}")
    (record,) = caplog.records
    assert len(record.getMessage().splitlines()) == 1
    assert record.getMessage().isprintable()


def test_the_traceback_of_a_cyclic_cause_ends(caplog: pytest.LogCaptureFixture) -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    warn("broke", bug=one)
    assert ForPeople().format(caplog.records[0]).count("ValueError") == 2
