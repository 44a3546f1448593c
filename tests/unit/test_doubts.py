"""Doubts about at-most-once handlers: the question to a person, and the meaning of the answer."""

from typing import Any

import pytest

from soorma_ai.kernel.domain.doubts import Done, Failed, NotDone, StillUnknown
from soorma_ai.kernel.domain.effects import DeadLetter, Expect, Publish, Schedule
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.rules.delivery.doubts import (
    ANSWERED_WITHIN,
    ask_what_happened,
    dispose_in_vain,
    doubt_id,
    finding_of,
)
from unit.kit import HOUR, NOW, answer, event, expectation, moment

RECEIPT = {"type": "object", "properties": {"receipt": {"type": "string"}}, "required": ["receipt"]}
REQUEST = event("charge", id="charge", topic="action-requests", amount=5)


def ask_in_doubt(**request: Any) -> tuple[Expectation, Publish, Schedule]:
    now = moment(REQUEST.model_copy(update=request))
    opened, announced, timer = ask_what_happened("doubt", "charge", "the process ended", RECEIPT, now)
    assert isinstance(opened, Expect) and isinstance(announced, Publish) and isinstance(timer, Schedule)
    return opened.expectation, announced, timer


def test_each_start_of_a_handler_makes_a_doubt_of_its_own() -> None:
    ids = {doubt_id(agent, request, begun) for agent in "ab" for request in "xy" for begun in (1, 2)}
    assert len(ids) == 8
    assert doubt_id("a", "x", 1) in ids


def test_the_question_names_the_request_and_expires() -> None:
    question, announced, timer = ask_in_doubt()
    assert question.ask is not None
    assert "charge" in question.ask.message and '{"amount":5}' in question.ask.message
    assert "the process ended" in question.ask.message
    assert (question.kind, question.task_id, question.plan_id) == (ExpectationKind.DOUBT, "charge", None)
    assert announced.event.data["wait_id"] == question.id == timer.guards
    assert question.deadline == timer.due == NOW + ANSWERED_WITHIN
    soon, _, timer = ask_in_doubt(deadline=NOW + HOUR)
    assert soon.deadline == timer.due == NOW + HOUR, "the request has no later deadline"


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        ({"outcome": "done", "result": {"receipt": "r"}}, True),
        ({"outcome": "not_done"}, True),
        ({"outcome": "failed", "message": "no card"}, True),
        ({"outcome": "failed"}, True),
        ({"outcome": "done"}, False),
        ({"outcome": "done", "result": {"receipt": 5}}, False),
        ({"outcome": "perhaps"}, False),
        ({"approved": True}, False),
    ],
)
def test_an_answer_has_one_of_three_outcomes_and_a_result_fits_the_handlers_schema(answer: Any, fits: bool) -> None:
    ask = ask_in_doubt()[0].ask
    assert ask is not None
    assert (not violations(ask.response_schema, answer)) is fits


def closed_doubt(status: str, **payload: Any) -> Expectation:
    given = answer("respond", **payload) if payload else None
    return expectation("doubt", status, subject="charge", answer=given)


@pytest.mark.parametrize(
    ("question", "found", "told"),
    [
        (closed_doubt("met", outcome="done", result=3), Done(3), "it was done, somebody said"),
        (closed_doubt("met", outcome="not_done"), NotDone(), "it was not done, somebody said"),
        (closed_doubt("met", outcome="failed", message="no card"), Failed("no card"), "no card"),
        (
            closed_doubt("met", outcome="failed"),
            Failed("charge did not work, as mia says"),
            "charge did not work, as mia says",
        ),
        (
            closed_doubt("expired"),
            Failed("whether charge was done is not known, and nobody could say so in time"),
            "whether charge was done is not known",
        ),
        (
            closed_doubt("open"),
            StillUnknown("the question about it is still open"),
            "the question about it is still open",
        ),
    ],
)
def test_an_answer_becomes_a_finding_and_reaches_the_caller_without_a_handler_too(
    question: Expectation, found: object, told: str
) -> None:
    assert finding_of(question) == found
    settled = dispose_in_vain(question, "no handler takes it any more")
    assert isinstance(settled.disposition, DeadLetter)
    assert settled.failure is not None and settled.failure.code == "in_doubt"
    assert settled.failure.message.startswith(told)
    assert settled.failure.message.endswith("; and it could not be carried on: no handler takes it any more")
