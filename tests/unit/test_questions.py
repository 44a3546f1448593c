"""Questions as people see them: urgency, consequences of an answer, state, earlier answers."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from soorma_ai.features.human_tasks.summary import (
    AnswerCounts,
    Urgency,
    consequences,
    count_answers,
    question_state,
    urgency,
)
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask, Proposal

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HELD = Proposal("pay", {"amount": 1}, "0" * 64, {"type": "object"})
GATE = Expectation(
    id="w",
    kind=ExpectationKind.GATE,
    agent="orders",
    tenant_id="shop",
    plan_id="p",
    root_plan_id="p",
    event_type="pay",
    event_topic=EventTopic.NOTIFICATION_EVENTS,
    opened_at=NOW,
    deadline=NOW + timedelta(hours=2),
    subject="pay",
    ask=Ask("confirmation", "Pay?", {}, (AnswerDecision.APPROVE, AnswerDecision.REJECT), proposal=HELD),
)


def answered_gate(decision: AnswerDecision, payload: dict[str, object] | None = None) -> Expectation:
    answer = Answer("a", payload or {}, decision, "ann", NOW)  # type: ignore[arg-type]
    return replace(GATE, status=ExpectationStatus.MET, answer=answer)


@pytest.mark.parametrize(
    ("minutes", "left", "word"),
    [
        (None, 0, Urgency.NONE),
        (600, 600, Urgency.LATER),
        (600, 61, Urgency.LATER),
        (600, 60, Urgency.SOON),
        (10, 3, Urgency.LATER),
        (10, 2, Urgency.SOON),
        (10, 0, Urgency.OVER),
        (10, -5, Urgency.OVER),
    ],
)
def test_a_question_is_urgent_in_the_last_fifth_of_its_time_and_at_most_an_hour(
    minutes: int | None, left: int, word: Urgency
) -> None:
    deadline = None if minutes is None else NOW + timedelta(minutes=minutes)
    now = NOW if deadline is None else deadline - timedelta(minutes=left)
    assert urgency(NOW, deadline, now) is word


def test_the_consequences_of_a_yes_a_no_and_silence_are_named() -> None:
    told = consequences(GATE)
    assert told.yes.startswith("pay is published with exactly this payload")
    assert "orders gets your reason" in told.no
    assert told.in_time == "Rejected automatically."
    assert GATE.ask is not None
    standing_yes = replace(GATE, ask=replace(GATE.ask, on_expiry=AnswerDecision.APPROVE))
    assert consequences(standing_yes).in_time == "Approved automatically."
    assert consequences(replace(GATE, plan_id=None)).no == "pay is not published. The requester gets your reason."
    assert consequences(replace(GATE, deadline=None)).in_time == "It stays open."
    asks = replace(GATE, kind=ExpectationKind.WAIT, ask=Ask("input", "Which?", {}, (AnswerDecision.RESPOND,)))
    assert consequences(asks).no == ""
    assert consequences(replace(asks, kind=ExpectationKind.DOUBT)).yes.startswith("orders continues with the outcome")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (GATE, ""),
        (answered_gate(AnswerDecision.EDIT), "ann approved this with changes"),
        (answered_gate(AnswerDecision.REJECT), "ann rejected this"),
        (replace(GATE, status=ExpectationStatus.MET), "Closed: the event pay came instead of an answer"),
        (replace(GATE, status=ExpectationStatus.CLOSED), "Withdrawn: the requester continued without it, or ended"),
        (replace(GATE, status=ExpectationStatus.EXPIRED), "Expired without an answer"),
        (replace(GATE, deadline=NOW), "Expired without an answer"),
    ],
)
def test_the_state_of_a_question_is_described(asked: Expectation, words: str) -> None:
    found = question_state(asked, NOW)
    assert (found.is_open, found.words) == (not words, words)


def test_earlier_answers_are_counted_with_the_last_approved_payload() -> None:
    edited = answered_gate(AnswerDecision.EDIT, {"data": {"amount": 2}})
    all_of_them = [answered_gate(AnswerDecision.REJECT), edited, answered_gate(AnswerDecision.APPROVE), GATE]
    assert count_answers(all_of_them) == AnswerCounts(1, 1, 1, {"amount": 2}, "ann", NOW)
    assert count_answers([answered_gate(AnswerDecision.APPROVE)]).last_payload == {"amount": 1}
    assert count_answers([]) == AnswerCounts()
