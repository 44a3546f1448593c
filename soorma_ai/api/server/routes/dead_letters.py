"""Dead letters: what could not be handled, and what is done about it."""

from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from soorma_ai.api.paging import make_page
from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Nothing,
    Page,
    Paged,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.runtime.client.dead_letters import letter_page


class OfLetter(Form):
    letter_id: Annotated[int, Field(ge=0, le=2**62)]


class Note(Form):
    note: str = Field("", max_length=2_000)


class Redriven(Made):
    """`redriven` is false for what is no dead letter any more."""

    redriven: bool


class Discarded(Made):
    """`discarded` is false for what is no dead letter any more."""

    discarded: bool


async def list_letters(call: Call[Paged, Nothing]) -> Answer:
    """List what could not be handled and waits for somebody to decide about it, the newest first."""
    client, asked = call.client, call.asked
    beyond = _place(asked.after) if asked.after is not None else None
    found = await letter_page(client.services, client.person, asked.limit, beyond)
    return Answer(make_page(found.letters, str(found.letters[-1].letter_id) if found.older else None))


def _place(after: str) -> Place:
    """Return the place of a letter. Raise NotFound for what is no number of one."""
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise NotFound(f"after={after[:40]!r} is no number of a dead letter; begin anew without it")
    return Place(after)


async def show_letter(call: Call[OfLetter, Nothing]) -> Answer:
    """Return a dead letter, also one that is redriven or discarded by now."""
    return Answer(await call.client.dead_letter(call.asked.letter_id))


async def redrive_letter(call: Call[OfLetter, Nothing]) -> Answer:
    """Deliver it again, as if for the first time."""
    return Answer(Redriven(redriven=await call.client.redrive(call.asked.letter_id)))


async def discard_letter(call: Call[OfLetter, Note]) -> Answer:
    """Be done with it, for good."""
    return Answer(Discarded(discarded=await call.client.discard(call.asked.letter_id, call.sent.note)))


_LETTER = "/v1/dead-letters/{letter_id}"

OPERATIONS: tuple[AnyOperation, ...] = (
    get("/v1/dead-letters", list_letters, Paged, Page[Letter], NOT_FOUND),
    get(_LETTER, show_letter, OfLetter, Letter, NOT_FOUND),
    post(f"{_LETTER}/redrive", redrive_letter, OfLetter, Nothing, {HTTPStatus.OK: Redriven}, NOT_FOUND, CONFLICT),
    post(f"{_LETTER}/discard", discard_letter, OfLetter, Note, {HTTPStatus.OK: Discarded}, NOT_FOUND, CONFLICT),
)
