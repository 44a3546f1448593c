"""Handlers that must not run twice, begun and without a known end: the question to a person, and the meaning of its
answer."""

from datetime import timedelta

from soorma_ai.kernel.domain.doubts import Done, Failed, Finding, NotDone, StillUnknown
from soorma_ai.kernel.domain.effects import DeadLetter, Effect
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision, Ask
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact, derived_id
from soorma_ai.kernel.rules.delivery.disposition import Disposal
from soorma_ai.kernel.rules.waits.opening import ExpectationSpec, Moment, Waiter, open_expectation

ANSWERED_WITHIN = timedelta(days=7)
REASON = "in_doubt"


def doubt_id(agent: str, request_id: str, begun_under: int) -> str:
    """Return the id of the question, one for each beginning of the handler."""
    return derived_id("doubt", agent, request_id, str(begun_under))


def ask_what_happened(
    expectation_id: str, owner: str, reason: str, result_schema: JsonObject, moment: Moment
) -> tuple[Effect, ...]:
    request = moment.cause
    until = request.deadline or moment.now + ANSWERED_WITHIN
    question = ExpectationSpec(
        expectation_id,
        ExpectationKind.DOUBT,
        request.type,
        topic=EventTopic.NOTIFICATION_EVENTS,
        ask=Ask(
            reason=REASON,
            message=f"Was {request.type} done? {moment.agent} began it and nobody saw it end: {reason}. "
            f"It was asked for {clip(compact(request.data), 500)}.",
            response_schema=_answer_schema(result_schema),
            allowed_decisions=(AnswerDecision.RESPOND,),
        ),
    )
    return open_expectation(Waiter(moment.agent, request.lineage, until, task_id=owner), question, moment)


def finding_of(question: Expectation) -> Finding:
    """Return the finding of the answer; a question closed without one stays without."""
    if question.status is ExpectationStatus.OPEN:
        return StillUnknown("the question about it is still open")
    if question.answer is None:
        return Failed(f"whether {question.subject} was done is not known, and nobody could say so in time")
    said = question.answer.payload
    match said.get("outcome"):
        case "done":
            return Done(said.get("result"))
        case "not_done":
            return NotDone()
        case _:
            return Failed(str(said.get("message") or f"{question.subject} did not work, as {question.answer.by} says"))


def dispose_in_vain(question: Expectation, reason: str) -> Disposal:
    """Dispose of an answered delivery without a way on: the requester gets both as a failure."""
    match finding_of(question):
        case Done():
            word = "it was done, somebody said"
        case NotDone():
            word = "it was not done, somebody said"
        case Failed(message) | StillUnknown(message):
            word = message
    told = f"{word}; and it could not be carried on: {reason}"
    return Disposal(DeadLetter(f"in_doubt: {told}"), Failure("in_doubt", told))


def _answer_schema(result_schema: JsonObject) -> JsonObject:
    def one(outcome: str, more: JsonObject, *required: str) -> JsonObject:
        properties: JsonObject = {"outcome": {"const": outcome}, **more}
        needed: Json = ["outcome", *required]
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}

    failed = one("failed", {"message": {"type": "string"}})
    return {"anyOf": [one("done", {"result": result_schema}, "result"), one("not_done", {}), failed]}
