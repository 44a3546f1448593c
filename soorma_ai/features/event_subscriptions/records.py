"""Subscriptions: events of one type, posted to one URL until an end."""

from datetime import datetime

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.records import Record


class EventSubscription(Record, frozen=True):
    """Subscription of one user, through one gateway, to events of the type `name` on `topics`, of all plans or of one
    plan's tree.

    The events up to `place` in the log have a receipt. `secret` signs the posts. `failures` are those in a row.
    """

    tenant_id: str
    user_id: str
    subscription_id: str
    gateway: str
    url: str
    secret: str
    name: str
    topics: tuple[EventTopic, ...]
    begun_at: datetime
    ends_at: datetime
    place: int
    plan_id: str | None = None
    failures: int = 0


class ClaimedSubscription(Struct, frozen=True):
    """Subscription in the hand of one process, with the fence of its claim."""

    subscription: EventSubscription
    fence: int
