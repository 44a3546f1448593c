"""The bus of one process: events that are published go to all subscribers, and that is all."""

from collections.abc import Awaitable, Callable, Sequence

from soorma_ai.errors import BusUnavailable
from soorma_ai.kernel.ports import Brought, StoredEvent

Receive = Callable[[Sequence[Brought]], Awaitable[None]]


class LocalBus:
    """Holds nothing: `publish` returns when every subscriber has acknowledged, and raises when one could not."""

    is_broker = False

    def __init__(self) -> None:
        self._subscribers: list[Receive] = []
        self._closed = False

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        if self._closed or not self._subscribers:
            raise BusUnavailable("nobody listens on the local bus; the events stay in the outbox")
        for receive in self._subscribers:
            await receive([Brought(row.event) for row in rows])

    async def subscribe(self, receive: Receive) -> None:
        self._subscribers.append(receive)

    async def close(self) -> None:
        self._closed = True
        self._subscribers.clear()
