"""Intake: what a bus brings is written into the inbox."""

from collections.abc import Sequence

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.stores import REQUEST_UNKNOWN
from soorma_ai.domain.values import clip
from soorma_ai.errors import RemoteProtocolError
from soorma_ai.ports import Brought
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import warn
from soorma_ai.runtime.loops.relay import arrive


async def take_in(services: Services, brought: Sequence[Brought]) -> None:
    """Write what a bus brought into the inbox; returning acknowledges it."""
    # The rules for what arrives are the store's, and loaded with it.
    from soorma_ai.core.arrival.strangers import as_written_down
    from soorma_ai.runtime.loops.exchange import take_copies

    given = [one for one in brought if one.sender is None]
    known = await services.store.events.tenants_of([one.event.id for one in given])
    events: list[EventEnvelope] = []
    for one in given:
        try:
            written = as_written_down(one.event, known.get(one.event.id), is_own=one.is_own)
        except RemoteProtocolError as error:
            warn("event_refused", event_type=clip(one.event.type, 80), reason=error)
            continue
        if written is not None:
            events.append(written)
    if events:
        await arrive(services, events)
        _tell_silence(events)
    await take_copies(services, [one for one in brought if one.sender is not None])


def _tell_silence(events: Sequence[EventEnvelope]) -> None:
    for event in events:
        if event.type == REQUEST_UNKNOWN:
            warn("request_unknown", request_id=event.subject, store=event.data["store"], plan_id=event.plan_id)
