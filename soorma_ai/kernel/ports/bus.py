"""Clock and bus."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.stores import Announcement
from soorma_ai.kernel.ports.rows import Brought, StoredEvent


class Clock(Protocol):
    """Source of time and ids; tests have a virtual one."""

    def now(self) -> datetime:
        """The moment. It may jump forward, and never goes back while the process lives."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some moment; they only grow."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after these `seconds`."""
        ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call `call` after these `seconds`; return a function to cancel it."""
        ...

    def new_id(self) -> str:
        """Return a fresh random id; the only source of ids beside derived ones."""
        ...


class Bus(Protocol):
    """Transport of events, at least once. It may double, delay and reorder them, but never drops an accepted one.

    Without a broker, the store delivers published events itself, and the bus carries earlier ones.
    """

    @property
    def is_broker(self) -> bool:
        """Tell whether it brings events to other processes: then publishing is not arriving yet."""
        ...

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        """Return when the bus has accepted all `rows`. Raise BusUnavailable, with one log line until its return, and
        with the places of the accepted ones (`taken`); and LocalProtocolError for a row impossible to carry. Some may
        be accepted then.

        A bus with detection of duplicates carries a redriven event once more.
        """
        ...

    async def subscribe(self, receive: Callable[[Sequence[Brought]], Awaitable[None]]) -> None:
        """Bring events, in batches as they come. The return of `receive` is the ack; an exception means: bring these
        again. At a broker, subscribers of one store share the events."""
        ...

    async def close(self) -> None:
        """Bring and take nothing any more."""
        ...


class Neighbours(Protocol):
    """Other stores on the same broker. Announcements may be lost; posted events are not."""

    @property
    def store_id(self) -> str:
        """Return the id of this store."""
        ...

    async def post(self, store_id: str, rows: Sequence[StoredEvent]) -> None:
        """Return when the broker has accepted all rows for that store. Raise as `Bus.publish` does."""
        ...

    async def tell(self, store_id: str, said: EventEnvelope) -> None:
        """Send an event to one store. It may be lost. Raise BusUnavailable."""
        ...

    async def announce(self, said: Announcement) -> None:
        """Send an announcement to all listening stores, this one included. Raise BusUnavailable."""
        ...

    async def listen(self, hear: Callable[[Announcement], Awaitable[None]]) -> None:
        """Pass announcements to `hear` from now on, one after the other. Raise BusUnavailable."""
        ...
