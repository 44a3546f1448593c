"""Calls about dead letters over HTTP. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import Page, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.dead_letters.records import Letter
from soorma_ai.kernel.domain.parameters import Note, Position


class AsyncDeadLetters:
    """Calls of an operator about dead letters."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def dead_letters(self, *, limit: int = 50) -> list[Letter]:
        """Return dead letters, the newest first: failed deliveries with an open decision."""
        return await self._caller.list(Page[Letter], limit, "dead-letters")

    async def dead_letter(self, letter_id: Position) -> Letter:
        """Return a dead letter, even a redriven or discarded one. Raise NotFound."""
        return await self._caller.read(get("dead-letters", str(letter_id)), Letter)

    async def redrive(self, letter_id: Position) -> bool:
        """Deliver it again, as if for the first time but with the same `idempotency_key`. False for a letter no longer
        dead. Raise NotFound, and LocalProtocolError for a letter of an ended plan or with an unreadable event.

        The requester got the failure at the letter's death. A plan past it does not take a second reply; `request` with
        the same `idempotency_key` finds the success, once there is one."""
        return await self._caller.read_key(post("dead-letters", str(letter_id), "redrive", body={}), "redriven", bool)

    async def discard(self, letter_id: Position, note: Note = "") -> bool:
        """Discard it for good. False for a letter no longer dead. Raise NotFound."""
        return await self._caller.read_key(
            post("dead-letters", str(letter_id), "discard", body={"note": note}), "discarded", bool
        )


BlockingDeadLettersKind = TypeVar("BlockingDeadLettersKind", bound=AsyncDeadLetters, covariant=True)


class BlockingDeadLetters(Blocking[BlockingDeadLettersKind]):
    """Calls of an operator about dead letters."""

    dead_letters = blocking(AsyncDeadLetters.dead_letters)
    dead_letter = blocking(AsyncDeadLetters.dead_letter)
    redrive = blocking(AsyncDeadLetters.redrive)
    discard = blocking(AsyncDeadLetters.discard)
