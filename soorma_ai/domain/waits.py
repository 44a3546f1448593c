"""Everything a plan or a client is waiting for, and the answers people give."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from soorma_ai.domain.events import EventTopic
from soorma_ai.domain.values import JsonObject


class AnswerDecision(StrEnum):
    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"


class ExpectationKind(StrEnum):
    REPLY = "reply"
    CHILD = "child"
    WAIT = "wait"
    GATE = "gate"
    OFFER = "offer"
    DOUBT = "doubt"
    CLIENT = "client"
    JOIN = "join"


FOR_PEOPLE = (ExpectationKind.WAIT, ExpectationKind.GATE, ExpectationKind.DOUBT)


class ExpectationStatus(StrEnum):
    OPEN = "open"
    MET = "met"
    EXPIRED = "expired"
    CLOSED = "closed"


@dataclass(frozen=True)
class Reply:
    """What counts as the answer of a request, `event_type` or one of the `others`, and how long it may take."""

    event_type: str
    others: tuple[str, ...] = ()
    timeout: timedelta | None = None


@dataclass(frozen=True)
class Proposal:
    """The request a gate holds back; `digest` binds the approval to exactly this payload. `target` is the planner
    that a goal is for."""

    event_type: str
    data: JsonObject
    digest: str
    payload_schema: JsonObject
    reply: Reply | None = None
    target: str | None = None


@dataclass(frozen=True)
class Ask:
    """What a person is asked, and what counts as an answer.

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
        """None is anybody, and then an escalation takes nothing away."""
        escalated = self.escalate_after is not None and now >= opened_at + self.escalate_after
        return (*self.approvers, *self.escalate_to) if self.approvers and escalated else self.approvers


def ladder_fault(reminders: Sequence[timedelta], escalate_after: timedelta | None, escalate_to: Sequence[str]) -> str:
    """Why people cannot be reminded in this way, or nobody else asked; nothing when they can."""
    if isinstance(escalate_to, str):
        return f"escalate_to={escalate_to!r} would be its letters; give a tuple of roles"
    if (escalate_after is None) is not (not escalate_to):
        return "an escalation needs both: when (escalate_after), and to which roles (escalate_to)"
    if any(after <= timedelta(0) for after in (*reminders, *([escalate_after] if escalate_after else []))):
        return "reminders and escalate_after are spans above zero, counted from the opening"
    return ""


@dataclass(frozen=True)
class Answer:
    """`answer_id` names one act of answering, so that a repeated delivery of it is the same answer."""

    answer_id: str
    payload: JsonObject
    decision: AnswerDecision
    user_id: str
    answered_at: datetime
    note: str = ""


@dataclass(frozen=True)
class Join:
    """Several requests that were published together, as (event type, data) in the order they were asked. The plan
    decides again when `need` of them have come."""

    asked: tuple[tuple[str, JsonObject], ...]
    need: int


@dataclass(frozen=True)
class Expectation:
    """One thing that must come, with its deadline. Closed once, by whoever is first.

    The id is the reply key of the request it belongs to. `keys` are the names by which an outside event
    can find it. `others` are types that meet it as well as `event_type`. `met_by` is the event that closed it.
    `task_id` is the owner key of the delivery it belongs to, where that is no plan's; `group_id` the parallel requests
    it is one of. `branch_of` is the join that this is number `place` of, from 0; nothing of its own is decided when it
    comes. `join` is what a join asked for.
    """

    id: str
    kind: ExpectationKind
    agent: str
    tenant_id: str
    plan_id: str | None
    root_plan_id: str | None
    event_type: str
    event_topic: EventTopic
    opened_at: datetime
    deadline: datetime | None
    subject: str
    keys: tuple[str, ...] = ()
    producers: tuple[str, ...] = ()
    ask: Ask | None = None
    status: ExpectationStatus = ExpectationStatus.OPEN
    closed_at: datetime | None = None
    met_by: str | None = None
    answer: Answer | None = None
    task_id: str | None = None
    branch_of: str | None = None
    place: int = 0
    join: Join | None = None
    group_id: str | None = None
    others: tuple[str, ...] = ()

    @property
    def event_types(self) -> tuple[str, ...]:
        return (self.event_type, *self.others)

    @property
    def is_child_given_up(self) -> bool:
        """A goal given to another planner whose answer is not waited for any more, and did not come."""
        without_answer = self.status in (ExpectationStatus.CLOSED, ExpectationStatus.EXPIRED)
        return self.kind is ExpectationKind.CHILD and without_answer


@dataclass(frozen=True)
class Wait:
    """An open question to people, as clients see it."""

    wait_id: str
    plan_id: str | None
    agent: str
    tenant_id: str
    reason: str
    message: str
    expected_event: str
    response_schema: JsonObject
    allowed_decisions: tuple[AnswerDecision, ...]
    approvers: tuple[str, ...]
    opened_at: datetime
    deadline: datetime | None
    on_expiry: AnswerDecision
    proposed_event: str | None
    proposed_data: JsonObject | None
    digest: str | None
    root_plan_id: str | None = None
    task_id: str | None = None
    reminders: tuple[timedelta, ...] = ()
    escalates_at: datetime | None = None
    escalate_to: tuple[str, ...] = ()

    @classmethod
    def of(cls, expectation: Expectation) -> "Wait | None":
        ask = expectation.ask
        if ask is None:
            return None
        held = ask.proposal
        return cls(
            wait_id=expectation.id,
            plan_id=expectation.plan_id,
            root_plan_id=expectation.root_plan_id,
            task_id=expectation.task_id,
            agent=expectation.agent,
            tenant_id=expectation.tenant_id,
            reason=ask.reason,
            message=ask.message,
            expected_event=expectation.event_type,
            response_schema=ask.response_schema,
            allowed_decisions=ask.allowed_decisions,
            approvers=ask.approvers,
            opened_at=expectation.opened_at,
            deadline=expectation.deadline,
            on_expiry=ask.on_expiry,
            proposed_event=held.event_type if held else None,
            proposed_data=held.data if held else None,
            digest=held.digest if held else None,
            reminders=ask.reminders,
            escalates_at=expectation.opened_at + ask.escalate_after if ask.escalate_after else None,
            escalate_to=ask.escalate_to,
        )


class AnswerOutcome(str):
    """One of five words; `detail` says why. It compares equal to the word.

    accepted | duplicate (somebody was first) | late (at or after the deadline) |
    superseded (the question no longer stands) | invalid (the question stays open)
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


@dataclass(frozen=True)
class Person:
    """Who answers. `roles` None is the trusted local operator, who has every role."""

    tenant_id: str = "default"
    user_id: str = "local"
    roles: frozenset[str] | None = field(default=None)
