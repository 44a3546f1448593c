"""Dispositions: the requester gets the failure, the number of attempts, and advice on another request."""

from datetime import timedelta

import httpx
import pytest

from soorma_ai.errors import (
    BusUnavailable,
    ConfigError,
    LocalProtocolError,
    ModelBlocked,
    NotFound,
    Outage,
    RateLimited,
    Reject,
    RemoteProtocolError,
    Retry,
    ServerUnavailable,
    StoreUnavailable,
    TransientError,
    VersionConflict,
)
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Disposition, Hold, InDoubt, RetryAfter
from soorma_ai.kernel.rules.delivery.disposition import (
    LONGEST_ASKED,
    MAX_ATTEMPTS,
    Disposal,
    Tries,
    again_after_conflict,
    dispose,
    dispose_in_doubt,
    dispose_of_spent,
    outlook,
)

FAULT = "(a fault in the agent: asking again will not help)"
MENDED = "(asking again helps once an operator has mended it)"
LATER = "(tried 5 times; it may work later)"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("boom"), "handler_error", f"ValueError: boom {FAULT}"),
        (LocalProtocolError("off"), "local_protocol", f"off {FAULT}"),
        (ConfigError("unset"), "config", f"unset {FAULT}"),
        (ModelBlocked("no key"), "model_blocked", f"no key {MENDED}"),
        (RemoteProtocolError("off"), "remote_protocol", "off (asking again in the same way will not help)"),
        (NotFound("gone"), "not_found", "gone (asking again will not help)"),
        (TransientError("busy"), "unavailable", f"busy {LATER}"),
        (ConnectionResetError("gone"), "unavailable", f"ConnectionResetError: gone {LATER}"),
        (RateLimited("slow down"), "rate_limited", f"slow down {LATER}"),
        (VersionConflict("late"), "version_conflict", f"late {LATER}"),
        (Retry("not yet"), "spent", f"not yet {LATER}"),
    ],
)
def test_a_final_failure_has_a_code_and_advice_on_another_request(error: Exception, code: str, message: str) -> None:
    settled = dispose(error, MAX_ATTEMPTS)
    assert settled.failure is not None
    assert (settled.failure.code, settled.failure.message) == (code, message)
    said_so = isinstance(error, Retry)
    reason = f"{code}: {message.split(' (')[0]}"
    assert settled.disposition == DeadLetter(reason, undone=said_so), "a dead letter carries no advice"


@pytest.mark.parametrize(
    "error", [TransientError("busy"), Retry("not yet"), VersionConflict("late"), ConnectionResetError("gone")]
)
def test_no_failure_is_reported_while_attempts_remain(error: Exception) -> None:
    settled = dispose(error, MAX_ATTEMPTS - 1)
    assert isinstance(settled.disposition, RetryAfter)
    assert settled.failure is None


@pytest.mark.parametrize("attempt", [1, MAX_ATTEMPTS, 99])
def test_an_uncounted_retry_has_no_limit_of_attempts(attempt: int) -> None:
    settled = dispose(Retry("not begun", after=timedelta(seconds=3), counts=False), attempt)
    assert settled == Disposal(RetryAfter(timedelta(seconds=3), "not begun", undone=True, counts=False))


@pytest.mark.parametrize("attempt", [1, MAX_ATTEMPTS, 1000])
def test_an_outage_is_waited_out_and_counts_no_attempt(attempt: int) -> None:
    pause = timedelta(hours=1)
    settled = dispose(Outage("no line", retry_after=pause), attempt)
    assert settled == Disposal(RetryAfter(pause, "no line", counts=False), rests=True)


@pytest.mark.parametrize(("claims", "seconds"), [(1, 0.5), (2, 1), (5, 8), (8, 60), (1000, 60)])
@pytest.mark.parametrize("error", [StoreUnavailable("away"), BusUnavailable("away")])
@pytest.mark.parametrize("attempt", [1, MAX_ATTEMPTS, 99])
def test_an_outage_of_store_or_bus_backs_off_and_counts_no_attempt(
    error: Exception, attempt: int, claims: int, seconds: float
) -> None:
    rested = Disposal(RetryAfter(timedelta(seconds=seconds), "away", counts=False))
    assert dispose(error, attempt, Tries(attempts=1), claims=claims) == rested
    assert dispose_in_doubt(error, attempt, can_find_out=True, claims=claims) == rested


@pytest.mark.parametrize("error", [StoreUnavailable("away"), BusUnavailable("away")])
def test_an_outage_in_an_at_most_once_handler_leaves_it_in_doubt(error: Exception) -> None:
    assert isinstance(dispose_in_doubt(error, 1, can_find_out=False).disposition, InDoubt)


def test_an_outage_of_a_handlers_own_server_is_a_dead_letter() -> None:
    assert isinstance(dispose(ServerUnavailable("away"), MAX_ATTEMPTS).disposition, DeadLetter)


