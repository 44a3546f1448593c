"""Requests of a plan: published or held for a person, each with its expectation, counted once."""

from datetime import timedelta
from typing import Any

import pytest

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
    fingerprint,
)
from soorma_ai.kernel.domain.effects import Schedule, Spend
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.replies import ExpectedReply
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import digest
from soorma_ai.kernel.rules.plans.carry_out import PlanTerms, carry_out
from soorma_ai.kernel.rules.plans.requests import PlanQuestion, ask, park, publish_or_hold
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.waits.gates import APPROVAL_ANSWER
from soorma_ai.kernel.rules.waits.opening import first_opened, keys_of_wait
from unit.kit import (
    END,
    GOAL,
    HOUR,
    LINEAGE,
    NOW,
    accepted_decision,
    events_in,
    expectation,
    expectations_in,
    moment,
    of_kind,
    plan,
    steps,
)

PAY = EventDefinition(event_name="pay", payload_schema={"required": ["amount"]})
REQUEST = PublishAction(event_type="pay", data={"amount": 9})
GIVEN = DelegateAction(target_planner="buyer", goal_event="pay", goal_data={"amount": 9})
TRIGGER = Trigger("The goal came.")
TOLD = EventDefinition(event_name="told", topic=EventTopic.BUSINESS_FACTS, correlate={"/id": "goal_data.order_id"})


def carry(action: Any, reply_timeout: timedelta | None = None, **changes: Any) -> Any:
    decided = accepted_decision(action, **{"definition": PAY, **changes})
    return carry_out(plan("paused"), decided, TRIGGER, [], moment(), PlanTerms(reply_timeout))


def line(step: Step) -> tuple[Any, ...]:
    return step.kind, step.name, step.data, step.expectation_id


@pytest.mark.parametrize(
    ("action", "kind", "expected", "target"),
    [(REQUEST, "published", "reply", None), (GIVEN, "delegated", "child", "buyer")],
)
def test_a_request_or_goal_is_published_charged_and_its_reply_expected(
    action: Any, kind: str, expected: str, target: Any
) -> None:
    outcome = carry(action)
    (sent,), (reply,) = events_in(outcome), expectations_in(outcome)
    assert (sent.type, sent.topic, sent.data, sent.target) == ("pay", "action-requests", {"amount": 9}, target)
    assert (sent.correlation_id, sent.response_event) == (sent.id, "pay.completed")
    assert (sent.dataschema, sent.causation_id, sent.lineage) == (PAY.dataschema, GOAL.id, LINEAGE)
    assert (reply.id, reply.kind, reply.event_types) == (sent.id, expected, ("pay.completed",))
    assert (reply.subject, reply.deadline) == ("pay", END)
    assert of_kind(Spend, outcome) == [Spend("p-0", 1, 20)], "charged to the root"
    assert of_kind(Schedule, outcome) == [], "the plan's own deadline has a timer"
    assert [line(step) for step in steps(outcome)] == [(kind, "pay", {"amount": 9}, sent.id)]
    assert outcome.plan.status == "running"


@pytest.mark.parametrize(("action", "target"), [(REQUEST, None), (GIVEN, "buyer")])
def test_a_request_that_needs_approval_is_a_question_bound_to_its_payload(action: Any, target: Any) -> None:
    ladder: Any = {"reminders": (HOUR / 2,), "escalate_after": HOUR / 2, "escalate_to": ("chief",)}
    outcome = carry(action, approval=Approval(approvers=("boss",), timeout=HOUR, **ladder))
    (held,), (told,) = expectations_in(outcome), events_in(outcome)
    assert (held.kind, held.event_type, held.deadline, told.type) == (
        "gate",
        "pay",
        NOW + HOUR,
        "notification.human_input",
    )
    assert held.ask is not None and held.ask.proposal is not None
    asked, proposal = held.ask, held.ask.proposal
    assert (asked.message, asked.approvers, asked.on_expiry) == ("May pay be published?", ("boss",), "reject")
    assert (asked.allowed_decisions, asked.response_schema) == (("approve", "edit", "reject"), APPROVAL_ANSWER)
    assert (proposal.event_type, proposal.data, proposal.target) == ("pay", {"amount": 9}, target)
    assert (proposal.digest, proposal.payload_schema) == (digest({"amount": 9}), PAY.payload_schema)
    assert proposal.reply == (None if target else ExpectedReply("pay.completed"))
    assert [timer.id.partition(":")[0] for timer in of_kind(Schedule, outcome)] == ["deadline", "remind", "escalate"]
    assert of_kind(Spend, outcome) == [], "a held request is charged at its release"
    assert [line(step) for step in steps(outcome)] == [("held for approval", "pay", {"amount": 9}, held.id)]
    assert outcome.plan.status == "paused"


