"""Questions to people, and their answers."""

from http import HTTPStatus

from soorma_ai.api.answers import Outcome
from soorma_ai.api.operation import Answer, operations
from soorma_ai.api.paging import Page, make_page
from soorma_ai.api.server.app_state import Call
from soorma_ai.api.server.problems import problem
from soorma_ai.errors import IllegalTransition, NotFound
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.expectations import ExpectationKind, Wait
from soorma_ai.kernel.domain.parameters import Id, Limit, Note
from soorma_ai.kernel.domain.people import ACCEPTED, DUPLICATE, INVALID, LATE, SUPERSEDED, AnswerDecision, AnswerOutcome
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.runtime.client.client import QUESTIONS
from soorma_ai.kernel.runtime.client.questions import question_page

HANDLERS = CallTable()
STATUS = {
    ACCEPTED: HTTPStatus.OK,
    DUPLICATE: HTTPStatus.CONFLICT,
    LATE: HTTPStatus.GONE,
    SUPERSEDED: HTTPStatus.CONFLICT,
    INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
}


def tell(outcome: AnswerOutcome) -> Answer:
    """Return the outcome of an answer: an invalid one is a problem with the outcome as its code."""
    status = STATUS[str(outcome)]
    if status is HTTPStatus.OK:
        return Answer(Outcome("accepted", outcome.detail))
    return Answer(problem(status, str(outcome), outcome.detail), status)


@HANDLERS(
    "POST /waits/{wait_id}/answer",
    QUESTIONS["answer"],
    "answer_wait",
    answers={HTTPStatus.OK: Outcome},
    raises=(IllegalTransition, HTTPStatus.GONE),
)
async def answer_wait(
    call: Call,
    wait_id: Id,
    payload: JsonObject,
    decision: AnswerDecision | None = None,
    note: Note = "",
    answer_id: Id | None = None,
) -> Answer:
    """Answer a question. The first valid answer counts.

    Without a `decision`, `approved` in the payload tells; `answer_id` makes a repetition the same answer. Other answers
    are problems: 409 duplicate (another person was first) or superseded (the question no longer stands), 410 late (the
    deadline has passed), 422 invalid (the question stays open).
    """
    return tell(await call.client.answer(wait_id, payload, decision=decision, note=note, answer_id=answer_id))


@HANDLERS("GET /doubts", QUESTIONS["waits"], "list_doubts", answers={HTTPStatus.OK: Page[Wait]}, raises=(NotFound,))
async def list_doubts(call: Call, after: Id | None = None, limit: Limit = 50) -> Answer:
    """List the questions about outside calls of unknown outcome, the most urgent first."""
    return Answer(await list_waits(call, after, limit, kind=ExpectationKind.DOUBT))


async def list_waits(
    call: Call, after: str | None, limit: int, plan_id: str | None = None, kind: ExpectationKind | None = None
) -> Page[Wait]:
    """Return a page of open questions."""
    client, beyond = call.client, Place(after) if after is not None else None
    found = await question_page(client.services, client.person, limit, plan_id, beyond=beyond, kind=kind)
    if beyond is not None and found.begin is None:
        return make_page([], None)
    return make_page(found.waits, found.waits[-1].wait_id if found.has_more else None)


OPERATIONS = (
    *operations(QUESTIONS, "people", lambda call: call.client, waits=list_waits),
    *operations(HANDLERS, "people"),
)
