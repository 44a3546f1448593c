"""Events that a bus brings: which of them are written down, and as what."""

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import CLIENT, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.breaker import from_abroad
from soorma_ai.kernel.rules.waits.replies import platform_only


def as_written_down(event: EventEnvelope, known_tenant: str | None, *, is_own: bool) -> EventEnvelope | None:
    """Return an event as it is written down, None for one that is not. `known_tenant` is whose the log has this id, if
    it has it; one of our own was in the log before it was sent. Raise RemoteProtocolError for an event of another
    program that only the platform publishes.

    One of our own that the log has no more was pruned, or its user forgotten: it is a copy that comes late, and would
    bring back what has gone."""
    if not is_own:
        return _as_a_clients(event)
    return event if known_tenant == event.tenant_id else None


def _as_a_clients(event: EventEnvelope) -> EventEnvelope:
    """Return the event of a stranger. Its id is made of its tenant and the id that it came with, so that it neither
    takes one that will be another's nor is taken for another's. It is a client's, whatever it says of itself: it meets
    no reply, and what it asks for is checked, and held where a person must approve, as it is handed over."""
    if reason := platform_only(event.type):
        raise RemoteProtocolError(reason)
    return event.model_copy(
        update={
            **from_abroad(event),
            "id": derived_id("stranger", event.tenant_id, event.id),
            "source": CLIENT,
            "answers": None,
            "unchecked": True if event.topic is EventTopic.ACTION_REQUESTS else None,
        }
    )
