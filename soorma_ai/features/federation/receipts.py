"""Receipts between stores. A request or reply for another store is kept, and sent again, until its receipt comes."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import ValidationError, convert

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage, new_event
from soorma_ai.kernel.domain.stores import RECEIPT, Confirmation, Receipt
from soorma_ai.kernel.domain.values import JsonObject, clip, derived_id
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT, earliest

# The code of the reply to a request that the other store will never take.
NOT_TAKEN = "not_taken"
UNCONFIRMED = "unconfirmed: the other store has not said that it has it"
MOST_IDS = 1_000

_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=5)
_DOUBLED = 8
_LONGEST_REASON = 200


def pause_before_next(posts: int) -> timedelta:
    """Return how long a receipt is waited for after so many posts."""
    return min(_FIRST_PAUSE * 2 ** min(posts - 1, _DOUBLED), _LONGEST_PAUSE)


def is_over(event: EventEnvelope, posts: int, now: datetime, *, is_reply: bool) -> bool:
    """Tell whether an event that was sent so often is not sent again. A reply is of use after the deadline of its
    request: people may look for it."""
    deadline = None if is_reply else event.deadline
    return posts > 0 and now >= (earliest(deadline, event.time + LONGEST_WAIT) or now)


def write_receipts(confirmed: Sequence[Confirmation], now: datetime, new_id: str) -> list[tuple[str, EventEnvelope]]:
    """Return pairs of a store and a receipt for it, one for each tenant."""
    said: dict[tuple[str, str], list[Confirmation]] = {}
    for one in confirmed:
        said.setdefault((one.store, one.tenant_id), []).append(one)
    return [(store, _receipt(tenant_id, ones, now, new_id)) for (store, tenant_id), ones in said.items()]


def is_receipt(event: EventEnvelope) -> bool:
    return event.type == RECEIPT


def read_receipt(event: EventEnvelope) -> Receipt:
    """Raise RemoteProtocolError for one that cannot be read."""
    try:
        said = convert(event.data, Receipt)
    except ValidationError as error:
        raise RemoteProtocolError(f"not a receipt: {error}") from error
    if event.topic is not EventTopic.SYSTEM_EVENTS or len(said.taken) + len(said.refused) > MOST_IDS:
        raise RemoteProtocolError(f"not a receipt: it names up to {MOST_IDS:,} ids, on {EventTopic.SYSTEM_EVENTS}")
    return said


def _receipt(tenant_id: str, confirmed: Sequence[Confirmation], now: datetime, new_id: str) -> EventEnvelope:
    taken = tuple(one.event_id for one in confirmed if one.refused is None)
    refused = {one.event_id: clip(one.refused, _LONGEST_REASON) for one in confirmed if one.refused is not None}
    said: JsonObject = {"taken": list(taken), "refused": dict(refused)}
    return new_event(
        Lineage(tenant_id=tenant_id),
        event_id=derived_id(RECEIPT, new_id, tenant_id),
        source=SYSTEM,
        topic=EventTopic.SYSTEM_EVENTS,
        type=RECEIPT,
        data=said,
        time=now,
    )
