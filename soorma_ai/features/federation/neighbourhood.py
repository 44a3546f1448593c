"""Other stores, as this process knows them: when each was heard last, how many posts are under way, and the receipts
still to be sent. All of it is forgotten with the process, since both sides send again."""

import asyncio
from collections import deque
from datetime import datetime

from soorma_ai.features.federation.resending import PeerState, confirm, hear, post, room
from soorma_ai.kernel.domain.stores import Confirmation

# Receipts beyond that are dropped, the oldest first, since the other store sends its events again.
MOST_RECEIPTS = 10_000


class Neighbourhood:
    def __init__(self) -> None:
        self._lines: dict[str, PeerState] = {}
        self._receipts: deque[Confirmation] = deque(maxlen=MOST_RECEIPTS)
        self.to_confirm = asyncio.Event()

    def room(self, store: str, now: datetime) -> int:
        """Return the number of events that may be sent to a store again now."""
        return room(self._line(store, now), now)

    def note_posts(self, store: str, count: int, now: datetime) -> None:
        """Note the number of events that were sent to a store again."""
        self._lines[store] = post(self._line(store, now), count, now)

    def note_receipt(self, store: str, count: int) -> None:
        """Note the number of events with a receipt of a store."""
        if line := self._lines.get(store):
            self._lines[store] = confirm(line, count)

    def hear(self, store: str, now: datetime) -> bool:
        """Note that a store was heard, if anything was sent to it again; tell whether it had been silent."""
        before = self._lines.get(store)
        if before is None:
            return False
        self._lines[store] = hear(before, now)
        return before.is_silent(now)

    def owe(self, confirmed: Confirmation) -> None:
        """Keep a receipt until it is sent."""
        self._receipts.append(confirmed)
        self.to_confirm.set()

    def take_receipts(self, most: int) -> list[Confirmation]:
        """Remove and return receipts, to be sent now."""
        return [self._receipts.popleft() for _ in range(min(most, len(self._receipts)))]

    def _line(self, store: str, now: datetime) -> PeerState:
        return self._lines.get(store) or PeerState(heard_at=now)
