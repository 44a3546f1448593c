"""Take an agent's deliveries from the store and run the flow over each, up to `max_in_flight` at once."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from soorma_ai.errors import TransientError
from soorma_ai.ports import Delivery
from soorma_ai.runtime.context import Services
from soorma_ai.runtime.flow import Route, handle
from soorma_ai.runtime.logs import warn
from soorma_ai.runtime.signals import until

LEASE = timedelta(seconds=30)
PAUSE_AFTER_FAULT = 0.5


class Consumer:
    def __init__(self, agent: str, routes: Sequence[Route], services: Services, max_in_flight: int) -> None:
        self.agent = agent
        self.in_hand: dict[asyncio.Task[None], Delivery] = {}
        self._routes = routes
        self._services = services
        self._most = max_in_flight
        self._draining = False

    async def run(self) -> None:
        woken = self._services.signals.agent(self.agent)
        while not self._draining:
            taken = await self._take()
            for delivery in taken:
                task = asyncio.create_task(self._handle(delivery), name=f"{self.agent}:{delivery.event.type}")
                self.in_hand[task] = delivery
                task.add_done_callback(self._done)
            if len(taken) == 0 or len(self.in_hand) >= self._most:
                await until(woken, self._services.clock, None)

    async def drain(self) -> None:
        """Take nothing more, and finish what is in hand."""
        self._draining = True
        self._services.signals.agent(self.agent).set()
        if self.in_hand:
            await asyncio.wait(list(self.in_hand))

    async def _take(self) -> list[Delivery]:
        room = self._most - len(self.in_hand)
        if room <= 0:
            return []
        services = self._services
        try:
            return await services.store.claim(self.agent, services.clock.now(), LEASE, room)
        except TransientError as error:
            warn("claim_failed", agent=self.agent, reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            services.signals.agent(self.agent).set()
            return []

    async def _handle(self, delivery: Delivery) -> None:
        try:
            await handle(delivery, self._routes, self._services)
        except TransientError as error:
            # The claim stands until its lease ends; then the delivery is handed over again.
            warn("commit_failed", agent=self.agent, reason=error)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.in_hand.pop(task, None)
        self._services.signals.agent(self.agent).set()
        broke = None if task.cancelled() else task.exception()
        if broke is not None:
            warn("handling_broke", bug=broke if isinstance(broke, Exception) else None, agent=self.agent, reason=broke)
            if not isinstance(broke, Exception):
                self._services.signals.broke(broke)
