"""The relay, from the outbox to the bus and from the bus into the inbox."""

from collections.abc import Sequence

from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Arrival
from soorma_ai.domain.values import clip
from soorma_ai.errors import SoormaError, TransientError
from soorma_ai.ports import Bus
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import note, warn
from soorma_ai.runtime.handling.process.signals import until

BATCH = 256
PAUSE_AFTER_FAULT = 0.5
MOST_OF_A_REASON = 500
_WARNED = ("unasked", "untaken")


async def relay(services: Services, bus: Bus) -> None:
    """Send, then mark as sent: after a crash between the two, events are sent again, and the inbox ignores them."""
    while True:
        try:
            waiting = await services.store.queue.unsent(BATCH)
            if waiting:
                await bus.publish([row.event for row in waiting])
                await services.store.queue.sent([row.seq for row in waiting], services.clock.now())
                continue
        except TransientError as error:
            warn("relay_failed", reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        await until(services.signals.outbox, services.clock, None)


async def arrive(services: Services, events: Sequence[EventEnvelope]) -> None:
    """Write events into the inbox; returning acknowledges them. An event that cannot arrive holds up no other."""
    try:
        arrival = await services.store.queue.arrive(events, services.clock.now())
    except TransientError:
        # They may be stored all the same, and would be duplicates when they come again: agents that may have work look.
        services.signals.wake_agents()
        raise
    except Exception as error:
        if len(events) > 1:
            for event in events:
                await arrive(services, [event])
        else:
            await _set_aside(services, events[0], error)
        return
    _tell(services, arrival)
    if any(stray.reason == "untaken" for stray in arrival.strays):
        # Each has a timer, or a gate that has one.
        services.signals.timers.set()


async def hand_over(services: Services) -> None:
    """Hand requests that nobody took to agents that have registered for them since."""
    place: int | None = 0
    while place is not None:
        arrival, place = await services.store.queue.hand_over(place, BATCH, services.clock.now())
        _tell(services, arrival)
    services.signals.timers.set()


def _tell(services: Services, arrival: Arrival) -> None:
    for stray in arrival.strays:
        tell = warn if stray.reason in _WARNED else note
        tell("event_not_taken", event_type=stray.event_type, event_id=stray.event_id, reason=stray.reason)
    services.signals.wake_agents(arrival.agents)
    services.signals.happened(arrival.answered)


async def _set_aside(services: Services, event: EventEnvelope, error: Exception) -> None:
    """Make a dead letter of an event that would fail whenever it came. If that fails too, the bus brings it again."""
    code = error.code if isinstance(error, SoormaError) else type(error).__name__
    reason = clip(" ".join(f"cannot_arrive: {code}: {error}".split()), MOST_OF_A_REASON)
    bug = None if isinstance(error, SoormaError) else error
    warn("event_set_aside", bug=bug, event_type=event.type, event_id=event.id, reason=reason)
    await services.store.letters.set_aside(event, reason, services.clock.now())
