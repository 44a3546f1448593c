"""What a plan asks of others: published, or held for a person; each with what must come, counted once."""

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
from unit.kit import END, GOAL, HOUR, LINEAGE, NOW, expectation, judged, moment, of_kind, opened, plan, published, steps

PAY = EventDefinition(event_name="pay", payload_schema={"required": ["amount"]})
REQUEST = PublishAction(event_type="pay", data={"amount": 9})
GIVEN = DelegateAction(target_planner="buyer", goal_event="pay", goal_data={"amount": 9})
TRIGGER = Trigger("The goal came.")
TOLD = EventDefinition(event_name="told", topic=EventTopic.BUSINESS_FACTS, correlate={"/id": "goal_data.order_id"})


def carried_out(action: Any, reply_timeout: timedelta | None = None, **changes: Any) -> Any:
    decided = judged(action, **{"definition": PAY, **changes})
    return carry_out(plan("paused"), decided, TRIGGER, [], moment(), PlanTerms(reply_timeout))


def line(step: Step) -> tuple[Any, ...]:
    return step.kind, step.name, step.data, step.expectation_id


@pytest.mark.parametrize(
    ("action", "kind", "expected", "target"),
    [(REQUEST, "published", "reply", None), (GIVEN, "delegated", "child", "buyer")],
)
def test_a_request_or_a_goal_is_published_counted_and_its_answer_expected(
    action: Any, kind: str, expected: str, target: Any
) -> None:
    outcome = carried_out(action)
    (sent,), (reply,) = published(outcome), opened(outcome)
    assert (sent.type, sent.topic, sent.data, sent.target) == ("pay", "action-requests", {"amount": 9}, target)
    assert (sent.correlation_id, sent.response_event) == (sent.id, "pay.completed")
    assert (sent.dataschema, sent.causation_id, sent.lineage) == (PAY.dataschema, GOAL.id, LINEAGE)
    assert (reply.id, reply.kind, reply.event_types) == (sent.id, expected, ("pay.completed",))
    assert (reply.subject, reply.deadline) == ("pay", END)
    assert of_kind(Spend, outcome) == [Spend("p-0", 1, 20)], "on the budget of the root"
    assert of_kind(Schedule, outcome) == [], "the plan's own deadline has a timer"
    assert [line(step) for step in steps(outcome)] == [(kind, "pay", {"amount": 9}, sent.id)]
    assert outcome.plan.status == "running"


@pytest.mark.parametrize(("action", "target"), [(REQUEST, None), (GIVEN, "buyer")])
def test_what_a_person_must_approve_is_a_question_bound_to_exactly_this_payload(action: Any, target: Any) -> None:
    ladder: Any = {"reminders": (HOUR / 2,), "escalate_after": HOUR / 2, "escalate_to": ("chief",)}
    outcome = carried_out(action, approval=Approval(approvers=("boss",), timeout=HOUR, **ladder))
    (held,), (told,) = opened(outcome), published(outcome)
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
    assert of_kind(Spend, outcome) == [], "it is counted when it is published"
    assert [line(step) for step in steps(outcome)] == [("held for approval", "pay", {"amount": 9}, held.id)]
    assert outcome.plan.status == "paused"


def test_an_owner_says_how_people_are_asked_and_what_silence_means() -> None:
    schema = {"type": "object", "required": ["limit"]}
    (held,) = opened(carried_out(REQUEST, approval=Approval(response_schema=schema, message="?", on_expiry="approve")))
    assert held.ask is not None
    assert (held.ask.response_schema, held.ask.message, held.ask.on_expiry) == (schema, "?", "approve")


def test_a_wait_is_answered_by_people_or_by_its_producers_in_its_time() -> None:
    ladder: Any = {"reminders": (HOUR,), "escalate_after": HOUR / 9000, "escalate_to": ("chief",), "timeout_seconds": 2}
    action = WaitAction(expected_event="told", reason="why", message="Which?", approvers=("boss",), **ladder)
    outcome = carried_out(action, definition=TOLD, producers=("client", "shop"))
    (wait,) = opened(outcome)
    assert (wait.kind, wait.event_type, wait.event_topic) == ("wait", "told", "business-facts")
    assert (wait.deadline, wait.producers) == (NOW + timedelta(seconds=2), ("client", "shop"))
    assert wait.keys == (*keys_of_wait(plan(), wait.id, TOLD), "reply:p-1") and len(wait.keys) == 4
    assert wait.ask is not None
    assert (wait.ask.reason, wait.ask.message, wait.ask.approvers) == ("why", "Which?", ("boss",))
    assert wait.ask.allowed_decisions == ("approve", "reject", "respond")
    assert [line(step) for step in steps(outcome)] == [("asked", "told", "Which?", wait.id)]
    assert [timer.id.partition(":")[0] for timer in of_kind(Schedule, outcome)] == ["deadline", "escalate"]
    assert outcome.plan.status == "paused"
    unknown = first_opened(carried_out(WaitAction(expected_event="told"), definition=None, producers=("shop",)).effects)
    assert (unknown.keys, unknown.producers, unknown.deadline) == ((), (), END)
    assert unknown.ask is not None
    assert (unknown.ask.reason, unknown.ask.response_schema) == ("input_required", ANY_OBJECT)


