"""Poison candidates: deliveries in hand at several ends of a process. One of them may cause the ends."""

from datetime import timedelta

# In hand at so many ends of a process is no chance any more.
POISON_FROM = 2
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(minutes=5)


def pause_after_crash(crashes: int) -> timedelta:
    """Return the rest of a delivery after this number of process ends with it in hand. It becomes a poison candidate
    without a pause; from then on each end prolongs the rest, so other causes of ends in some minutes do not use up the
    attempts."""
    alone = crashes - POISON_FROM
    if alone < 1:
        return timedelta(0)
    return min(FIRST_PAUSE * 4 ** min(alone - 1, 9), LONGEST_PAUSE)
