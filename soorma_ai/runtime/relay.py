"""From the outbox to the bus, and from the bus into the inbox."""

from collections.abc import Sequence

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.errors import TransientError
from soorma_ai.ports import Bus
from soorma_ai.runtime.context import Services
from soorma_ai.runtime.logs import note, warn
from soorma_ai.runtime.signals import until

BATCH = 256
PAUSE_AFTER_FAULT = 0.5


async def relay(services: Services, bus: Bus) -> None:
    """Send, then mark as sent: a crash between the two sends again, and the inbox knows it."""
    while True:
        try:
            waiting = await services.store.unsent(BATCH)
            if waiting:
                await bus.publish([row.event for row in waiting])
                await services.store.sent([row.seq for row in waiting])
                continue
        except TransientError as error:
            warn("relay_failed", reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        await until(services.signals.outbox, services.clock, None)


async def arrive(services: Services, events: Sequence[EventEnvelope]) -> None:
    """Arriving is a row in the inbox; returning is the ack."""
    arrival = await services.store.arrive(events, services.clock.now())
    for stray in arrival.strays:
        note("event_not_taken", event_type=stray.event_type, event_id=stray.event_id, reason=stray.reason)
    services.signals.wake_agents(arrival.agents)
    services.signals.happened(arrival.answered)
