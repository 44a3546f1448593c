"""Requests to agents, and their replies."""

from http import HTTPStatus

from pydantic import Field

from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Name,
    Nothing,
    Seconds,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made, Patience
from soorma_ai.errors import DeadlineExceeded, Held
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, JsonObject

_A_DAY = 24 * 3600.0


class Question(Form):
    """A request to whoever takes such events. After `timeout` seconds its reply is not waited for any more. `approve`
    says that whoever sends it approves it, where people have to."""

    event_type: Name
    data: JsonObject = Field(default_factory=dict)
    timeout: float = Field(_A_DAY, gt=0, le=LONGEST_WAIT_SECONDS)
    session_id: Id | None = None
    approve: bool = False


class Asked(Made):
    """The request is taken, and has no reply yet. Where it waits for an approval, `wait_id` is the question."""

    request_id: str
    wait_id: str | None = None


class OfRequest(Form):
    request_id: Id
    wait: Seconds = 0


async def ask(call: Call[Patience, Question]) -> Answer:
    """Ask an agent. With `wait`, the reply is the answer where it comes in time; else it is fetched by the request's
    id."""
    sent, wait_id = call.sent, None
    try:
        request_id = await call.client.ask(
            sent.event_type,
            sent.data,
            timeout=sent.timeout,
            idempotency_key=call.key,
            session_id=sent.session_id,
            approve=sent.approve,
        )
    except Held as held:
        request_id, wait_id = held.request_id, held.wait_id
    if call.asked.wait <= 0:
        return Answer(Asked(request_id=request_id, wait_id=wait_id), HTTPStatus.ACCEPTED)
    return await _reply(call, request_id, call.asked.wait, wait_id)


async def show_reply(call: Call[OfRequest, Nothing]) -> Answer:
    """Return the reply to a request, or 202 while there is none. Replies are kept for a day."""
    return await _reply(call, call.asked.request_id, call.asked.wait, None)


async def _reply(
    call: Call[Patience, Question] | Call[OfRequest, Nothing], request_id: str, wait: float, wait_id: str | None
) -> Answer:
    try:
        reply = await call.surroundings.wait_for(call.client.reply(request_id, timeout=wait), wait)
    except DeadlineExceeded:
        return Answer(Asked(request_id=request_id, wait_id=wait_id), HTTPStatus.ACCEPTED)
    return Answer(reply)


OPERATIONS: tuple[AnyOperation, ...] = (
    post(
        "/v1/requests",
        ask,
        Patience,
        Question,
        {HTTPStatus.OK: JsonObject, HTTPStatus.ACCEPTED: Asked},
        NOT_FOUND,
        CONFLICT,
        takes_key=True,
    ),
    get("/v1/requests/{request_id}", show_reply, OfRequest, JsonObject, NOT_FOUND, also={HTTPStatus.ACCEPTED: Asked}),
)
