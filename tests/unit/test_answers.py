from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask, Person, Proposal
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.answers import decision_meant, judge_answer, may_meet, say_approved
from unit.kit import HOUR, NOW, expectation

YES: JsonObject = {"approved": True}
NO: JsonObject = {"approved": False}
APPROVE, EDIT, REJECT, RESPOND = AnswerDecision

REFUND = Proposal(
    "refund.issue",
    {"amount": 120},
    "d",
    {
        "type": "object",
        "properties": {"amount": {"type": "number", "maximum": 500}},
        "required": ["amount"],
        "additionalProperties": False,
    },
)
GATE = Ask(
    "approval",
    "refund 120?",
    {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]},
    (APPROVE, EDIT, REJECT),
    approvers=("manager", "cfo"),
    proposal=REFUND,
)
TEXT: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
QUESTION = Ask("question", "which colour?", TEXT, (RESPOND,))
OPERATOR = Person()
MANAGER = Person(user_id="mia", roles=frozenset({"manager", "staff"}))


def expectation_of(ask: Ask | None, **changed: Any) -> Expectation:
    opened = {"event_type": "refund.approved", "opened_at": NOW - HOUR, "deadline": NOW + HOUR, "ask": ask}
    return expectation("gate", **(opened | changed))


def answer_of(decision: AnswerDecision, payload: Mapping[str, object], answer_id: str = "a-1") -> Answer:
    return Answer(answer_id, dict(payload), decision, "mia", NOW)


@pytest.mark.parametrize(
    ("ask", "decision", "payload"),
    [
        (GATE, APPROVE, YES),
        (GATE, REJECT, NO),
        (GATE, EDIT, {"data": {"amount": 80}}),
        (GATE, EDIT, {"data": {"amount": 80}, "approved": True}),
        (QUESTION, RESPOND, {"text": "red"}),
    ],
)
def test_a_valid_answer_is_accepted(ask: Ask, decision: AnswerDecision, payload: JsonObject) -> None:
    assert judge_answer(expectation_of(ask), answer_of(decision, payload), MANAGER, NOW) == "accepted"


@pytest.mark.parametrize(
    ("ask", "decision", "payload", "why"),
    [
        (GATE, APPROVE, NO, "approved=False and the decision says approve"),
        (GATE, REJECT, YES, "approved=True and the decision says reject"),
        (GATE, EDIT, {"approved": False, "data": {"amount": 80}}, "approved=False and the decision says edit"),
        (GATE, APPROVE, {}, "off its schema"),
        (GATE, APPROVE, {"approved": "yes"}, "$.approved"),
        (GATE, RESPOND, {"text": "hm"}, "'respond' is not among approve, edit, reject"),
        (GATE, EDIT, YES, "as an object in 'data'"),
        (GATE, EDIT, {"data": "80"}, "as an object in 'data'"),
        (GATE, EDIT, {"data": {"amount": 1_000}}, "off the schema of 'refund.issue': $.amount"),
        (GATE, EDIT, {"data": {"amount": 80, "to": "me"}}, "off the schema of 'refund.issue'"),
        (QUESTION, APPROVE, YES, "'approve' is not among respond"),
        (QUESTION, RESPOND, {"text": 7}, "$.text"),
        (None, APPROVE, YES, "no question to a person"),
    ],
)
def test_an_invalid_answer_gets_a_reason_and_leaves_the_question_open(
    ask: Ask | None, decision: AnswerDecision, payload: JsonObject, why: str
) -> None:
    outcome = judge_answer(expectation_of(ask), answer_of(decision, payload), MANAGER, NOW)
    assert outcome == "invalid"
    assert why in outcome.detail


@pytest.mark.parametrize(
    ("roles", "outcome"),
    [
        (None, "accepted"),
        (frozenset({"staff", "cfo"}), "accepted"),
        (frozenset({"staff"}), "invalid"),
        (frozenset[str](), "invalid"),
    ],
)
def test_an_answer_needs_one_of_the_approvers_roles(roles: frozenset[str] | None, outcome: str) -> None:
    person = Person(user_id="sam", roles=roles)
    judged = judge_answer(expectation_of(GATE), answer_of(APPROVE, YES), person, NOW)
    assert judged == outcome
    if outcome == "invalid":
        assert "one of manager, cfo must answer" in judged.detail
    open_to_all = judge_answer(expectation_of(QUESTION), answer_of(RESPOND, {"text": "red"}), person, NOW)
    assert open_to_all == "accepted", "without approvers every person may answer"


@pytest.mark.parametrize(
    ("role", "minutes", "outcome"),
    [("director", 59, "invalid"), ("director", 60, "accepted"), ("manager", 61, "accepted"), ("clerk", 61, "invalid")],
)
def test_after_the_escalation_escalation_roles_may_answer_beside_the_approvers(
    role: str, minutes: int, outcome: str
) -> None:
    ladder = replace(GATE, escalate_after=timedelta(hours=1), escalate_to=("director",))
    asked, person = expectation_of(ladder, opened_at=NOW - timedelta(minutes=minutes)), Person(roles=frozenset({role}))
    assert judge_answer(asked, answer_of(APPROVE, YES), person, NOW) == outcome


