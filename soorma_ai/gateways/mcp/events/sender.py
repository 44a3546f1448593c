"""Sender of subscribed events: reads the log for each subscription, and posts its events in order."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from msgspec.structs import replace

from soorma_ai.errors import ConfigError, NotFound, TransientError
from soorma_ai.features.event_subscriptions.ports import SUBSCRIPTIONS, EventSubscriptions
from soorma_ai.features.event_subscriptions.records import ClaimedSubscription, EventSubscription
from soorma_ai.features.event_subscriptions.rules import note_failure, note_receipt
from soorma_ai.gateways.mcp.events.log import Batch, Selection, read_events
from soorma_ai.gateways.mcp.events.receivers import MOST_BYTES, Receivers, body_of
from soorma_ai.gateways.webhooks.outgoing import PAUSES
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import until

LOOK_SECONDS = 1.0
IDLE_SECONDS = 5.0
LEASE = timedelta(seconds=60)
MOST_AT_ONCE = 1_000
_BATCH = 20


class EventSender:
    """Sender of one gateway. Each post has its own task, so a slow receiver delays no other."""

    def __init__(self, gateway: str, receivers: Receivers) -> None:
        self._gateway = gateway
        self._receivers = receivers
        self._woken = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # Places without a selected event before them, by subscription and by the state for which they hold.
        self._looked: dict[str, tuple[EventSubscription, int]] = {}

    def wake(self) -> None:
        """Look for new subscriptions now."""
        self._woken.set()

    async def run(self, services: Services) -> None:
        """Post the events of the gateway's subscriptions, until cancelled."""
        subscriptions = services.store.find(SUBSCRIPTIONS)
        if subscriptions is None:
            return
        pause = IDLE_SECONDS
        try:
            while True:
                try:
                    pause = LOOK_SECONDS if await self._look(services, subscriptions) else IDLE_SECONDS
                except TransientError as error:
                    warn("subscriptions_not_found", reason=error)
                except Exception as error:
                    warn("subscriptions_broke", bug=error)
                await until(self._woken, services.clock, pause)
        finally:
            tasks = [*self._tasks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._receivers.close()

    async def _look(self, services: Services, subscriptions: EventSubscriptions) -> bool:
        """Begin to post for subscriptions with news; tell whether there is any subscription."""
        now = services.clock.now()
        found = await subscriptions.due_subscriptions(self._gateway, now, MOST_AT_ONCE)
        if not found:
            return bool(self._tasks)
        newest = await services.store.events.events(limit=1, newest=True)
        end = newest[-1].seq if newest else 0
        for one in found:
            key = one.subscription_id
            if key in self._tasks or len(self._tasks) >= MOST_AT_ONCE:
                continue
            if one.ends_at <= now:
                self._looked.pop(key, None)
                await subscriptions.remove_subscription(one.tenant_id, one.user_id, key)
            elif self._begin_of(one) < end:
                task = asyncio.create_task(self._send(services, subscriptions, one), name=f"subscription:{key}")
                self._tasks[key] = task
                task.add_done_callback(lambda _, key=key: self._leave(key))
        return True

    def _leave(self, key: str) -> None:
        self._tasks.pop(key, None)

    def _begin_of(self, subscription: EventSubscription) -> int:
        before = self._looked.get(subscription.subscription_id)
        return before[1] if before is not None and before[0] == subscription else subscription.place

    async def _send(self, services: Services, subscriptions: EventSubscriptions, one: EventSubscription) -> None:
        """Post the next events of a subscription, if there are any. A fault ends the task; a later claim goes on."""
        client = Client(services, Person(one.tenant_id, one.user_id, frozenset()))
        selection = Selection(one.name, frozenset(one.topics), one.plan_id)
        try:
            batch = await read_events(client, selection, self._begin_of(one), _BATCH)
            if not batch.events:
                self._looked[one.subscription_id] = one, batch.place
                return
            now = services.clock.now()
            claimed = await subscriptions.claim_subscription(one, now, now + LEASE)
            if claimed is not None:
                await _Posting(services, subscriptions, self._receivers, claimed).run(one, batch)
                self._woken.set()
        except (ConfigError, NotFound) as error:
            warn("subscription_ended", subscription=one.subscription_id, reason=str(error))
            await subscriptions.remove_subscription(one.tenant_id, one.user_id, one.subscription_id)
        except TransientError as error:
            warn("subscription_rests", subscription=one.subscription_id, reason=error)
        except Exception as error:
            warn("subscription_broke", bug=error, subscription=one.subscription_id)


class _Posting:
    """Posts of one claim. A place is saved after its receipt: a kill between them posts the event again, by the same
    id."""

    def __init__(
        self, services: Services, subscriptions: EventSubscriptions, receivers: Receivers, claimed: ClaimedSubscription
    ) -> None:
        self._clock = services.clock
        self._subscriptions = subscriptions
        self._receivers = receivers
        self._claimed = claimed

    async def run(self, read: EventSubscription, batch: Batch) -> None:
        """Post a batch that was read for this state of the subscription."""
        try:
            if self._claimed.subscription == read:
                for row in batch.events:
                    if len(body_of(row)) > MOST_BYTES:
                        warn("subscribed_event_too_large", event=row.event.id, subscription=read.subscription_id)
                        refusal = None
                    else:
                        refusal = await self._receivers.post(self._claimed.subscription, row, self._clock.now())
                    if not await self._note(refusal, row.seq):
                        return
        except asyncio.CancelledError:
            with suppress(TransientError):
                await self._release()
            raise
        await self._release()

    async def _note(self, refusal: str | None, place: int) -> bool:
        """Save the outcome of a post; tell whether to go on."""
        before, now = self._claimed.subscription, self._clock.now()
        if refusal is not None:
            after, due = note_failure(before, PAUSES, now)
            await self._subscriptions.save_subscription(replace(self._claimed, subscription=after), due)
            return False
        self._claimed = replace(self._claimed, subscription=note_receipt(before, place))
        return await self._subscriptions.save_subscription(self._claimed, now + LEASE)

    async def _release(self) -> None:
        await self._subscriptions.save_subscription(self._claimed, self._clock.now())
