"""Rows of a plan written by hand: events, decisions, expectations, its history."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from soorma_ai.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.history import JournalEntry, JournalKey, Step, StepKind, Verdict
from soorma_ai.domain.limits import Limits, Spent
from soorma_ai.domain.people import Answer, AnswerDecision, Ask, Proposal
from soorma_ai.domain.plans import PlanDetails, PlanRecord, PlanStatus, plan_id_of
from soorma_ai.domain.values import Json, JsonObject

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
PLANNER = "orders"
GOAL = "goal-event"
PLAN = plan_id_of(GOAL, PLANNER)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(
    id: str,
    seconds: float,
    *,
    because: str | None,
    source: str = PLANNER,
    type: str = "",
    data: JsonObject | None = None,
    plan_id: str | None = PLAN,
    answers: str | None = None,
) -> EventEnvelope:
    """A request of its own key, or with `answers` the reply to the event of that id."""
    return EventEnvelope(
        id=id,
        source=source,
        type=type or id,
        topic=EventTopic.ACTION_RESULTS if answers else EventTopic.ACTION_REQUESTS,
        time=at(seconds),
        data=data or {},
        causation_id=because,
        correlation_id=answers or id,
        response_event=None if answers else f"{id}.completed",
        plan_id=plan_id,
        root_plan_id=PLAN,
    )


def reply(id: str, seconds: float, *, to: str, source: str, result: Json = None, error: Json = None) -> EventEnvelope:
    data: dict[str, Json] = {"request_id": to, "success": error is None, "status": "completed"}
    data |= {"result": result} if error is None else {"error": error}
    return event(id, seconds, because=to, source=source, type=f"{to}.completed", data=data, answers=to)


def decision(
    cause: str,
    seconds: float,
    action: str,
    *,
    why: str = "",
    ordinal: int = 0,
    refusal: str = "",
    latency: float = 1.0,
    agent: str = PLANNER,
    cost: float | None = 0.01,
) -> JournalEntry:
    return JournalEntry(
        key=JournalKey(agent, cause, ordinal),
        plan_id=PLAN,
        root_plan_id=PLAN,
        prompt_id="planner/decide",
        prompt_version="1",
        prompt_hash="hash",
        offer_digest="offer",
        model="a-model",
        raw="{}",
        value={"reasoning": why, "step": {"action": action, "data": {"n": 1}}},
        fault="",
        verdict=Verdict.REFUSED if refusal else Verdict.ACCEPTED,
        refusal=refusal,
        prompt_tokens=100,
        completion_tokens=10,
        cost_usd=cost,
        latency_ms=latency * 1000,
        at=at(seconds),
    )


def expectation(
    id: str,
    kind: ExpectationKind,
    opened: float,
    closed: float | None = None,
    *,
    met_by: str | None = None,
    status: ExpectationStatus | None = None,
    ask: Ask | None = None,
    answer: Answer | None = None,
    subject: str = "",
    plan_id: str = PLAN,
) -> Expectation:
    known = ExpectationStatus.MET if closed is not None else ExpectationStatus.OPEN
    return Expectation(
        id=id,
        kind=kind,
        agent=PLANNER,
        tenant_id="default",
        plan_id=plan_id,
        root_plan_id=PLAN,
        event_type=f"{subject or id}.completed",
        event_topic=EventTopic.ACTION_RESULTS,
        opened_at=at(opened),
        deadline=at(3600),
        subject=subject or id,
        ask=ask,
        status=status or known,
        closed_at=None if closed is None else at(closed),
        met_by=met_by,
        answer=answer,
    )


QUESTION = Ask(
    reason="confirmation",
    message="May it be charged?",
    response_schema={"type": "object"},
    allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.REJECT),
    approvers=("finance",),
    proposal=Proposal("charge", {"amount": 5}, "digest-of-5", {"type": "object"}),
)


def answer(seconds: float, decision: AnswerDecision = AnswerDecision.APPROVE, note: str = "") -> Answer:
    payload: JsonObject = {"approved": decision is AnswerDecision.APPROVE}
    return Answer("answer-1", payload, decision, "ada", at(seconds), note)


@dataclass
class Story:
    """A plan as it is written down; `step` gives each step its ordinal."""

    goal_id: str = GOAL
    agent: str = PLANNER
    goal_event: str = "order.place"
    status: PlanStatus = PlanStatus.RUNNING
    ended: float = 0.0
    begun: float = 0.0
    steps: list[Step] = field(default_factory=list[Step])
    decisions: list[JournalEntry] = field(default_factory=list[JournalEntry])
    expectations: list[Expectation] = field(default_factory=list[Expectation])

    @property
    def plan_id(self) -> str:
        return plan_id_of(self.goal_id, self.agent)

    def step(
        self,
        kind: StepKind,
        seconds: float,
        event_id: str,
        name: str = "",
        *,
        data: Json = None,
        note: str = "",
        to: str = "",
    ) -> None:
        line = Step(self.plan_id, len(self.steps), kind, at(seconds), name, data, note, event_id, to or None)
        self.steps.append(line)

    def details(self) -> PlanDetails:
        return PlanDetails(
            plan_id=self.plan_id,
            status=self.status,
            goal_event=self.goal_event,
            goal_data={"order": 1},
            agent=self.agent,
            result={"paid": True} if self.status is PlanStatus.COMPLETED else None,
            reason="because" if self.status is PlanStatus.FAILED else None,
            created_at=at(self.begun),
            updated_at=at(self.ended),
            deadline=None,
            root_plan_id=PLAN,
            parent_plan_id=None if self.goal_id == GOAL else PLAN,
            tenant_id="default",
            session_id=None,
            steps=tuple(self.steps),
            decisions=tuple(self.decisions),
            expectations=tuple(self.expectations),
            usage=Spent(),
            limits=Limits(),
            waiting_seconds=0.0,
        )


def plan(plan_id: str = PLAN, **known: Any) -> PlanRecord:
    return PlanRecord(
        plan_id=plan_id,
        agent=PLANNER,
        agent_version="1",
        status=PlanStatus.RUNNING,
        goal_id=GOAL,
        goal_event="order.place",
        goal_data={"order": 1},
        lineage=Lineage(plan_id=plan_id, root_plan_id=PLAN, session_id="s-1", goal_id=GOAL),
        limits=known.pop("limits", Limits()),
        created_at=START,
        updated_at=START,
        root_plan_id=PLAN,
        **known,
    )
