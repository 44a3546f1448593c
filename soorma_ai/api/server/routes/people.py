"""People: what they are asked, and their answers."""

from http import HTTPStatus
from typing import Literal

from pydantic import Field

from soorma_ai.api.paging import make_page
from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Nothing,
    Page,
    Paged,
    get,
    post,
)
from soorma_ai.api.server.problems import problem
from soorma_ai.api.server.routes.common import Made
from soorma_ai.features.human_tasks.listing import question_page
from soorma_ai.kernel.domain.expectations import ExpectationKind, Wait
from soorma_ai.kernel.domain.people import ACCEPTED, DUPLICATE, INVALID, LATE, SUPERSEDED, AnswerDecision, AnswerOutcome
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.runtime.client.client import Client

STATUS = {
    ACCEPTED: HTTPStatus.OK,
    DUPLICATE: HTTPStatus.CONFLICT,
    LATE: HTTPStatus.GONE,
    SUPERSEDED: HTTPStatus.CONFLICT,
    INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
}


class OfWait(Form):
    wait_id: Id


class Waits(Paged):
    plan_id: Id | None = None


class Said(Form):
    """An answer. Without a `decision`, `approved` in the payload tells; `answer_id` makes saying it again the same
    answer."""

    payload: JsonObject
    decision: AnswerDecision | None = None
    note: str = Field("", max_length=2_000)
    answer_id: Id | None = None


class Outcome(Made):
    """The answer counts."""

    outcome: Literal["accepted"]
    detail: str = ""


def tell(outcome: AnswerOutcome) -> Answer:
    """Return what became of an answer: one that does not count is a problem with the outcome as its code."""
    status = STATUS[str(outcome)]
    if status is HTTPStatus.OK:
        return Answer(Outcome(outcome="accepted", detail=outcome.detail))
    return Answer(problem(status, str(outcome), outcome.detail), status)


async def list_waits(call: Call[Waits, Nothing]) -> Answer:
    """List open questions to people, the most urgent first: of all, or of a plan's tree."""
    return Answer(await _page(call.client, call.asked, call.asked.plan_id))


async def show_wait(call: Call[OfWait, Nothing]) -> Answer:
    """Return a question, also one that is closed by now."""
    return Answer(await call.client.wait(call.asked.wait_id))


async def answer_wait(call: Call[OfWait, Said]) -> Answer:
    """Answer a question. The first valid answer counts.

    The others are problems: 409 duplicate (somebody was first) or superseded (the question no longer stands), 410 late
    (the deadline has passed), 422 invalid (the question stays open).
    """
    sent = call.sent
    return tell(
        await call.client.answer(
            call.asked.wait_id, sent.payload, decision=sent.decision, note=sent.note, answer_id=sent.answer_id
        )
    )


async def list_doubts(call: Call[Paged, Nothing]) -> Answer:
    """List the questions about calls outside of which nobody knows whether they happened, the most urgent first."""
    return Answer(await _page(call.client, call.asked, kind=ExpectationKind.DOUBT))


async def _page(
    client: Client, asked: Paged, plan_id: str | None = None, kind: ExpectationKind | None = None
) -> Page[Wait]:
    beyond = Place(asked.after) if asked.after is not None else None
    found = await question_page(client.services, client.person, asked.limit, plan_id, beyond=beyond, kind=kind)
    if beyond is not None and found.begin is None:
        return make_page([], None)
    return make_page(found.waits, found.waits[-1].wait_id if found.has_more else None)


OPERATIONS: tuple[AnyOperation, ...] = (
    get("/v1/waits", list_waits, Waits, Page[Wait], NOT_FOUND),
    get("/v1/waits/{wait_id}", show_wait, OfWait, Wait, NOT_FOUND),
    post(
        "/v1/waits/{wait_id}/answer",
        answer_wait,
        OfWait,
        Said,
        {HTTPStatus.OK: Outcome},
        NOT_FOUND,
        CONFLICT,
        HTTPStatus.GONE,
    ),
    get("/v1/doubts", list_doubts, Paged, Page[Wait], NOT_FOUND),
)
