"""When a call is sent again, and after which pause. Pure."""

from datetime import timedelta

from soorma_ai.errors import Overloaded, RateLimited, SoormaError, TransientError, VersionConflict

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 5.0


def may_repeat(error: SoormaError, *, is_safe: bool, was_sent: bool = True) -> bool:
    """Tell whether a call that failed so may be sent again: never where it may have been carried out and is not safe,
    and never where it would fail in the same way."""
    if not isinstance(error, TransientError) or isinstance(error, VersionConflict):
        return False
    return is_safe or not was_sent or isinstance(error, Overloaded | RateLimited)


def pause_before(attempt: int, tries: int, *, asked: timedelta | None, left: float, drawn: float) -> float | None:
    """Return the seconds to wait after this failed attempt, of which the first is 1; None: give up.

    It doubles, and is drawn from its upper half by `drawn`, from 0 to 1, so that those who fail together do not come
    back together. A server that `asked` for a pause gets it, and is left alone where that is longer than is `left`.
    """
    doubled = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 30))
    pause = max(doubled * (1 + drawn) / 2, asked.total_seconds() if asked else 0.0)
    return pause if attempt < tries and pause < left else None
