"""Copies that other stores have sent: requests are taken in, and replies come home."""

from collections.abc import Sequence

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.values import clip
from soorma_ai.errors import ProtocolError
from soorma_ai.ports import Brought
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import warn


async def take_copies(services: Services, brought: Sequence[Brought]) -> list[EventEnvelope]:
    """Take requests of other stores in, and return replies as they are to be written down. What a store may not say is
    told in the log, and is nothing."""
    replies: list[EventEnvelope] = []
    for one in brought:
        try:
            replies += await _take(services, one.event, one.sender or "")
        except ProtocolError as error:
            warn("event_refused", sender=one.sender, event_type=clip(one.event.type, 80), reason=clip(str(error), 300))
    return replies


async def _take(services: Services, copy: EventEnvelope, sender: str) -> list[EventEnvelope]:
    # The rules for what arrives are the store's, and loaded with it.
    from soorma_ai.core.arrival.elsewhere import take_reply, take_request

    store, now = services.store, services.clock.now()
    if copy.answers is None:
        await store.queue.send_once(take_request(copy, sender, now), now)
        return []
    source = await store.registry.agent(copy.source, now)
    reply = take_reply(
        copy, sender, source.registration.store if source else None, await store.events.event(copy.answers)
    )
    return [reply] if reply is not None else []
