"""Everything that a plan, a task or a client is waiting for."""

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
    """Requests that were published together, in order, as (event type, data). The plan decides again after `need`."""

    asked: tuple[tuple[str, JsonObject], ...]
    need: int


class Expectation(Record, frozen=True):
    """One thing that must come, with its deadline. The first event, timer or cancellation closes it, once.

    The id is the reply key of the request it belongs to. `keys` are the names by which an outside event can find it.
    `others` are types that meet it as well as `event_type`. `met_by` is the event that closed it. `task_id` is the
    owner key of the delivery it belongs to, where that is no plan's; `group_id` names the parallel requests that it is
    one of. `branch_of` is the join of which this is number `place`, from 0; its coming alone leads to no decision. For
    what a task asked, `place` is the number of the sub-task. `join` is what a join asked for. `dataschema` names the
    definition of the request whose reply this is. `user_id` is whose it is: of the plan, the task or the request.
    `home` is the request in the store that asked, where that is another one.
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

    @property
    def event_types(self) -> tuple[str, ...]:
        return (self.event_type, *self.others)

    @property
    def asking_task(self) -> str | None:
        """Return the task that asks. A delivery in doubt has its request as its owner, which need not be a task."""
        return None if self.kind is ExpectationKind.DOUBT else self.task_id

    @property
    def request_asked_about(self) -> str | None:
        """Return the id of the request that is held, or that may have been done."""
        if self.kind is ExpectationKind.DOUBT:
            return self.task_id
        held = self.ask.proposal.request if self.ask and self.ask.proposal else None
        return held.id if held else None

    @property
    def is_child_given_up(self) -> bool:
        """Tell whether this is a goal of another planner whose answer did not come and is no longer waited for."""
        without_answer = self.status in (ExpectationStatus.CLOSED, ExpectationStatus.EXPIRED)
        return self.kind is ExpectationKind.CHILD and without_answer


class Wait(Record, frozen=True):
    """An open question to people, as clients see it. It is asked by a plan, or by a task, or for the sake of a request
    that is held or in doubt. `claim` is who has it in hand."""

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
    request_id: str | None = None
    reminders: tuple[timedelta, ...] = ()
    escalates_at: datetime | None = None
    escalate_to: tuple[str, ...] = ()
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
        """Return what sorts the most urgent first."""
        return self.deadline is None, self.deadline or self.opened_at, self.opened_at


StrayReason = Literal[
    "early", "late", "surplus", "ambiguous", "invalid", "unasked", "untaken", "handed_over", "undeclared", "busy"
]


class Stray(Struct, frozen=True):
    """An event that an expectation did not take: too early, too late, once too often, off its schema, fitting several,
    of which the oldest took it, a reply of one who was not asked, a request that nobody takes, a request whose takers
    were found only now, an answer that its agent does not declare, or an event for a plan that waits for a reply.
    `advice` is a sentence for the sender."""

    event_id: str
    event_type: str
    reason: StrayReason
    expectation_id: str | None
    advice: str = ""


class Untaken(Record, frozen=True):
    """A request that nobody takes yet, which waits `until` then for an agent that does: for that of the name or the
    capability `target`, where it has one. It is asked for a plan, or as a part of a task, or for neither."""

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
    """The outcome of events that came in: agents for whom there is something to claim, replies to clients by their
    requests, strays, and plans whose handlings need not go on. `answered` are requests of clients to which another
    process has seen a reply."""

    agents: frozenset[str] = frozenset()
    replies: Mapping[str, EventEnvelope] = field(default_factory=dict[str, EventEnvelope])
    strays: tuple[Stray, ...] = ()
    stops: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
