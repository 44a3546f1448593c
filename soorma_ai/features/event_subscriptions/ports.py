"""Port for subscriptions to events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.features.event_subscriptions.records import ClaimedSubscription, EventSubscription
from soorma_ai.kernel.ports.part_keys import StoreKey

FEATURE = "event_subscriptions"
MOST_OF_USER = 100


class EventSubscriptions(Protocol):
    """Subscriptions. One process at a time has a subscription in hand, by a claim with a fence."""

    async def keep_subscription(self, given: EventSubscription, now: datetime) -> EventSubscription:
        """Keep a subscription, or renew the one with its id, and return it. Raise LocalProtocolError for too many of a
        user."""
        ...

    async def subscriptions_of(self, tenant_id: str, user_id: str) -> Sequence[EventSubscription]: ...

    async def remove_subscription(self, tenant_id: str, user_id: str, subscription_id: str) -> bool: ...

    async def due_subscriptions(self, gateway: str, now: datetime, limit: int) -> Sequence[EventSubscription]:
        """Return subscriptions without a valid claim and outside of a pause, ended ones too, the longest due first."""
        ...

    async def claim_subscription(
        self, subscription: EventSubscription, now: datetime, until: datetime
    ) -> ClaimedSubscription | None:
        """Claim a subscription, and return its present state; None for one removed or claimed."""
        ...

    async def save_subscription(self, claimed: ClaimedSubscription, due: datetime) -> bool:
        """Save the state of a claimed subscription, due for the next claim at this moment. False without the claim, and
        for a removed one."""
        ...


SUBSCRIPTIONS: StoreKey[EventSubscriptions] = StoreKey("event_subscriptions", feature=FEATURE)
