"""Other stores, as this process knows them: when each was heard last, what is on its way there, and the receipts that
are to be sent. Forgotten with the process: then a store is asked again, and asks again."""

import asyncio
from collections import deque
from datetime import datetime

from soorma_ai.core.delivery.resending import Line, confirm, hear, post, room
from soorma_ai.domain.stores import Confirmed

# Receipts beyond that are dropped, the oldest first: the other store sends again, and is told again.
MOST_RECEIPTS = 10_000


class Neighbourhood:
    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._receipts: deque[Confirmed] = deque(maxlen=MOST_RECEIPTS)
        self.to_confirm = asyncio.Event()

    def room(self, store: str, now: datetime) -> int:
        """Return how much may be sent to a store again now."""
        return room(self._line(store, now), now)

    def note_posts(self, store: str, count: int, now: datetime) -> None:
        """Note that so much was sent to a store again."""
        self._lines[store] = post(self._line(store, now), count, now)

    def note_receipt(self, store: str, count: int) -> None:
        """Note that a store has told what became of so much."""
        if line := self._lines.get(store):
            self._lines[store] = confirm(line, count)

    def hear(self, store: str, now: datetime) -> bool:
        """Note that a store was heard; tell whether it had been silent. Of one that is sent nothing nothing is kept."""
        before = self._lines.get(store)
        if before is None:
            return False
        self._lines[store] = hear(before, now)
        return before.is_silent(now)

    def owe(self, confirmed: Confirmed) -> None:
        """Keep a receipt until it is sent."""
        self._receipts.append(confirmed)
        self.to_confirm.set()

    def take_receipts(self, most: int) -> list[Confirmed]:
        """Return receipts to be sent now, which are owed no more."""
        return [self._receipts.popleft() for _ in range(min(most, len(self._receipts)))]

    def _line(self, store: str, now: datetime) -> Line:
        return self._lines.get(store) or Line(heard_at=now)
