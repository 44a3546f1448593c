"""Course of a subscription: renewed by its client, moved by receipts, paused by failures."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.features.event_subscriptions.records import EventSubscription


def renew(before: EventSubscription, given: EventSubscription, now: datetime) -> EventSubscription:
    """Return the subscription after a repeated request. A live one keeps its place, and a paused one goes on."""
    if before.ends_at <= now:
        return given
    return replace(before, secret=given.secret, topics=given.topics, ends_at=given.ends_at, failures=0)


def note_receipt(subscription: EventSubscription, place: int) -> EventSubscription:
    return replace(subscription, place=place, failures=0)


def note_failure(
    subscription: EventSubscription, pauses: Sequence[timedelta], now: datetime
) -> tuple[EventSubscription, datetime]:
    """Return the subscription with one more failure, and the moment of its next try. After the last pause it rests up
    to its renewal or its end."""
    failed = replace(subscription, failures=subscription.failures + 1)
    if subscription.failures >= len(pauses):
        return failed, subscription.ends_at
    return failed, min(now + pauses[subscription.failures], subscription.ends_at)
