"""Claims: the assignees of questions. A claim informs others, and stops none of them.

A claim is no lock: a question must not wait for a person at lunch. So every person with the right to answer may do so,
in spite of a claim; another takes a claim over by insisting; and it ends by itself.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from soorma_ai.features.human_tasks.records import Colleague
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.people import Claim, Person
from soorma_ai.kernel.domain.states import WAIT_HANDED_OVER
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.waits.answers import may_answer, role_fault

LASTS = timedelta(hours=1)


def current_claim(claim: Claim | None, now: datetime) -> Claim | None:
    """Return a present claim; None for none, and for an ended one."""
    return claim if claim is not None and claim.lasts_at(now) else None


def claim_fault(asked: Expectation, found: Claim | None, user_id: str, now: datetime, *, insists: bool) -> str:
    """Return the reason against a claim by a person with the right to answer; empty for none. `found` is a present
    claim."""
    if fault := not_open_fault(asked, now):
        return fault
    if found is not None and found.user_id != user_id and not insists:
        until = found.until.isoformat(timespec="seconds")
        return f"{found.user_id} is the assignee until {until}: answer it all the same, or insist to take it over"
    return ""


def assign_fault(asked: Expectation, to: str, known_as: frozenset[str] | None, now: datetime) -> str:
    """Return the reason against an assignment; empty for none. `known_as` are the known roles of the colleague, None
    for an unknown one."""
    if fault := not_open_fault(asked, now):
        return fault
    colleague = Person(asked.tenant_id, to, known_as or frozenset())
    if known_as is None and not may_answer(asked, colleague, now):
        return f"the roles of {to} are not known here: let them open a question once, or give them a key"
    return role_fault(asked, colleague, now)


def not_open_fault(asked: Expectation, now: datetime) -> str:
    """Return why nothing can be done about a question any more; empty while it is open."""
    is_over = asked.deadline is not None and now >= asked.deadline
    if asked.status is ExpectationStatus.OPEN and not is_over:
        return ""
    return "the question is not open any more: nothing is left to do"


def make_claim(asked: Expectation, user_id: str, now: datetime, given_by: str = "") -> Claim:
    """Return a claim from now on, which ends with the question at the latest."""
    until = now + LASTS
    if asked.deadline is not None:
        until = min(until, asked.deadline)
    return Claim(asked.id, asked.tenant_id, user_id, now, until, given_by)


def announce_claim(asked: Expectation, made: Claim) -> EventEnvelope:
    """Return the event for a person about the assignment of a question: one event for each time."""
    return EventEnvelope(
        id=derived_id("handed over", made.wait_id, made.user_id, made.at.isoformat()),
        source=SYSTEM,
        type=WAIT_HANDED_OVER,
        topic=EventTopic.NOTIFICATION_EVENTS,
        time=made.at,
        subject=made.wait_id,
        data={"wait_id": made.wait_id, "to": made.user_id, "given_by": made.given_by, "until": made.until.isoformat()},
        tenant_id=asked.tenant_id,
        user_id=asked.user_id,
        plan_id=asked.plan_id,
        root_plan_id=asked.root_plan_id,
    )


def roles_of_person(
    keys: Iterable[ApiKey], seen: Colleague | None, user_id: str, now: datetime
) -> frozenset[str] | None:
    """Return the known roles of a person: of their valid keys, and those of their last call; None for an unknown
    person."""
    good = [one.roles for one in keys if one.user_id == user_id and one.is_good(now)]
    found = [*good, *([seen.roles] if seen else [])]
    return frozenset[str]().union(*found) if found else None
