"""Everything a plan or a client is waiting for, and the answers people give."""

from dataclasses import dataclass, field
from datetime import datetime
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
    CLIENT = "client"


FOR_PEOPLE = (ExpectationKind.WAIT, ExpectationKind.GATE)


class ExpectationStatus(StrEnum):
    OPEN = "open"
    MET = "met"
    EXPIRED = "expired"
    CLOSED = "closed"


@dataclass(frozen=True)
class Proposal:
    """The request a gate holds back; `digest` binds the approval to exactly this payload."""

    event_type: str
    data: JsonObject
    digest: str
    payload_schema: JsonObject


@dataclass(frozen=True)
class Ask:
    """What a person is asked, and what counts as an answer."""

    reason: str
    message: str
    response_schema: JsonObject
    allowed_decisions: tuple[AnswerDecision, ...]
    approvers: tuple[str, ...] = ()
    on_expiry: AnswerDecision = AnswerDecision.REJECT
    proposal: Proposal | None = None


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
class Expectation:
    """One thing that must come, with its deadline. Closed once, by whoever is first.

    The id is the reply key of the request it belongs to. `keys` are the names by which an outside event
    can find it. `met_by` is the event that closed it.
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
