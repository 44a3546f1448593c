"""Substitutes: the right to answer for an absent person.

It has the roles of the absent person at the beginning of the absence, and ends with it. It holds in one tenant.
"""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.people import Absence, Person
from soorma_ai.kernel.rules.waits.answers import may_answer


def lent_person(absence: Absence, key: ApiKey | None, now: datetime) -> Person | None:
    """Return the absent person with the rights of their deputy; None when the absence is over. `key` is the current
    state of the key that announced the absence; roles removed from it are not lent."""
    if not absence.since <= now < absence.until:
        return None
    if key is not None and not key.is_good(now):
        return None
    roles = absence.roles if key is None else absence.roles & key.roles
    return Person(absence.tenant_id, absence.user_id, roles)


def may_stand_in(asked: Expectation, absent: Person, now: datetime) -> bool:
    """Tell whether the deputy of a person may answer a question: it names a role of the person, or belongs to them. A
    role that sees more is not lent."""
    if asked.tenant_id != absent.tenant_id:
        return False
    names_somebody = bool(asked.ask and asked.ask.approvers)
    is_theirs = names_somebody or asked.user_id == absent.user_id
    return is_theirs and may_answer(asked, absent, now)


def stands_in(asked: Expectation, absent: Sequence[Person], now: datetime) -> bool:
    """Tell whether the deputy of any of these may answer a question."""
    return any(may_stand_in(asked, one, now) for one in absent)


def answering_as(asked: Expectation, person: Person, absent: Sequence[Person], now: datetime) -> Person:
    """Return the person with the right to answer: the person themselves, if the question names a role of theirs, else
    the first absent one with that right, else the person. A question without roles is answered for its user."""
    names_somebody = bool(asked.ask and asked.ask.approvers)
    if person.roles is None or (names_somebody and may_answer(asked, person, now)):
        return person
    return next((one for one in absent if may_stand_in(asked, one, now)), person)
