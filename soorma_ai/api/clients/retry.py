"""Repetition of failed calls, and the pauses before it. Pure."""

from datetime import timedelta

from soorma_ai.errors import Overloaded, RateLimited, SoormaError, TransientError, VersionConflict

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 5.0


def may_repeat(error: SoormaError, *, is_safe: bool, was_sent: bool = True) -> bool:
    """Tell whether a failed call may be sent again: never after a possible execution of an unsafe one, and never for a
    permanent fault."""
    if not isinstance(error, TransientError) or isinstance(error, VersionConflict):
        return False
    return is_safe or not was_sent or isinstance(error, Overloaded | RateLimited)


def pause_before(attempt: int, tries: int, *, asked: timedelta | None, left: float, drawn: float) -> float | None:
    """Return the seconds to wait after this failed attempt, counted from 1; None: give up.

    The pause doubles, and `drawn`, from 0 to 1, takes it from its upper half, so clients do not come back together. A
    pause `asked` for by the server is kept; one longer than `left` ends the tries.
    """
    doubled = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 30))
    pause = max(doubled * (1 + drawn) / 2, asked.total_seconds() if asked else 0.0)
    return pause if attempt < tries and pause < left else None
