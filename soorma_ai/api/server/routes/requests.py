"""Requests to agents, and their replies."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from soorma_ai.api.answers import OpenRequest
from soorma_ai.api.operation import Answer, operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import DeadlineExceeded, Held, IllegalTransition, NotFound
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.parameters import Fields, Id, Name, Patience
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, JsonObject
from soorma_ai.kernel.runtime.client.client import REQUESTS

HANDLERS = CallTable()
_A_DAY = 24 * 3600.0
_ANSWERS: Mapping[int, object] = {HTTPStatus.OK: JsonObject, HTTPStatus.ACCEPTED: OpenRequest}


class RequestFields(Fields, frozen=True):
    """Fields of a request."""

    event_type: Name
    data: JsonObject | None = None
    timeout: Annotated[float, Field(gt=0, le=LONGEST_WAIT_SECONDS)] = _A_DAY
    session_id: Id | None = None
    approve: bool = False


@HANDLERS("POST /requests", REQUESTS["ask"], "ask", answers=_ANSWERS, raises=(NotFound, IllegalTransition))
async def ask(call: Call, fields: RequestFields, wait: Patience = 0, idempotency_key: str | None = None) -> Answer:
    """Ask an agent. With `wait`, a reply in this time is the answer; else it is fetched by the request's id.

    After `timeout` seconds its reply is no longer waited for. `approve`: the sender approves the request, if it needs
    an approval.
    """
    wait_id = None
    try:
        request_id = await call.client.ask(
            fields.event_type,
            fields.data or {},
            timeout=fields.timeout,
            idempotency_key=idempotency_key,
            session_id=fields.session_id,
            approve=fields.approve,
        )
    except Held as held:
        request_id, wait_id = held.request_id, held.wait_id
    if wait <= 0:
        return Answer(OpenRequest(request_id=request_id, wait_id=wait_id), HTTPStatus.ACCEPTED)
    return await _reply(call, request_id, wait, wait_id)


@HANDLERS("GET /requests/{request_id}", REQUESTS["reply"], "show_reply", answers=_ANSWERS)
async def show_reply(call: Call, request_id: Id, wait: Patience = 0) -> Answer:
    """Return the reply to a request, or 202 while there is none. Replies are kept for a day."""
    return await _reply(call, request_id, wait)


async def _reply(call: Call, request_id: str, wait: float, wait_id: str | None = None) -> Answer:
    try:
        return Answer(await call.surroundings.wait_for(call.client.reply(request_id, timeout=wait), wait))
    except DeadlineExceeded:
        return Answer(OpenRequest(request_id=request_id, wait_id=wait_id), HTTPStatus.ACCEPTED)


OPERATIONS = operations(HANDLERS, "requests")
