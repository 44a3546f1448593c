"""Rows of a plan for hand-written traces, timed in seconds: events, decisions, expectations, history."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from contract.store_kit import entry
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.history import JournalEntry, JournalKey, Step, StepKind, Verdict
from soorma_ai.kernel.domain.limits import Limits, Spent
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask, Proposal
from soorma_ai.kernel.domain.plans import PlanDetails, PlanStatus, plan_id_of
from soorma_ai.kernel.domain.values import Json
from unit import kit

PLANNER = "orders"
GOAL = "goal-event"
PLAN = plan_id_of(GOAL, PLANNER)
QUESTION = Ask(
    "confirmation",
    "May it be charged?",
    {"type": "object"},
    (AnswerDecision.APPROVE, AnswerDecision.REJECT),
    approvers=("finance",),
    proposal=Proposal("charge", {"amount": 5}, "digest-of-5", {"type": "object"}),
)


def at(seconds: float) -> datetime:
    return kit.NOW + timedelta(seconds=seconds)


def event(id: str, seconds: float, *, because: str | None, answers: str | None = None, **given: Any) -> EventEnvelope:
    """A request with its own reply key; with `answers`, a reply to the event of that id."""
    made: dict[str, Any] = {"type": id, "source": PLANNER, "plan_id": PLAN, "data": {}, **given}
    if answers is None:
        made |= {"topic": "action-requests", "response_event": f"{id}.completed"}
    key = {"causation_id": because, "correlation_id": answers or id, "root_plan_id": PLAN}
    return kit.event(made.pop("type"), id=id, time=at(seconds), **key, **made)


def reply(id: str, seconds: float, *, to: str, source: str, result: Json = None, error: Json = None) -> EventEnvelope:
    data: dict[str, Json] = {"request_id": to, "success": error is None, "status": "completed"}
    data |= {"result": result} if error is None else {"error": error}
    return event(id, seconds, because=to, source=source, type=f"{to}.completed", data=data, answers=to)


def decision(
    cause: str, seconds: float, action: str, *, why: str = "", latency: float = 1.0, agent: str = PLANNER, **more: Any
) -> JournalEntry:
    key = JournalKey(agent, cause, more.pop("ordinal", 0))
    value = {"reasoning": why, "step": {"action": action, "data": {"n": 1}}}
    verdict = Verdict.REFUSED if more.get("refusal") else Verdict.ACCEPTED
    given = {"latency_ms": latency * 1000, "at": at(seconds), **more}
    return replace(entry(), key=key, plan_id=PLAN, root_plan_id=PLAN, value=value, verdict=verdict, **given)


def expectation(id: str, kind: str, opened: float, closed: float | None = None, **changes: Any) -> Expectation:
    status = ExpectationStatus.OPEN if closed is None else ExpectationStatus.MET
    about = changes.pop("subject", id)
    made = {"tenant_id": "default", "plan_id": PLAN, "root_plan_id": PLAN, "event_type": f"{about}.completed"}
    times = {"opened_at": at(opened), "deadline": at(3600), "closed_at": None if closed is None else at(closed)}
    return kit.expectation(kind, changes.pop("status", status), id=id, subject=about, **(made | times | changes))


def answer(seconds: float, decision: str = "approve", note: str = "") -> Answer:
    return replace(kit.answer(decision, note, approved=decision == "approve"), answered_at=at(seconds))


@dataclass
class Story:
    """Stored rows of one plan; `step` gives each step its ordinal."""

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

    def step(self, kind: StepKind, seconds: float, event_id: str, name: str = "", **more: Any) -> None:
        expected = more.pop("to", None)
        line = Step(self.plan_id, len(self.steps), kind, at(seconds), name, event_id=event_id, expectation_id=expected)
        self.steps.append(replace(line, **more))

    def details(self) -> PlanDetails:
        result, reason = {PlanStatus.COMPLETED: ({"paid": True}, None), PlanStatus.FAILED: (None, "because")}.get(
            self.status, (None, None)
        )
        return PlanDetails(
            *(self.plan_id, self.goal_id, self.status, self.goal_event, {"order": 1}, self.agent),
            *(at(self.begun), at(self.ended), PLAN, Limits(), result, reason, None),
            *(None if self.goal_id == GOAL else PLAN, "default", None),
            *(tuple(self.steps), tuple(self.decisions), tuple(self.expectations), Spent(), 0.0),
        )