def test_an_approval_sets_its_question_and_its_decision_on_expiry() -> None:
    schema = {"type": "object", "required": ["limit"]}
    (held,) = expectations_in(
        carry(REQUEST, approval=Approval(response_schema=schema, message="?", on_expiry="approve"))
    )
    assert held.ask is not None
    assert (held.ask.response_schema, held.ask.message, held.ask.on_expiry) == (schema, "?", "approve")


def test_a_wait_is_answered_by_people_or_producers_within_its_timeout() -> None:
    ladder: Any = {"reminders": (HOUR,), "escalate_after": HOUR / 9000, "escalate_to": ("chief",), "timeout_seconds": 2}
    action = WaitAction(expected_event="told", reason="why", message="Which?", approvers=("boss",), **ladder)
    outcome = carry(action, definition=TOLD, producers=("client", "shop"))
    (wait,) = expectations_in(outcome)
    assert (wait.kind, wait.event_type, wait.event_topic) == ("wait", "told", "business-facts")
    assert (wait.deadline, wait.producers) == (NOW + timedelta(seconds=2), ("client", "shop"))
    assert wait.keys == (*keys_of_wait(plan(), wait.id, TOLD), "reply:p-1") and len(wait.keys) == 4
    assert wait.ask is not None
    assert (wait.ask.reason, wait.ask.message, wait.ask.approvers) == ("why", "Which?", ("boss",))
    assert wait.ask.allowed_decisions == ("approve", "reject", "respond")
    assert [line(step) for step in steps(outcome)] == [("asked", "told", "Which?", wait.id)]
    assert [timer.id.partition(":")[0] for timer in of_kind(Schedule, outcome)] == ["deadline", "escalate"]
    assert outcome.plan.status == "paused"
    unknown = first_opened(carry(WaitAction(expected_event="told"), definition=None, producers=("shop",)).effects)
    assert (unknown.keys, unknown.producers, unknown.deadline) == ((), (), END)
    assert unknown.ask is not None
    assert (unknown.ask.reason, unknown.ask.response_schema) == ("input_required", ANY_OBJECT)


@pytest.mark.parametrize(("answer_key", "known_as"), [("key", ("reply:p-1", "reply:key")), (None, ("reply:p-1",))])
def test_a_plans_question_is_also_met_by_its_plan_id_and_its_goals_reply_key(answer_key: Any, known_as: Any) -> None:
    question = PlanQuestion(ExpectedReply("told", ("left",), HOUR), "why", "Which?", about={"about": 1})
    outcome = ask(plan(answer_key=answer_key), question, [role_of("client's own", TOLD)], moment(), fingerprint="f")
    (wait,) = expectations_in(outcome)
    assert (wait.event_types, wait.deadline) == (("told", "left"), NOW + HOUR)
    assert wait.keys == (*keys_of_wait(plan(), wait.id, TOLD), *known_as)
    assert events_in(outcome)[0].data["about"] == 1
    assert (steps(outcome)[0].fingerprint, outcome.plan.status) == ("f", "paused")


def test_a_question_by_answer_only_is_met_by_no_event_and_names_its_approvers() -> None:
    question = PlanQuestion(
        ExpectedReply("told"), "why", "?", by_answer=True, approvers=("editor",), on_expiry=AnswerDecision.APPROVE
    )
    (asked,) = expectations_in(ask(plan(), question, (), moment()))
    assert asked.ask is not None
    assert (asked.keys, asked.ask.approvers, asked.ask.on_expiry) == ((), ("editor",), AnswerDecision.APPROVE)


def role_of(agent: str, definition: EventDefinition, role: EventRole = EventRole.MAKES) -> RegisteredEvent:
    return RegisteredEvent(agent, AgentKind.AGENT, role, definition)


