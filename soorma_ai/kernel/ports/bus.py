"""Time, and what carries events."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.stores import Announcement
from soorma_ai.kernel.ports.rows import Brought, StoredEvent


class Clock(Protocol):
    """The time by which everything here goes; tests have one that they move."""

    def now(self) -> datetime:
        """The moment. It may jump forward, and never goes back while the process lives."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some moment, which only grow."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return so many seconds later."""
        ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call it so many seconds later; return what forgets it."""
        ...

    def new_id(self) -> str:
        """A fresh random id; the only source of ids that are not derived."""
        ...


class Bus(Protocol):
    """Carries, at least once. It may drop nothing that it took, and may double, delay and reorder.

    Where it is no broker, the store delivers what is published by itself, and it carries what was sent before.
    """

    @property
    def is_broker(self) -> bool:
        """Tell whether it brings events to other processes, so that publishing is not arriving yet."""
        ...

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        """Return when the bus has taken them all. Raise BusUnavailable, after telling the log, once until it is back,
        with the places of those that it took (`taken`); and LocalProtocolError where one is among them that it can
        never carry. Some may have been taken then.

        A bus that knows what is sent twice carries what was redriven since once more."""
        ...

    async def subscribe(self, receive: Callable[[Sequence[Brought]], Awaitable[None]]) -> None:
        """Bring events, as many at a time as there are. `receive` returning is the ack; raising means: bring these
        again. Where it is a broker, subscribers of one store share what comes."""
        ...

    async def close(self) -> None:
        """Bring and take nothing any more."""
        ...


class Neighbours(Protocol):
    """Other stores on the same broker. What is said to all may be lost; what is posted to one is not."""

    @property
    def store_id(self) -> str:
        """Return the id of this store."""
        ...

    async def post(self, store_id: str, rows: Sequence[StoredEvent]) -> None:
        """Return when the broker has taken them all for that store. Raise as `Bus.publish` does."""
        ...

    async def tell(self, store_id: str, said: EventEnvelope) -> None:
        """Send an event to one store. It may be lost. Raise BusUnavailable."""
        ...

    async def announce(self, said: Announcement) -> None:
        """Tell all stores that listen now, this one too. Raise BusUnavailable."""
        ...

    async def listen(self, hear: Callable[[Announcement], Awaitable[None]]) -> None:
        """Let `hear` have what is announced from now on, one after the other. Raise BusUnavailable."""
        ...
