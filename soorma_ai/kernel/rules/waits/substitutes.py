"""Substitutes: the right to answer for a person who is away.

A deputy may answer what the absent person may, by the roles which that one had when they said so: no more, in no other
tenant, and for no longer than they said.
"""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.people import Absence, Person
from soorma_ai.kernel.rules.waits.answers import may_answer


def lent_person(absence: Absence, key: ApiKey | None, now: datetime) -> Person | None:
    """Return the absent person as their deputy acts for them; None when that is over. `key` is the one by which they
    said so, as it is now: what was taken from it is lent no more."""
    if not absence.since <= now < absence.until:
        return None
    if key is not None and not key.is_good(now):
        return None
    roles = absence.roles if key is None else absence.roles & key.roles
    return Person(absence.tenant_id, absence.user_id, roles)


def may_stand_in(asked: Expectation, absent: Person, now: datetime) -> bool:
    """Tell whether a question comes to the deputy of somebody: it is asked of people like them by name of a role, or
    in the course of what is theirs. A role that sees more is not lent."""
    if asked.tenant_id != absent.tenant_id:
        return False
    names_somebody = bool(asked.ask and asked.ask.approvers)
    is_theirs = names_somebody or asked.user_id == absent.user_id
    return is_theirs and may_answer(asked, absent, now)


def stands_in(asked: Expectation, absent: Sequence[Person], now: datetime) -> bool:
    """Tell whether a question comes to the deputy of any of these."""
    return any(may_stand_in(asked, one, now) for one in absent)


def answering_as(asked: Expectation, person: Person, absent: Sequence[Person], now: datetime) -> Person:
    """Return by whose right a person answers: their own, where the question names a role of theirs, else that of the
    first whom they stand in for and who has it, else their own, whatever that is. One that names nobody is answered
    for whose it is."""
    names_somebody = bool(asked.ask and asked.ask.approvers)
    if person.roles is None or (names_somebody and may_answer(asked, person, now)):
        return person
    return next((one for one in absent if may_stand_in(asked, one, now)), person)
