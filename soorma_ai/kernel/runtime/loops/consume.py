"""Consumer of an agent's deliveries: it takes them from the store and runs the flow over each, up to `max_in_flight` at
once.

Poison candidates, deliveries in hand at several ends of the process, are handled one at a time for all agents, so the
cause of an end is counted alone.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import timedelta
from math import inf
from typing import Any

from msgspec.structs import replace

from soorma_ai.errors import TransientError
from soorma_ai.kernel.domain.expectations import SUSPECTS
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.runtime.flow import Route, handle
from soorma_ai.kernel.runtime.handling.execute import settle_alone
from soorma_ai.kernel.runtime.handling.handler_task import LEASE, HandlerTask, ShieldedTask
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import until

PAUSE_AFTER_FAULT = 0.5
SHORTEST_SLEEP = 0.001


async def finish_claim(
    claiming: Coroutine[Any, Any, list[Delivery]], services: Services, is_over: Callable[[], bool] = lambda: False
) -> list[Delivery]:
    """Await a claim; give back its deliveries after a cancellation during its write, or at the end of the loop."""
    claim = ShieldedTask(claiming, "claim")
    try:
        taken = await asyncio.shield(claim)
    except asyncio.CancelledError:
        with suppress(TransientError):  # it may not take the place of the cancellation
            await services.store.queue.release(await claim)
        raise
    if is_over():
        await asyncio.shield(services.store.queue.release(taken))
        return []
    return taken


class Consumer:
    """Handles the deliveries of one agent. `limit` is the longest run of a handler.

    A hand is in use, reserved for a delivery on its way to the disk, or free. While nothing claimable is known to wait,
    an arriving delivery can be claimed at once.
    """

    def __init__(
        self, agent: str, routes: Sequence[Route], services: Services, max_in_flight: int, limit: timedelta
    ) -> None:
        self.agent = agent
        self.in_hand: dict[ShieldedTask[None], HandlerTask] = {}
        self._routes = tuple(routes)
        self._services = services
        self._most = max_in_flight
        self._limit = limit
        self._reserved = 0
        self._claiming = 0
        self._has_queue = True
        self.is_draining = False

    async def run(self) -> None:
        woken = self._services.signals.agent(self.agent)
        while not self.is_draining:
            for delivery in await self._take():
                self.start(delivery)
            if not self._has_queue or self._free <= 0:
                await until(woken, self._services.clock, None)
                self._has_queue = True

    async def keep_limits(self) -> None:
        """End handlers after their time. None begun during its sleep can be due before its end."""
        clock = self._services.clock
        while True:
            now = clock.monotonic()
            for hand in list(self.in_hand.values()):
                if hand.due <= now:
                    hand.time_out()
            soonest = min((hand.due for hand in self.in_hand.values()), default=inf)
            await clock.sleep(max(min(soonest - now, self._limit.total_seconds()), SHORTEST_SLEEP))

    @property
    def _free(self) -> int:
        return self._most - len(self.in_hand) - self._reserved - self._claiming

    def reserve(self, *, freed: bool) -> bool:
        """Reserve a hand for a delivery about to be stored as claimed, unless something older waits for one."""
        if self._has_queue or self.is_draining or self._free + freed <= 0:
            return False
        self._reserved += 1
        return True

    def note_queued(self) -> None:
        """Note a delivery stored for a claim, which goes before all later ones."""
        self._has_queue = True

    def note_claim(self, found: int) -> None:
        """Note that the claim in flight has found so many: hands for more than that are free. Where it has found none,
        nothing older waits."""
        if self._claiming:
            self._has_queue = found > 0
            self._claiming = found
            self._services.signals.agent(self.agent).clear()

    def give_back(self) -> None:
        self._reserved -= 1
        self._look_again()

    def take_over(self, delivery: Delivery) -> None:
        """Take a delivery that a hand was reserved for."""
        self._reserved -= 1
        self.start(delivery)
        self._look_again()

    def start(self, delivery: Delivery) -> asyncio.Task[None]:
        hand = HandlerTask(delivery, self._limit, self._services.clock)
        task = hand.give(self._handle(hand))
        self.in_hand[task] = hand
        task.add_done_callback(self._forget)
        return task

    def interrupt(self, is_meant: Callable[[Delivery], bool]) -> None:
        """End these handlings where they are. Nothing of them happened; if still ours, they are handed over again."""
        for hand in list(self.in_hand.values()):
            if is_meant(hand.delivery):
                hand.interrupt()

    async def drain(self) -> None:
        """Take nothing more, and finish the deliveries in hand, or on their way to the disk for a hand."""
        woken = self._services.signals.agent(self.agent)
        self.is_draining = self._has_queue = True
        woken.set()
        while self.in_hand or self._reserved:
            if self.in_hand:
                await asyncio.wait(list(self.in_hand))
            else:
                woken.clear()
                await woken.wait()

    async def _take(self) -> list[Delivery]:
        room = self._free
        if room <= 0 or not self._has_queue:
            return []
        services = self._services
        held = [hand.delivery.seq for hand in self.in_hand.values()]
        self._claiming, self._has_queue = room, False
        services.signals.agent(self.agent).clear()
        try:
            claiming = services.store.queue.claim(self.agent, services.clock.now(), LEASE, room, held)
            taken = await finish_claim(claiming, services, lambda: self.is_draining)
            self._has_queue |= bool(taken)
            return taken
        except TransientError as error:
            warn("claim_failed", agent=self.agent, reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            self._has_queue = True
            services.signals.agent(self.agent).set()
            return []
        except BaseException:
            self._has_queue = True  # whoever runs this again looks first
            raise
        finally:
            self._claiming = 0

    async def _handle(self, hand: HandlerTask) -> None:
        hand.begin()
        try:
            await handle(hand, self._routes, self._services)
        except TransientError as error:
            # The claim stands until its lease ends; then the delivery is handed over again.
            warn("commit_failed", agent=self.agent, reason=error)
        except asyncio.CancelledError:
            hand.end()
            await self._give_back(hand)
            raise
        finally:
            hand.end()
        self._free_hand(hand)

    async def _give_back(self, hand: HandlerTask) -> None:
        """Release a claim, so that an interruption is no attempt and, when the process ends with it, no crash."""
        try:
            await self._services.store.queue.release([replace(hand.delivery, hold=hand.bill.hold)])
            await settle_alone(self._services, hand.bill, hand.delivery)
        except TransientError as error:
            warn("release_failed", agent=self.agent, reason=error)

    def _look_again(self) -> None:
        """Look for a waiting delivery, if there may be any, for a free hand."""
        if self._has_queue:
            self._services.signals.agent(self.agent).set()

    def _free_hand(self, hand: HandlerTask) -> None:
        """Free the hand of a delivery at its end, without one more turn of the loop."""
        if (task := hand.task) is not None:
            task.remove_done_callback(self._forget)
            self.in_hand.pop(task, None)
        self._look_again()

    def _forget(self, task: ShieldedTask[None]) -> None:
        """Free the hand of a task that broke, or was cancelled."""
        self.in_hand.pop(task, None)
        self._look_again()
        broke = None if task.cancelled() else task.exception()
        if broke is not None:
            warn("handling_broke", bug=broke if isinstance(broke, Exception) else None, agent=self.agent, reason=broke)
            if not isinstance(broke, Exception):
                self._services.signals.broke(broke)


async def handle_suspects(services: Services, consumer_of: Callable[[str], Consumer]) -> None:
    woken = services.signals.agent(SUSPECTS)
    while True:
        try:
            taken = await finish_claim(_claim_poison_candidate(services), services)
        except TransientError as error:
            warn("claim_failed", agent="suspects", reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        if not taken:
            await until(woken, services.clock, None)
        for suspect in taken:
            warn("suspect_taken", agent=suspect.agent, event_id=suspect.event.id, attempt=suspect.attempt)
            consumer = consumer_of(suspect.agent)
            if consumer.is_draining:
                await asyncio.shield(services.store.queue.release([suspect]))
                return
            # It may be interrupted, which is no reason to end here.
            await asyncio.wait([consumer.start(suspect)])


async def _claim_poison_candidate(services: Services) -> list[Delivery]:
    found = await services.store.queue.claim_poison_candidate(services.presence.names, services.clock.now(), LEASE)
    return [found] if found else []
