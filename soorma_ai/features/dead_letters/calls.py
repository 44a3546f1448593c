"""Calls about dead letters. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.features.dead_letters.records import Letter
from soorma_ai.kernel.domain.parameters import Note, Position


class DeadLetterCalls(Protocol):
    """Calls of an operator about dead letters."""

    async def dead_letters(self, *, limit: int = 50) -> list[Letter]: ...

    async def dead_letter(self, letter_id: Position) -> Letter: ...

    async def redrive(self, letter_id: Position) -> bool: ...

    async def discard(self, letter_id: Position, note: Note = "") -> bool: ...