def test_a_plans_question_takes_schema_and_producers_of_its_event_from_the_registry() -> None:
    told = EventDefinition(event_name="user.told", topic=EventTopic.BUSINESS_FACTS, payload_schema={"required": ["x"]})
    left = EventDefinition(event_name="user.left", topic=EventTopic.BUSINESS_FACTS)
    known = [
        role_of("teller", told),
        role_of("asker", told, EventRole.AWAITS),
        role_of("leaver", left),
        role_of("taker", told, EventRole.TAKES),
    ]

    def wait(known: list[RegisteredEvent], *others: str, **more: Any) -> tuple[Any, tuple[str, ...]]:
        question = PlanQuestion(ExpectedReply("user.told", others), "input_required", "?", **more)
        (wait,) = expectations_in(ask(plan(), question, known, moment()))
        return wait.ask and wait.ask.response_schema, wait.producers

    assert wait(known, "user.left", schema={"type": "object"}) == ({"required": ["x"]}, ("client", "teller", "leaver"))
    assert wait(known, from_clients=True) == ({"required": ["x"]}, ("client",))
    assert wait([], schema={"type": "string"}) == ({"type": "string"}, ("client",))
    assert wait([]) == (ANY_OBJECT, ("client",))


@pytest.mark.parametrize(
    ("names", "note"),
    [
        ((), "no live agent offers any event"),
        (("pay",), "no agent takes 'pay'"),
        (("pay", "ship"), "no agent takes 'pay' or 'ship'"),
    ],
)
def test_a_parked_plan_sleeps_until_the_registry_changes(names: Any, note: str) -> None:
    outcome = park(plan(), moment(), *names)
    (offer,) = expectations_in(outcome)
    assert (offer.kind, offer.event_types, offer.deadline) == ("offer", names or ("",), END)
    assert (outcome.plan.status, events_in(outcome), of_kind(Schedule, outcome)) == ("paused", [], [])
    assert [(step.kind, step.note) for step in steps(outcome)] == [("parked", note)]


def test_a_decision_without_a_request_is_neither_published_nor_held() -> None:
    with pytest.raises(LocalProtocolError, match="'wait' is neither"):
        publish_or_hold(plan(), accepted_decision(WaitAction(expected_event="told")), moment())


@pytest.mark.parametrize(
    ("action", "timeout", "deadline"),
    [(REQUEST, None, END), (REQUEST, HOUR, NOW + HOUR), (GIVEN, HOUR, END), (REQUEST, timedelta(days=9), END)],
)
def test_a_planners_reply_timeout_applies_to_requests_and_not_to_goals(
    action: Any, timeout: timedelta | None, deadline: Any
) -> None:
    (reply,) = expectations_in(carry(action, timeout))
    assert reply.deadline == deadline


@pytest.mark.parametrize(("seconds", "deadline"), [(None, NOW + HOUR), (60, END)])
def test_requests_of_a_join_with_a_timeout_have_none_of_their_own(seconds: Any, deadline: Any) -> None:
    together = PublishAllAction(requests=(REQUEST,), timeout_seconds=seconds)
    _, reply = expectations_in(carry(together, HOUR, parts=(accepted_decision(REQUEST, definition=PAY),)))
    assert reply.deadline == deadline


@pytest.mark.parametrize(
    ("action", "changes"),
    [
        (REQUEST, {}),
        (REQUEST, {"approval": Approval()}),
        (GIVEN, {}),
        (GIVEN, {"approval": Approval()}),
        (WaitAction(expected_event="told"), {}),
    ],
)
def test_the_step_of_a_decision_has_its_fingerprint_so_repeats_are_counted(action: Any, changes: Any) -> None:
    (step,) = steps(carry(action, **changes))
    assert step.fingerprint == fingerprint(accepted_decision(action).decision, TRIGGER.facts)
    assert carry(action, **changes) == carry(action, **changes), "a repeated handling makes the same effects"


def test_completing_ends_the_plan_and_closes_its_expectations() -> None:
    outcome = carry_out(plan(), accepted_decision(CompleteAction(result=5)), TRIGGER, [expectation()], moment())
    assert (outcome.plan.status, outcome.plan.result) == ("completed", 5)