def test_a_rejection_is_reported_in_the_agents_words() -> None:
    settled = dispose(Reject("no stock", code="out_of_stock"), 1)
    assert settled.disposition == Ack()
    assert settled.failure is not None
    assert (settled.failure.code, settled.failure.message) == ("out_of_stock", "no stock")


def test_a_request_that_may_kill_its_agent_advises_against_another_request() -> None:
    settled = dispose_of_spent(MAX_ATTEMPTS + 1, in_doubt=False)
    assert settled.disposition == DeadLetter("spent: handed over 5 times without an end")
    assert settled.failure is not None
    advice = "(it may be what kills the agent; do not ask for it again)"
    assert (settled.failure.code, settled.failure.message) == ("spent", f"handed over 5 times without an end {advice}")


@pytest.mark.parametrize(
    ("error", "tries", "attempt", "is_over"),
    [
        (TransientError("busy"), Tries(attempts=2), 1, False),
        (TransientError("busy"), Tries(attempts=2), 2, True),
        (Retry("not yet"), Tries(attempts=9), 8, False),
        (Retry("not yet"), Tries(attempts=9), 9, True),
        (KeyError("x"), Tries(), 1, True),
        (KeyError("x"), Tries(retry_on=(LookupError,)), 1, False),
        (KeyError("x"), Tries(retry_on=(LookupError,)), 5, True),
        (NotFound("x"), Tries(retry_on=(NotFound,)), 1, False),
        (Reject("no"), Tries(retry_on=(Exception,)), 1, True),
        (VersionConflict("late"), Tries(attempts=1), 4, False),
    ],
)
def test_a_handlers_own_tries_override_the_default(error: Exception, tries: Tries, attempt: int, is_over: bool) -> None:
    settled = dispose(error, attempt, tries)
    assert isinstance(settled.disposition, RetryAfter) is not is_over
    assert (settled.failure is not None) is is_over


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (timedelta(seconds=-9), timedelta(0)),
        (timedelta(hours=1), timedelta(hours=1)),
        (timedelta.max, LONGEST_ASKED),
        (None, timedelta(seconds=4)),
    ],
)
def test_a_requested_pause_is_kept_within_its_bounds(asked: timedelta | None, given: timedelta) -> None:
    settled = dispose(Retry("not yet", after=asked), 4)
    assert settled.disposition == RetryAfter(given, "not yet", undone=True)


@pytest.mark.parametrize("can_find_out", [False, True])
def test_an_http_retry_after_sets_the_pause(can_find_out: bool) -> None:
    answer = httpx.Response(503, headers={"Retry-After": "7"})
    error = httpx.HTTPStatusError("busy", request=httpx.Request("GET", "https://a.test"), response=answer)
    settled = dispose_in_doubt(error, 1, can_find_out=True) if can_find_out else dispose(error, 1)
    assert isinstance(settled.disposition, RetryAfter)
    assert settled.disposition.delay == timedelta(seconds=7)


def test_after_a_conflict_pauses_grow_from_zero_and_count_no_attempt() -> None:
    conflict = VersionConflict("another commit was first", counts=False)
    assert again_after_conflict(conflict, "e-1", 1) == RetryAfter(
        timedelta(0), "another commit was first", counts=False
    )
    for claims, least in ((2, 5), (3, 10), (6, 80), (30, 1000), (100_000, 1000)):
        pause = again_after_conflict(conflict, "e-1", claims).delay / timedelta(milliseconds=1)
        assert least <= pause < 3 * least
    assert again_after_conflict(VersionConflict("it counts"), "e-1", 2).counts


def test_conflicting_deliveries_retry_at_different_times() -> None:
    conflict = VersionConflict("another commit was first", counts=False)
    pauses = {again_after_conflict(conflict, f"e-{n}", claims).delay for n in range(50) for claims in (2, 3)}
    assert len(pauses) > 90


def test_a_blocked_model_holds_a_plan_that_can_rest_and_counts_no_attempt() -> None:
    assert dispose(ModelBlocked("no key"), 1, can_rest=True) == Disposal(Hold("no key"), rests=True)
    assert dispose(ConfigError("off"), 1, can_rest=True) == dispose(ConfigError("off"), 1)


@pytest.mark.parametrize(
    ("disposition", "words"),
    [
        (RetryAfter(timedelta(seconds=4), "down"), "it is tried again in 4 s"),
        (Hold("no key"), "its plan rests until an operator resumes it (soorma plans resume)"),
        (DeadLetter("off its schema"), "it is a dead letter (soorma dead-letters show 7)"),
        (InDoubt("killed"), "people are asked what became of it (soorma inbox)"),
        (Ack(), "whoever asked is told"),
    ],
)
def test_the_outlook_of_a_failed_delivery_is_one_sentence(disposition: Disposition, words: str) -> None:
    assert outlook(disposition, 7) == words
