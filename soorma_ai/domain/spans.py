"""Spans of time that may be waited for."""

from datetime import timedelta

from soorma_ai.errors import LocalProtocolError

LONGEST_WAIT_SECONDS = 10 * 366 * 24 * 3600


def span_of(what: str, given: object) -> timedelta:
    """Return a span that may be waited for, given in seconds or as it is. Raises LocalProtocolError, naming `what`."""
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= LONGEST_WAIT_SECONDS:
        return timedelta(seconds=seconds)
    raise LocalProtocolError(f"{what}={given!r}: give a number of seconds above 0, up to {LONGEST_WAIT_SECONDS}")
