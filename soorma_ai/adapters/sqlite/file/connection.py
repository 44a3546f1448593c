"""The connection that writes, with what its transaction leads to beside rows."""

import sqlite3
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from soorma_ai.ports import Delivery, Hands, StoredEvent

BUSY_MS = 5000
# Parts of prompts that are known to be stored, and the seconds after which one that is in use is written again.
MOST_PARTS = 4_096
PARTS_IN_USE = 24 * 3600.0


class Connection(sqlite3.Connection):
    """`hands` are those of the agents of this process, each leased for `lease`; without them, what is published stands
    in the outbox.

    What still has to arrive in this transaction: `published` are new events, `brought` those that a bus has brought,
    `untaken` requests that nobody took so far. `taken` is what it leased to a free hand; `queued` are agents for whom
    there is something to claim. `is_leaving`: something stands in the outbox that the relay was not told of.
    `is_careful`: one operation, or one event, may be undone by itself. `parts` are those of prompts that are known to
    be stored, by this transaction or an earlier one, with when they were written.
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
        self.parts: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    def has_part(self, part: tuple[str, str, str], at: float) -> bool:
        """Tell whether a part need not be written at this moment; if it must, it counts as stored from now on."""
        written = self.parts.pop(part, None)
        is_stored = written is not None and (bool(part[0]) or at - written < PARTS_IN_USE)
        self.parts[part] = written if is_stored and written is not None else at
        if len(self.parts) > MOST_PARTS:
            self.parts.popitem(last=False)
        return is_stored

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
