"""Expectations: the open waits of plans, tasks and clients."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import NO_USER, Answer, AnswerDecision, Ask, Claim
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.stores import Home
from soorma_ai.kernel.domain.values import JsonObject


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


class Join(Record, frozen=True):
    """Requests published together, in order, as (event type, data). The plan decides again after `need` answers."""

    asked: tuple[tuple[str, JsonObject], ...]
    need: int


class Expectation(Record, frozen=True):
    """Expected event, with its deadline. The first event, timer or cancellation closes it, once.

    The id is the reply key of its request. `keys` are further names for an outside event to find it. `others` are types
    accepted beside `event_type`. `met_by` is the closing event. `task_id` is the owner key of its delivery, if there is
    no plan; `group_id` names its group of parallel requests. `branch_of` is the join with this as number `place`, from
    0; a branch alone leads to no decision. For a request of a task, `place` is the number of the sub-task. `join` holds
    the requests of a join. `dataschema` names the definition of the answered request. `user_id` is the user of the
    plan, the task or the request. `home` is the request in the store of its origin, if this is another one.
    `traceparent` names the span of the handling that opened it.
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
    dataschema: str | None = None
    user_id: str = NO_USER
    home: Home | None = None
    traceparent: str | None = None

    @property
    def event_types(self) -> tuple[str, ...]:
        return (self.event_type, *self.others)

    @property
    def asking_task(self) -> str | None:
        """Return the asking task. The owner of a delivery in doubt is its request, not necessarily a task."""
        return None if self.kind is ExpectationKind.DOUBT else self.task_id

    @property
    def request_asked_about(self) -> str | None:
        """Return the id of the request held or in doubt."""
        if self.kind is ExpectationKind.DOUBT:
            return self.task_id
        held = self.ask.proposal.request if self.ask and self.ask.proposal else None
        return held.id if held else None

    @property
    def is_child_given_up(self) -> bool:
        """Tell whether this is another planner's goal without an answer in time, no longer waited for."""
        without_answer = self.status in (ExpectationStatus.CLOSED, ExpectationStatus.EXPIRED)
        return self.kind is ExpectationKind.CHILD and without_answer


class Wait(Record, frozen=True):
    """Open question to a person, in the view of clients: asked by a plan or a task, or about a request held or in
    doubt. `claim` names its assignee."""

    wait_id: str
    """Id of the question."""
    plan_id: str | None
    """Asking plan; None without one."""
    agent: str
    """Asking agent."""
    tenant_id: str
    """Tenant of the question."""
    reason: str
    """Reason of the question."""
    message: str
    """Text of the question."""
    expected_event: str
    """Name of the answer's event."""
    response_schema: JsonObject
    """Schema of the answer."""
    allowed_decisions: tuple[AnswerDecision, ...]
    """Possible decisions."""
    approvers: tuple[str, ...]
    """Roles with the right to answer; none means anybody of the tenant."""
    opened_at: datetime
    """Moment of the opening."""
    deadline: datetime | None
    """Moment of the end without an answer."""
    on_expiry: AnswerDecision
    """Decision at the deadline."""
    proposed_event: str | None
    """Name of the held request."""
    proposed_data: JsonObject | None
    """Data of the held request."""
    digest: str | None
    """Digest of the held request, for an approval of exactly this one."""
    root_plan_id: str | None = None
    """Root of the plan's tree."""
    task_id: str | None = None
    """Asking task."""
    request_id: str | None = None
    """Request held or in doubt."""
    reminders: tuple[timedelta, ...] = ()
    """Times of the reminders, from the opening."""
    escalates_at: datetime | None = None
    """Moment of the escalation."""
    escalate_to: tuple[str, ...] = ()
    """Further roles with the right to answer from then on."""
    claim: Claim | None = None

    @classmethod
    def of(cls, expectation: Expectation) -> "Wait | None":
        """Return the question of an expectation, None where people are not asked."""
        ask = expectation.ask
        if ask is None:
            return None
        held = ask.proposal
        return cls(
            wait_id=expectation.id,
            plan_id=expectation.plan_id,
            root_plan_id=expectation.root_plan_id,
            task_id=expectation.asking_task,
            request_id=expectation.request_asked_about,
            agent=plain_name(expectation.agent),
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

    def urgency(self) -> tuple[bool, datetime, datetime]:
        """Return the sort key, the most urgent first."""
        return self.deadline is None, self.deadline or self.opened_at, self.opened_at


StrayReason = Literal[
    "early", "late", "surplus", "ambiguous", "invalid", "unasked", "untaken", "handed_over", "undeclared", "busy"
]


class Stray(Struct, frozen=True):
    """Event refused by an expectation. Kinds: too early, too late, a duplicate, off its schema, ambiguous between
    several (the oldest took it), a reply of an unasked agent, a request without a taker, a request with its takers
    found only now, an answer undeclared by its agent, or an event for a plan that waits for a reply. `advice` is a
    sentence for the sender."""

    event_id: str
    event_type: str
    reason: StrayReason
    expectation_id: str | None
    advice: str = ""


class Untaken(Record, frozen=True):
    """Request without a taker. It waits `until` then for an agent, for one of the name or the capability `target` if
    given. It belongs to a plan, is a part of a task, or neither."""

    request_id: str
    event_type: str
    asked_by: str
    target: str | None
    plan_id: str | None
    task_id: str | None
    since: datetime
    until: datetime


# Stands among the agents of an Arrival where some of it may be a suspect, which is claimed in a line for all agents.
SUSPECTS = ""


class Arrival(Struct, frozen=True):
    """Outcome of incoming events: agents with something to claim, replies to clients by their requests, strays, and
    plans with obsolete handlings. `answered` are requests of clients with a reply seen by another process."""

    agents: frozenset[str] = frozenset()
    replies: Mapping[str, EventEnvelope] = field(default_factory=dict[str, EventEnvelope])
    strays: tuple[Stray, ...] = ()
    stops: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