@pytest.mark.parametrize(
    ("source", "producers", "ask", "meets"),
    [
        ("shop", (), QUESTION, True),
        ("shop", ("shop", "client"), QUESTION, True),
        ("liar", ("shop", "client"), QUESTION, False),
        ("client", ("shop", "client"), QUESTION, True),
        ("client", ("shop",), QUESTION, False),
        ("client", (), GATE, False),
        ("client", ("client",), GATE, False),
        ("shop", ("shop",), GATE, False),
        ("client", (), None, True),
    ],
)
def test_a_declared_producer_meets_a_wait_and_no_event_meets_a_gate(
    source: str, producers: tuple[str, ...], ask: Ask | None, meets: bool
) -> None:
    assert may_meet(expectation_of(ask, producers=producers), event_from(source)) is meets


def event_from(source: str, **changed: Any) -> EventEnvelope:
    return EventEnvelope(id="e", source=source, type="x", topic=EventTopic.BUSINESS_FACTS, time=NOW, **changed)


@pytest.mark.parametrize(
    ("own", "user_id", "meets"), [(None, "ben", True), (True, "ben", False), (True, "ann", True), (False, "ben", True)]
)
def test_an_event_of_a_user_without_the_right_to_steer_meets_only_their_own_waits(
    own: bool | None, user_id: str, meets: bool
) -> None:
    assert may_meet(expectation_of(None, user_id="ann"), event_from("client", own=own, user_id=user_id)) is meets


@pytest.mark.parametrize(
    ("status", "outcome", "why"),
    [
        (ExpectationStatus.MET, "duplicate", "'refund.approved' came before"),
        (ExpectationStatus.CLOSED, "superseded", "no longer stands"),
        (ExpectationStatus.EXPIRED, "late", "2026-03-01T13:00:00"),
    ],
)
def test_a_closed_question_accepts_no_answer(status: ExpectationStatus, outcome: str, why: str) -> None:
    judged = judge_answer(expectation_of(GATE, status=status), answer_of(APPROVE, YES), OPERATOR, NOW)
    assert judged == outcome
    assert why in judged.detail


@pytest.mark.parametrize(
    ("deadline", "outcome"),
    [(NOW + timedelta(microseconds=1), "accepted"), (NOW, "late"), (NOW - HOUR, "late"), (None, "accepted")],
)
def test_at_the_deadline_an_answer_is_late_for_every_person_even_before_the_timer(deadline: Any, outcome: str) -> None:
    asked = expectation_of(GATE, deadline=deadline)
    assert judge_answer(asked, answer_of(APPROVE, YES), OPERATOR, NOW) == outcome
    stranger = judge_answer(asked, answer_of(APPROVE, YES), Person(roles=frozenset()), NOW)
    assert stranger == ("late" if outcome == "late" else "invalid"), (
        "after the deadline a stranger gets the same outcome"
    )


def test_the_first_valid_answer_wins_and_later_answers_get_the_first_person() -> None:
    answered = expectation_of(GATE, status=ExpectationStatus.MET, answer=answer_of(APPROVE, YES, "a-1"))
    judged = judge_answer(answered, answer_of(REJECT, NO, "a-2"), OPERATOR, NOW)
    assert judged == "duplicate"
    assert judged.detail == "mia was first: approve at 2026-03-01T12:00:00+00:00"
    for now in (NOW, NOW + timedelta(days=30)):
        assert judge_answer(answered, answer_of(APPROVE, YES, "a-1"), OPERATOR, now) == "accepted", (
            "a repeated answer is accepted again"
        )


@pytest.mark.parametrize(
    ("given", "payload", "meant"),
    [
        (None, {"approved": True}, APPROVE),
        (None, {"approved": False}, REJECT),
        (None, {"approved": "yes"}, RESPOND),
        (None, {"approved": 1, "text": "x"}, RESPOND),
        (None, {}, RESPOND),
        ("edit", {"approved": True}, EDIT),
        ("reject", {"approved": True}, REJECT),
    ],
)
def test_a_missing_decision_is_read_from_the_payload(
    given: str | None, payload: dict[str, object], meant: AnswerDecision
) -> None:
    assert decision_meant(given, payload) is meant


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "accepted"),
        ({"answered_at": NOW + HOUR}, "accepted"),
        ({"user_id": "sam"}, "duplicate"),
        ({"decision": REJECT, "payload": NO}, "duplicate"),
        ({"payload": {**YES, "amount": 7}}, "duplicate"),
        ({"answer_id": "a-2"}, "duplicate"),
    ],
)
def test_only_an_identical_repeat_of_an_answer_is_accepted_again(changes: dict[str, Any], outcome: str) -> None:
    first = answer_of(APPROVE, YES)
    closed = expectation_of(GATE, status=ExpectationStatus.MET, answer=first)
    assert judge_answer(closed, replace(first, **changes), MANAGER, NOW) == outcome


@pytest.mark.parametrize(
    ("decision", "payload", "schema", "said"),
    [
        (APPROVE, {}, GATE.response_schema, {"approved": True}),
        (REJECT, {}, GATE.response_schema, {"approved": False}),
        (APPROVE, {"approved": False}, GATE.response_schema, {"approved": False}),
        (None, {"text": "red"}, TEXT, {"text": "red"}),
        (APPROVE, {"text": "red"}, TEXT | {"additionalProperties": False}, {"text": "red"}),
    ],
)
def test_approved_is_added_to_an_answer_if_its_schema_has_the_field(
    decision: str | None, payload: JsonObject, schema: JsonObject, said: JsonObject
) -> None:
    assert say_approved(decision, payload, schema) == said
