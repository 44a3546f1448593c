"""Statements for subscriptions."""

from datetime import datetime

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.event_subscriptions.ports import MOST_OF_USER
from soorma_ai.features.event_subscriptions.records import ClaimedSubscription, EventSubscription
from soorma_ai.features.event_subscriptions.rules import renew
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

_SUBSCRIPTION = Codec(EventSubscription)
_THIS = "tenant = ? AND user_id = ? AND subscription_id = ?"

OF_PERSON = ("DELETE FROM event_subscription WHERE tenant = :tenant AND user_id = :user",)
OLD = (
    """
    DELETE FROM event_subscription WHERE (tenant, user_id, subscription_id) IN (
        SELECT tenant, user_id, subscription_id FROM event_subscription
        WHERE tenant = :tenant AND until < :before LIMIT :limit
    )
    """,
)


def keep_subscription(db: Connection, given: EventSubscription, now: datetime) -> EventSubscription:
    kept = subscriptions_of(db, given.tenant_id, given.user_id)
    before = next((one for one in kept if one.subscription_id == given.subscription_id), None)
    if before is None and sum(one.ends_at > now for one in kept) >= MOST_OF_USER:
        raise LocalProtocolError(f"{given.user_id} has {MOST_OF_USER} subscriptions already: end one of them")
    subscription = given if before is None else renew(before, given, now)
    add_row(
        db,
        "event_subscription",
        "ON CONFLICT (tenant, user_id, subscription_id) DO UPDATE SET gateway = excluded.gateway, "
        "due = excluded.due, fence = event_subscription.fence + 1, until = excluded.until, body = excluded.body",
        tenant=given.tenant_id,
        user_id=given.user_id,
        subscription_id=given.subscription_id,
        gateway=given.gateway,
        due=epoch(now),
        fence=0,
        until=epoch(subscription.ends_at),
        body=_SUBSCRIPTION.text(subscription),
    )
    return subscription


def subscriptions_of(db: Reader, tenant_id: str, user_id: str) -> list[EventSubscription]:
    query = "SELECT body FROM event_subscription WHERE tenant = ? AND user_id = ? ORDER BY subscription_id"
    return [_SUBSCRIPTION.record(body) for (body,) in db.execute(query, (tenant_id, user_id)).fetchall()]


def remove_subscription(db: Connection, tenant_id: str, user_id: str, subscription_id: str) -> bool:
    done = db.execute(f"DELETE FROM event_subscription WHERE {_THIS}", (tenant_id, user_id, subscription_id))
    return done.rowcount == 1


def due_subscriptions(db: Reader, gateway: str, now: datetime, limit: int) -> list[EventSubscription]:
    query = "SELECT body FROM event_subscription WHERE gateway = ? AND due <= ? ORDER BY due LIMIT ?"
    return [_SUBSCRIPTION.record(body) for (body,) in db.execute(query, (gateway, epoch(now), limit)).fetchall()]


def claim_subscription(
    db: Connection, subscription: EventSubscription, now: datetime, until: datetime
) -> ClaimedSubscription | None:
    query = f"UPDATE event_subscription SET due = ?, fence = fence + 1 WHERE {_THIS} AND due <= ? RETURNING body, fence"
    row = db.execute(query, (epoch(until), *_key_of(subscription), epoch(now))).fetchone()
    return None if row is None else ClaimedSubscription(_SUBSCRIPTION.record(row[0]), int(row[1]))


def save_subscription(db: Connection, claimed: ClaimedSubscription, due: datetime) -> bool:
    one = claimed.subscription
    values = (epoch(due), _SUBSCRIPTION.text(one), *_key_of(one), claimed.fence)
    query = f"UPDATE event_subscription SET due = ?, body = ? WHERE {_THIS} AND fence = ?"
    return db.execute(query, values).rowcount == 1


def _key_of(subscription: EventSubscription) -> tuple[str, str, str]:
    return subscription.tenant_id, subscription.user_id, subscription.subscription_id