@pytest.mark.parametrize(("answer_key", "known_as"), [("key", ("reply:p-1", "reply:key")), (None, ("reply:p-1",))])
def test_a_question_of_a_plan_is_also_found_by_its_id_and_its_goals_reply_key(answer_key: Any, known_as: Any) -> None:
    question = PlanQuestion(ExpectedReply("told", ("left",), HOUR), "why", "Which?", about={"about": 1})
    outcome = ask(plan(answer_key=answer_key), question, [made("client's own", TOLD)], moment(), fingerprint="f")
    (wait,) = opened(outcome)
    assert (wait.event_types, wait.deadline) == (("told", "left"), NOW + HOUR)
    assert wait.keys == (*keys_of_wait(plan(), wait.id, TOLD), *known_as)
    assert published(outcome)[0].data["about"] == 1
    assert (steps(outcome)[0].fingerprint, outcome.plan.status) == ("f", "paused")


def test_a_question_that_only_people_answer_is_found_by_no_event_and_says_who_may_and_what_silence_means() -> None:
    question = PlanQuestion(
        ExpectedReply("told"), "why", "?", by_answer=True, approvers=("editor",), on_expiry=AnswerDecision.APPROVE
    )
    (asked,) = opened(ask(plan(), question, (), moment()))
    assert asked.ask is not None
    assert (asked.keys, asked.ask.approvers, asked.ask.on_expiry) == ((), ("editor",), AnswerDecision.APPROVE)


def made(agent: str, definition: EventDefinition, role: EventRole = EventRole.MAKES) -> RegisteredEvent:
    return RegisteredEvent(agent, AgentKind.AGENT, role, definition)


def test_a_question_of_a_plan_is_what_the_registry_knows_of_the_event_that_answers_it() -> None:
    told = EventDefinition(event_name="user.told", topic=EventTopic.BUSINESS_FACTS, payload_schema={"required": ["x"]})
    left = EventDefinition(event_name="user.left", topic=EventTopic.BUSINESS_FACTS)
    known = [
        made("teller", told),
        made("asker", told, EventRole.AWAITS),
        made("leaver", left),
        made("taker", told, EventRole.TAKES),
    ]

    def wait(known: list[RegisteredEvent], *others: str, **more: Any) -> tuple[Any, tuple[str, ...]]:
        question = PlanQuestion(ExpectedReply("user.told", others), "input_required", "?", **more)
        (wait,) = opened(ask(plan(), question, known, moment()))
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
def test_a_plan_that_nobody_can_be_asked_about_sleeps_until_the_registry_changes(names: Any, note: str) -> None:
    outcome = park(plan(), moment(), *names)
    (offer,) = opened(outcome)
    assert (offer.kind, offer.event_types, offer.deadline) == ("offer", names or ("",), END)
    assert (outcome.plan.status, published(outcome), of_kind(Schedule, outcome)) == ("paused", [], [])
    assert [(step.kind, step.note) for step in steps(outcome)] == [("parked", note)]


def test_a_decision_that_asks_nobody_is_neither_published_nor_held() -> None:
    with pytest.raises(LocalProtocolError, match="'wait' is neither"):
        publish_or_hold(plan(), judged(WaitAction(expected_event="told")), moment())


@pytest.mark.parametrize(
    ("action", "timeout", "deadline"),
    [(REQUEST, None, END), (REQUEST, HOUR, NOW + HOUR), (GIVEN, HOUR, END), (REQUEST, timedelta(days=9), END)],
)
def test_a_planners_reply_timeout_is_for_its_requests(action: Any, timeout: timedelta | None, deadline: Any) -> None:
    (reply,) = opened(carried_out(action, timeout))
    assert reply.deadline == deadline


@pytest.mark.parametrize(("seconds", "deadline"), [(None, NOW + HOUR), (60, END)])
def test_where_a_join_has_a_time_of_its_own_its_requests_have_none(seconds: Any, deadline: Any) -> None:
    together = PublishAllAction(requests=(REQUEST,), timeout_seconds=seconds)
    _, reply = opened(carried_out(together, HOUR, parts=(judged(REQUEST, definition=PAY),)))
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
def test_the_step_of_a_decision_carries_its_mark_so_that_repeats_are_counted(action: Any, changes: Any) -> None:
    (step,) = steps(carried_out(action, **changes))
    assert step.fingerprint == fingerprint(judged(action).decision, TRIGGER.facts)
    assert carried_out(action, **changes) == carried_out(action, **changes), "handling again makes the same"


def test_to_complete_ends_the_plan_and_closes_what_is_open() -> None:
    outcome = carry_out(plan(), judged(CompleteAction(result=5)), TRIGGER, [expectation()], moment())
    assert (outcome.plan.status, outcome.plan.result) == ("completed", 5)
