"""People: questions to them, and their answers."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import cast

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.replies import ExpectedReply
from soorma_ai.kernel.domain.values import JsonObject

# The user of what nobody began, and of what nobody can tell whose it is. No person has this name.
NO_USER = ""


class Role(StrEnum):
    """Roles with rights. Everybody is a USER; a ROOT needs no role. All others matter only to the questions
    with them."""

    USER = "user"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    ROOT = "root"


class AnswerDecision(StrEnum):
    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"


class Proposal(Record, frozen=True):
    """Held request; `digest` binds the approval to exactly this payload. `target` is the planner of a goal. `request`
    is the whole event, if no plan decides about it."""

    event_type: str
    data: JsonObject
    digest: str
    payload_schema: JsonObject
    reply: ExpectedReply | None = None
    target: str | None = None
    request: EventEnvelope | None = None


class Ask(Record, frozen=True):
    """Question to people, with the form of its answer.

    `reminders` and `escalate_after` count from the opening. From the escalation on, the roles of `escalate_to` may
    answer beside the approvers.
    """

    reason: str
    message: str
    response_schema: JsonObject
    allowed_decisions: tuple[AnswerDecision, ...]
    approvers: tuple[str, ...] = ()
    on_expiry: AnswerDecision = AnswerDecision.REJECT
    proposal: Proposal | None = None
    reminders: tuple[timedelta, ...] = ()
    escalate_after: timedelta | None = None
    escalate_to: tuple[str, ...] = ()

    def approvers_at(self, opened_at: datetime, now: datetime) -> tuple[str, ...]:
        """Return the roles with the right to answer by then; none means anybody, also after an escalation."""
        escalated = self.escalate_after is not None and now >= opened_at + self.escalate_after
        return (*self.approvers, *self.escalate_to) if self.approvers and escalated else self.approvers


def ladder_fault(reminders: Sequence[timedelta], escalate_after: timedelta | None, escalate_to: Sequence[str]) -> str:
    """Return why people cannot be reminded or escalated to in this way; empty when they can."""
    if isinstance(escalate_to, str):
        return f"escalate_to={escalate_to!r} would be its letters; give a tuple of roles"
    if (escalate_after is None) is not (not escalate_to):
        return "an escalation needs both: when (escalate_after), and to which roles (escalate_to)"
    if any(after <= timedelta(0) for after in (*reminders, *([escalate_after] if escalate_after else []))):
        return "reminders and escalate_after are spans above zero, counted from the opening"
    return ""


class Answer(Record, frozen=True):
    """Answer of a person. `answer_id` names the act of answering: a repeated delivery is the same answer. `for_user` is
    the absent colleague of a substitute; empty for an answer in the person's own name."""

    answer_id: str
    payload: JsonObject
    decision: AnswerDecision
    user_id: str
    answered_at: datetime
    note: str = ""
    for_user: str = ""

    @property
    def by(self) -> str:
        """The name of the person, with the absent colleague's."""
        return f"{self.user_id} for {self.for_user}" if self.for_user else self.user_id


class AnswerOutcome(str):
    """Outcome of an answer, with the reason in `detail`. It compares equal to the word.

    accepted | duplicate (an earlier answer exists) | late (at or after the deadline) | superseded (the question no
    longer stands) | invalid (the question stays open)
    """

    detail: str

    def __new__(cls, word: str, detail: str = "") -> "AnswerOutcome":
        made = super().__new__(cls, word)
        made.detail = detail
        return made


ACCEPTED = "accepted"
DUPLICATE = "duplicate"
LATE = "late"
SUPERSEDED = "superseded"
INVALID = "invalid"


class Person(Record, frozen=True):
    """Caller. `roles` None is the trusted root, with every role in the tenant."""

    tenant_id: str = "default"
    user_id: str = "local"
    roles: frozenset[str] | None = None

    def __post_init__(self) -> None:
        """Raise LocalProtocolError for an unreadable name: one to be cut, or with hidden characters."""
        for name in (self.tenant_id, self.user_id, *(self.roles or ())):
            if not name.isprintable():
                raise LocalProtocolError(f"{name!r} is no name: it holds what cannot be printed; spell it out")


class Claim(Record, frozen=True):
    """Question assigned to `user_id` `until` then, by `given_by`; empty for a self-assignment. It informs others, and
    stops none of them."""

    wait_id: str
    tenant_id: str
    user_id: str
    at: datetime
    until: datetime
    given_by: str = ""

    def lasts_at(self, now: datetime) -> bool:
        return now < self.until


class Absence(Record, frozen=True):
    """Absence of a person `until` then. `deputy` answers for them, with the roles of the absent person at the
    declaration, as long as the key of this declaration is valid."""

    tenant_id: str
    user_id: str
    deputy: str
    roles: frozenset[str]
    since: datetime
    until: datetime
    key_id: str | None = None


def roles_of(given: object) -> frozenset[str]:
    """Return the names of roles as they were given. Raise LocalProtocolError for anything but a collection of names."""
    if isinstance(given, str):
        raise LocalProtocolError(f"roles={given!r} would be its letters; give a set: roles={{{given!r}}}")
    listed = list(cast("Collection[object]", given)) if isinstance(given, Collection) else None
    if listed is None or not all(isinstance(role, str) for role in listed):
        raise LocalProtocolError(f"roles={given!r}: give a set of names, an empty one for somebody without any")
    return frozenset(str(role) for role in listed)
