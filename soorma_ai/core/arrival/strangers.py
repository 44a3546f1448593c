"""Events that a bus brings: which of them are written down, and under which id."""

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.values import derived_id


def as_written_down(event: EventEnvelope, known_tenant: str | None, *, is_own: bool) -> EventEnvelope | None:
    """Return an event as it is written down, None for one that is not. `known_tenant` is whose the log has this id, if
    it has it; one of our own was in the log before it was sent.

    Somebody else's event neither takes an id that will be another's, nor is taken for another's: its id is made of its
    tenant and the id that it came with. One of our own that the log has no more was pruned, or its user forgotten: it
    is a copy that comes late, and would bring back what has gone."""
    if known_tenant == event.tenant_id:
        return event
    if is_own:
        return None
    return event.model_copy(update={"id": derived_id("stranger", event.tenant_id, event.id)})
