"""Replies: a fitting result counts; a result off its schema becomes a failure with the place of the fault."""

import pytest

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.people import Answer, AnswerDecision
from soorma_ai.kernel.domain.replies import content_of
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.waits.replies import cancel_request, is_cancelled, is_reply, read_as_promised
from unit.kit import NOW, event, expectation, failure_event, success_event

RECEIPT: JsonObject = {
    "type": "object",
    "properties": {"receipt": {"type": "string"}},
    "required": ["receipt"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "reply",
    [success_event(result={"receipt": "r"}), failure_event(), event("part.completed", receipt="r")],
    ids=lambda e: str(e.data),
)
def test_a_fitting_result_and_a_failure_are_unchanged(reply: EventEnvelope) -> None:
    assert read_as_promised(reply, violations(RECEIPT, content_of(reply.data))) is reply


@pytest.mark.parametrize("result", [{"receipt": 7}, {}, {"receipt": "r", "more": "S3CRET"}, None, "r"], ids=str)
def test_a_result_off_its_schema_is_a_failure_and_nothing_of_it_is_used(result: Json) -> None:
    came = success_event(result=result)
    data = {"request_id": "q-1", **came.data}
    read = read_as_promised(came.model_copy(update={"data": data}), violations(RECEIPT, result))
    error = read.data["error"]
    assert isinstance(error, dict) and isinstance(error["message"], str)
    assert (read.data["success"], error["code"], read.data["request_id"]) == (False, "invalid_result", "q-1")
    assert "result" not in read.data
    assert all(word in error["message"] for word in ("parts", "$", "rule", "found", "wanted"))
    assert read.model_copy(update={"data": data}) == came.model_copy(update={"data": data}), "the same event"


@pytest.mark.parametrize("kind", ["reply", "child", "client", "wait", "gate", "offer", "doubt", "join"])
def test_only_expectations_of_agents_are_met_by_a_reply(kind: str) -> None:
    came = success_event(tenant_id="acme")
    assert is_reply(expectation(kind), came) is (kind in ("reply", "child", "client"))
    assert not is_reply(expectation(kind), success_event(tenant_id="other"))
    assert not is_reply(expectation(kind), success_event(tenant_id="acme", topic="business-facts"))
    assert is_reply(expectation("reply", event_type="x", others=("part.completed",)), came)


def test_the_reply_to_a_cancelled_request_is_a_failure_under_its_key() -> None:
    request = event("part.requested", topic="action-requests")
    reply = cancel_request(request, "a mistake", NOW)
    assert (reply.type, reply.correlation_id, reply.answers) == ("part.requested.completed", request.id, request.id)
    assert reply.data["error"] == {"code": "cancelled", "message": "a mistake"}
    assert reply.id == cancel_request(request, "another reason", NOW).id


@pytest.mark.parametrize(("kind", "cancelled"), [("client", True), ("gate", False), ("wait", False)])
def test_only_an_answer_in_a_clients_expectation_is_a_cancellation(kind: str, cancelled: bool) -> None:
    answer = Answer("a-1", {}, AnswerDecision.REJECT, "ann", NOW)
    assert is_cancelled(expectation(kind, answer=answer)) is cancelled
    assert not is_cancelled(expectation(kind))
