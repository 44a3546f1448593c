"""From the outbox to the bus, and from the bus into the inbox."""

import logging
from collections.abc import Sequence

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.errors import TransientError
from soorma_ai.ports import Bus
from soorma_ai.runtime.context import Services
from soorma_ai.runtime.signals import until

log = logging.getLogger("soorma_ai")

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
            log.warning("relay_failed", extra={"fields": {"reason": str(error)}})
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        await until(services.signals.outbox, services.clock, None)


async def arrive(services: Services, events: Sequence[EventEnvelope]) -> None:
    """Arriving is a row in the inbox; returning is the ack."""
    arrival = await services.store.arrive(events, services.clock.now())
    for stray in arrival.strays:
        log.info("event_not_taken", extra={"fields": {"event_type": stray.event_type, "reason": stray.reason}})
    services.signals.wake_agents(arrival.agents)
    services.signals.happened(arrival.answered)
