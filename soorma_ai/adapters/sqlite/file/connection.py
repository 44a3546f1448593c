"""The connection that writes, with what its transaction leads to beside rows."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from soorma_ai.ports import Delivery, Hands, StoredEvent

BUSY_MS = 5000


class Connection(sqlite3.Connection):
    """`hands` are those of the agents of this process, each leased for `lease`; without them, what is published stands
    in the outbox.

    What still has to arrive in this transaction: `published` are new events, `brought` those that a bus has brought,
    `untaken` requests that nobody took so far. `taken` is what it leased to a free hand; `queued` are agents for whom
    there is something to claim. `is_leaving`: something stands in the outbox that the relay was not told of.
    `is_careful`: one operation, or one event, may be undone by itself.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.hands: Hands | None = None
        self.lease = timedelta(0)
        self.published: list[StoredEvent] = []
        self.brought: list[StoredEvent] = []
        self.untaken: list[StoredEvent] = []
        self.taken: list[Delivery] = []
        self._reserved: list[str] = []
        self.queued: set[str] = set()
        self.is_leaving = False
        self.is_careful = False

    def take_hand(self, agent: str, *, freed: bool = False) -> bool:
        """Reserve a free hand, which the loop's thread alone may do."""
        if self.hands is None or self.is_careful or not self.hands.take(agent, freed=freed):
            return False
        self._reserved.append(agent)
        return True

    def give_back_hand(self, agent: str) -> None:
        if self.hands is not None:
            self._reserved.remove(agent)
            self.hands.give_back(agent)

    def take_what_was_taken(self) -> tuple[Delivery, ...]:
        taken, self.taken, self._reserved = tuple(self.taken), [], []
        return taken

    def take_queued(self) -> frozenset[str]:
        queued, self.queued = frozenset(self.queued), set()
        return queued

    def take_leaving(self) -> bool:
        is_leaving, self.is_leaving = self.is_leaving, False
        return is_leaving

    def let_go(self) -> None:
        """Forget what an operation that failed has published and leased."""
        self.published.clear()
        self.brought.clear()
        self.untaken.clear()
        self.queued.clear()
        self.taken.clear()
        while self._reserved:
            self.give_back_hand(self._reserved[-1])

    @contextmanager
    def careful(self) -> Generator[None]:
        """Be patient with whoever holds the file, too, as only a thread can be that nobody waits for."""
        self.is_careful = True
        self.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        try:
            yield
        finally:
            self.execute("PRAGMA busy_timeout = 0")
            self.is_careful = False
