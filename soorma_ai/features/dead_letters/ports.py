"""The part of a store for dead letters."""

from datetime import datetime
from typing import Protocol

from soorma_ai.features.dead_letters.records import DeadLetterRow
from soorma_ai.kernel.ports import Place, StoreKey

FEATURE = "dead_letters"


class DeadLetters(Protocol):
    """Failed deliveries, set aside to hold up nothing else. A row with an unreadable event becomes one by itself, at
    its first read."""

    async def dead_letters(
        self, tenant_id: str | None, limit: int, *, user_id: str | None = None, beyond: Place | None = None
    ) -> list[DeadLetterRow]:
        """Dead letters, newest first; with a `user_id` those of this user. `beyond` the number of one of them, dead or
        not, those next to it."""
        ...

    async def dead_letter(self, seq: int) -> DeadLetterRow | None:
        """Return a dead letter, a redriven or discarded one too."""
        ...

    async def redrive(self, letter: DeadLetterRow) -> bool:
        """Put a letter back in line, behind its owner's deliveries in hand. False, without any change, for one no
        longer dead, or changed since it was read."""
        ...

    async def discard(self, seq: int, note: str, now: datetime) -> bool:
        """Done with, for this reason; its event is still known when it comes again. False, and nothing changes, when
        it is not dead (any more). Raises NotFound."""
        ...


LETTERS: StoreKey[DeadLetters] = StoreKey("letters", feature=FEATURE)
