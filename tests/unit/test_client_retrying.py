from datetime import timedelta

import pytest

from soorma_ai.api.clients.retry import FIRST_PAUSE, LONGEST_PAUSE, may_repeat, pause_before
from soorma_ai.errors import (
    DeadlineExceeded,
    LocalProtocolError,
    NotFound,
    Overloaded,
    RemoteProtocolError,
    ServerUnavailable,
    SoormaError,
    StoreUnavailable,
    VersionConflict,
)


@pytest.mark.parametrize(
    ("error", "safe", "unsafe", "unsent"),
    [
        (ServerUnavailable("lost"), True, False, True),
        (StoreUnavailable("away"), True, False, True),
        (Overloaded("not taken"), True, True, True),
        (VersionConflict("first"), False, False, False),
        (NotFound("none"), False, False, False),
        (LocalProtocolError("wrong"), False, False, False),
        (RemoteProtocolError("rubbish"), False, False, False),
        (DeadlineExceeded("late"), False, False, False),
        (SoormaError("broken"), False, False, False),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, SoormaError) else str(one),
)
def test_only_a_transient_error_of_a_safe_or_unsent_request_is_retried(
    error: SoormaError, safe: bool, unsafe: bool, unsent: bool
) -> None:
    assert may_repeat(error, is_safe=True) is safe
    assert may_repeat(error, is_safe=False) is unsafe
    assert may_repeat(error, is_safe=False, was_sent=False) is unsent


def test_pauses_double_up_to_a_bound() -> None:
    pauses = [pause_before(number, 99, asked=None, left=99, drawn=1) for number in range(1, 8)]
    assert pauses == [0.25, 0.5, 1, 2, 4, LONGEST_PAUSE, LONGEST_PAUSE]
    assert pause_before(10_000, 99_999, asked=None, left=99, drawn=0) == LONGEST_PAUSE / 2


@pytest.mark.parametrize(
    ("attempt", "tries", "asked", "left", "pause"),
    [
        (1, 1, None, 99, None),
        (7, 8, None, 99, LONGEST_PAUSE / 2),
        (8, 8, None, 99, None),
        (1, 8, None, FIRST_PAUSE / 2, None),
        (1, 8, 7, 99, 7),
        (1, 8, 7, 7, None),
        (1, 8, 7, 6, None),
        (6, 8, 0.1, 99, LONGEST_PAUSE / 2),
        (1, 8, None, -1, None),
    ],
)
def test_a_requested_pause_is_kept_within_the_time_and_the_tries_left(
    attempt: int, tries: int, asked: float | None, left: float, pause: float | None
) -> None:
    span = None if asked is None else timedelta(seconds=asked)
    assert pause_before(attempt, tries, asked=span, left=left, drawn=0) == pause
