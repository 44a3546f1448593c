"""Dead letters: what could not be handled, and what is done about it."""

from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from soorma_ai.domain.letters import Letter
from soorma_ai.server.operation import (
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
from soorma_ai.server.pages import page_of
from soorma_ai.server.routes.common import Made


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
    asked = call.asked
    return Answer(
        await page_of(
            lambda limit: call.client.dead_letters(limit=limit),
            lambda letter: str(letter.letter_id),
            asked.after,
            asked.limit,
        )
    )


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
