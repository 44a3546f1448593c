"""Silence of another store about a request in its mailbox: a notice tells of it, by a timer that its receipt stops."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, new_event
from soorma_ai.kernel.domain.stores import REQUEST_UNKNOWN, store_of_mailbox
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.arrival.effects import Put
from soorma_ai.kernel.rules.waits.opening import earliest

# A store that is silent about a request for so long may have lost it, or not.
UNKNOWN_AFTER = timedelta(minutes=5)


def watch(put: Put, request: EventEnvelope, now: datetime) -> Put:
    """Return a request's way into the mailbox of another store with the timer of the notice that the store is silent,
    due at the request's deadline at the latest."""
    store = store_of_mailbox(put.agent)
    if store is None:
        return put
    due = earliest(now + UNKNOWN_AFTER, request.deadline) or now
    return replace(put, timer=Schedule(timer_of_silence(store, request.id), due, _notice(store, request, due)))


def timer_of_silence(store: str, request_id: str) -> str:
    """Return the id of the timer at which a store has been silent about a request for too long."""
    return f"silence:{store}:{request_id}"


def _notice(store: str, request: EventEnvelope, due: datetime) -> EventEnvelope:
    message = f"store {store} did not say that it has {request.type!r}: it may be done there, or not"
    return new_event(
        request.lineage,
        event_id=derived_id(REQUEST_UNKNOWN, store, request.id),
        source=SYSTEM,
        topic=EventTopic.SYSTEM_EVENTS,
        type=REQUEST_UNKNOWN,
        data={
            "request_id": request.id,
            "event_type": request.type,
            "store": store,
            "status": "unknown",
            "message": message,
        },
        time=due,
        causation_id=request.id,
        subject=request.id,
    )
