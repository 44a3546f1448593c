"""Events from a bus: their acceptance, and their form in the log."""

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import CLIENT, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.breaker import from_abroad
from soorma_ai.kernel.rules.waits.replies import platform_only


def as_written_down(event: EventEnvelope, known_tenant: str | None, *, is_own: bool) -> EventEnvelope | None:
    """Return an event in its form for the log, None for one to be dropped. `known_tenant` is the tenant of this id in
    the log, if it is there; an event of our own was in the log before it was sent. Raise RemoteProtocolError for
    another program's copy of an event reserved to the platform.

    An event of our own no longer in the log was pruned, or its user erased: it is a late copy, and would bring removed
    data back.
    """
    if not is_own:
        return _as_a_clients(event)
    return event if known_tenant == event.tenant_id else None


def _as_a_clients(event: EventEnvelope) -> EventEnvelope:
    """Return a stranger's event. Its id is made of its tenant and its original id, against collisions in either
    direction. It is a client's event, in spite of its own fields: it meets no reply, and a request is checked, and held
    for an approval if it needs one, at its delivery."""
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
