"""Kit of the contract tests of buses: events to carry, a relay's patience, and a receiver."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from nats_server import NatsServer

from soorma_ai.adapters.nats.bus import NatsBus
from soorma_ai.errors import BusUnavailable, TransientError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import Brought, Bus, StoredEvent
from soorma_ai.settings import hide_password, nats_url

PATIENCE = 20.0


class Receiver:
    """Takes events, and wakes waiting tests. It raises the error that `refuse` returns for a batch. Receivers with one
    `news` wake the same tests."""

    def __init__(
        self,
        refuse: Callable[[Sequence[EventEnvelope]], Exception | None] = lambda events: None,
        news: asyncio.Event | None = None,
    ) -> None:
        self.came: list[EventEnvelope] = []
        self.calls = 0
        self.own = set[str]()
        self._refuse = refuse
        self._news = news or asyncio.Event()

    async def __call__(self, brought: Sequence[Brought]) -> None:
        self.calls += 1
        events = [one.event for one in brought]
        fault = self._refuse(events)
        self._news.set()
        if fault is not None:
            raise fault
        self.came += events
        self.own |= {one.event.id for one in brought if one.is_own}

    @property
    def counted(self) -> Counter[str]:
        return Counter(event.id for event in self.came)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await self._news.wait()
                self._news.clear()

    async def has(self, *ids: str) -> None:
        """Return when these have come."""
        await self.until(lambda: set(ids) <= set(self.counted))


def rows(*events: EventEnvelope, redriven: int = 0) -> list[StoredEvent]:
    """Return events as they stand in an outbox, by their places from 0."""
    return [StoredEvent(place, event, redriven) for place, event in enumerate(events)]


async def send(bus: Bus, *events: EventEnvelope) -> None:
    """Send as the relay does: it keeps untaken events."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await bus.publish(rows(*events))
            except TransientError:
                await asyncio.sleep(0.01)
            else:
                return


@dataclass(frozen=True)
class Broker:
    """A namespace of a NATS server, and buses of stores in it."""

    server: NatsServer
    url: str
    buses: list[NatsBus] = field(default_factory=list[NatsBus])

    def bus(self, store_id: str = "one") -> NatsBus:
        found = nats_url(self.url)
        assert found is not None
        return NatsBus(found.servers, found.namespace, hide_password(self.url), store_id)

    async def opened(self, store_id: str = "one") -> NatsBus:
        bus = self.bus(store_id)
        await bus.open()
        self.buses.append(bus)
        return bus

    async def close(self) -> None:
        """Close the buses that a failed test has left open: the task of an open one ends by no cancellation."""
        for bus in self.buses:
            with suppress(BusUnavailable):
                await bus.close()
