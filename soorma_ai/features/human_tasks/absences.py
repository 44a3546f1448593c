"""Absences: checks of their declaration.

Lent rights are not lent on: an absent deputy has a deputy for their own questions alone. So no absent person can be
named, and no chain of deputies comes round.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from soorma_ai.kernel.domain.people import Absence

LONGEST = timedelta(days=90)
MOST_STOOD_IN_FOR = 20


def absence_fault(wanted: Absence, of_deputy: Absence | None, stood_in_for: Sequence[Absence]) -> str:
    """Return the reason against an absence; empty for none. `of_deputy` is a present absence of the deputy,
    `stood_in_for` those of others with this deputy already."""
    if not wanted.deputy or not wanted.deputy.isprintable():
        return f"{wanted.deputy!r} is not a name: give the name of your substitute"
    if wanted.deputy == wanted.user_id:
        return "you cannot be your own substitute: name a colleague"
    if wanted.until <= wanted.since:
        return f"{_say(wanted.until)} is over: give a moment to come"
    if wanted.until > wanted.since + LONGEST:
        return f"{_say(wanted.until)} is too far away: {LONGEST.days} days are the most; record it again later"
    if of_deputy is not None:
        return f"{wanted.deputy} is away until {_say(of_deputy.until)}: name another colleague"
    if len([one for one in stood_in_for if one.user_id != wanted.user_id]) >= MOST_STOOD_IN_FOR:
        return f"{wanted.deputy} is already the substitute of {MOST_STOOD_IN_FOR} people: name another colleague"
    return ""


def _say(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")
