"""Intake of events from a bus into the inbox."""

from collections.abc import Awaitable, Callable, Sequence

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.schema_cost import MOST_IN_A_TRANSACTION, length_of
from soorma_ai.kernel.domain.stores import REQUEST_UNKNOWN
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Brought
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.requests import request_type
from soorma_ai.kernel.runtime.loops.relay import arrive

TakeCopies = Callable[[Sequence[Brought]], Awaitable[None]]
MOST_UNCHECKED = 1_000  # bytes: smaller data is checked where it is handed over


async def refuse_copies(brought: Sequence[Brought]) -> None:
    """Refuse events of other stores, in a process that works with none."""
    for one in brought:
        reason = "this process works with no other store"
        warn("event_refused", sender=one.sender, event_type=clip(one.event.type, 80), reason=reason)


async def take_in(services: Services, brought: Sequence[Brought], take_copies: TakeCopies = refuse_copies) -> None:
    """Write a bus's events into the inbox; the return acknowledges them. `take_copies` takes the events of other
    stores."""
    # The rules for what arrives are the store's, and loaded with it.
    from soorma_ai.kernel.rules.arrival.strangers import as_written_down

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
    for event in events:
        await _check_ahead(services, event)
    if events:
        await arrive(services, events)
        _tell_silence(events)
    copies = [one for one in brought if one.sender is not None]
    if copies:
        await take_copies(copies)


async def _check_ahead(services: Services, event: EventEnvelope) -> None:
    """Check a large request before the transaction of its arrival, since others wait for the writer."""
    if event.unchecked and (length_of(event.data) or 0) > MOST_UNCHECKED:
        registry, now = services.store.within(event.tenant_id).registry, services.clock.now()
        definition = await request_type(registry, event.tenant_id, event.type, now)
        schema = definition.payload_schema if definition else None
        await check_ahead(event.tenant_id, schema, event.data, MOST_IN_A_TRANSACTION)


def _tell_silence(events: Sequence[EventEnvelope]) -> None:
    for event in events:
        if event.type == REQUEST_UNKNOWN:
            warn("request_unknown", request_id=event.subject, store=event.data["store"], plan_id=event.plan_id)
