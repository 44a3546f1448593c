"""Whoever asked is told what failed, how often it was tried, and whether asking again may help."""

from datetime import timedelta

import pytest

from soorma_ai.core.delivery.disposition import MAX_ATTEMPTS, Disposal, dispose, dispose_of_spent
from soorma_ai.domain.effects import Ack, DeadLetter, RetryAfter
from soorma_ai.errors import (
    ConfigError,
    LocalProtocolError,
    NotFound,
    Outage,
    RateLimited,
    Reject,
    RemoteProtocolError,
    Retry,
    TransientError,
    VersionConflict,
)

FAULT = "(a fault in the agent: asking again will not help)"
LATER = "(tried 5 times; it may work later)"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("boom"), "handler_error", f"ValueError: boom {FAULT}"),
        (LocalProtocolError("off"), "local_protocol", f"off {FAULT}"),
        (ConfigError("unset"), "config", f"unset {FAULT}"),
        (RemoteProtocolError("off"), "remote_protocol", "off (asking again in the same way will not help)"),
        (NotFound("gone"), "not_found", "gone (asking again will not help)"),
        (TransientError("busy"), "unavailable", f"busy {LATER}"),
        (RateLimited("slow down"), "rate_limited", f"slow down {LATER}"),
        (VersionConflict("late"), "version_conflict", f"late {LATER}"),
        (Retry("not yet"), "spent", f"not yet {LATER}"),
    ],
)
def test_a_hopeless_end_is_told_with_a_code_and_whether_asking_again_may_help(
    error: Exception, code: str, message: str
) -> None:
    settled = dispose(error, MAX_ATTEMPTS)
    assert settled.failure is not None
    assert (settled.failure.code, settled.failure.message) == (code, message)
    said_so = isinstance(error, Retry)
    reason = f"{code}: {message.split(' (')[0]}"
    assert settled.disposition == DeadLetter(reason, undone=said_so), "a person needs no such advice"


@pytest.mark.parametrize("error", [TransientError("busy"), Retry("not yet"), VersionConflict("late")])
def test_nobody_is_told_while_it_is_still_tried(error: Exception) -> None:
    settled = dispose(error, MAX_ATTEMPTS - 1)
    assert isinstance(settled.disposition, RetryAfter)
    assert settled.failure is None


@pytest.mark.parametrize("attempt", [1, MAX_ATTEMPTS, 1000])
def test_what_is_away_is_waited_for_as_long_as_it_takes_and_that_is_no_attempt(attempt: int) -> None:
    pause = timedelta(hours=1)
    settled = dispose(Outage("no line", retry_after=pause), attempt)
    assert settled == Disposal(RetryAfter(pause, "no line", counts=False), rests=True)


def test_what_an_agent_rejects_is_told_in_its_own_words() -> None:
    settled = dispose(Reject("no stock", code="out_of_stock"), 1)
    assert settled.disposition == Ack()
    assert settled.failure is not None
    assert (settled.failure.code, settled.failure.message) == ("out_of_stock", "no stock")


def test_what_may_kill_the_agent_is_not_to_be_asked_for_again() -> None:
    settled = dispose_of_spent(MAX_ATTEMPTS + 1, in_doubt=False)
    assert settled.disposition == DeadLetter("spent: handed over 5 times without an end")
    assert settled.failure is not None
    advice = "(it may be what kills the agent; do not ask for it again)"
    assert (settled.failure.code, settled.failure.message) == ("spent", f"handed over 5 times without an end {advice}")
