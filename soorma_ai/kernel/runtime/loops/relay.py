"""The relay, from the outbox to the bus and from the bus into the inbox."""

from collections.abc import Sequence
from contextlib import suppress

from soorma_ai.errors import BusUnavailable, LocalProtocolError, SoormaError, TransientError
from soorma_ai.kernel.domain.dead_letters import cannot_arrive
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Stray
from soorma_ai.kernel.domain.stores import store_of_mailbox
from soorma_ai.kernel.ports import Bus, StoredEvent
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import note, warn
from soorma_ai.kernel.runtime.handling.process.signals import Signals, until

BATCH = 256
PAUSE_AFTER_FAULT = 0.5
_STRAY = "event_not_taken"
_WARNED = ("unasked", "untaken", "undeclared", "busy")


async def relay(services: Services, bus: Bus) -> None:
    """Send, then mark as sent: after a crash between the two, events are sent again, and the inbox ignores them."""
    while True:
        try:
            waiting = await services.store.queue.unsent(BATCH)
            if waiting:
                await _send(services, bus, waiting)
                continue
        except BusUnavailable:
            # The bus has told the log itself, and only once.
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        except TransientError as error:
            warn("relay_failed", reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        await until(services.signals.outbox, services.clock, None)


async def _send(services: Services, bus: Bus, waiting: Sequence[StoredEvent]) -> None:
    """Send events. One that the bus can never carry holds up no other."""
    try:
        await bus.publish(waiting)
    except BusUnavailable as error:
        if error.taken:
            await services.store.queue.mark_sent(error.taken, services.clock.now())
        raise
    except LocalProtocolError as error:
        if len(waiting) > 1:
            middle = len(waiting) // 2
            await _send(services, bus, waiting[:middle])
            await _send(services, bus, waiting[middle:])
        else:
            await _set_aside(services, waiting[0].event, error)
        return
    await services.store.queue.mark_sent([row.seq for row in waiting], services.clock.now())


async def arrive(services: Services, events: Sequence[EventEnvelope]) -> None:
    """An event that cannot arrive holds up no other."""
    try:
        await services.store.queue.arrive(events, services.clock.now())
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


async def offer_untaken(services: Services) -> None:
    """Deliver requests without a taker so far to agents registered for them since."""
    place: int | None = 0
    while place is not None:
        place, _ = await services.store.queue.offer_untaken(place, BATCH, services.clock.now())
    services.signals.timers.set()


def tell(signals: Signals, arrival: Arrival) -> None:
    """Wake the receivers of an arrival, and report requests without a taker."""
    for stray in arrival.strays:
        if stray.reason != "handed_over":
            _report(stray)
    signals.wake_agents(arrival.agents)
    if arrival.agents and any(store_of_mailbox(name) is not None for name in arrival.agents):
        signals.mail.set()
    signals.hand_replies(arrival.replies)
    signals.signal(arrival.answered)
    if arrival.strays and any(stray.reason in ("untaken", "handed_over") for stray in arrival.strays):
        # Each has a timer, or a gate that has one.
        signals.timers.set()


def _report(stray: Stray) -> None:
    tell, event_type, event_id = warn if stray.reason in _WARNED else note, stray.event_type, stray.event_id
    if stray.advice:
        question, advice = stray.expectation_id, stray.advice
        tell(_STRAY, event_type=event_type, event_id=event_id, reason=stray.reason, question=question, then=advice)
    else:
        tell(_STRAY, event_type=event_type, event_id=event_id, reason=stray.reason)


async def _set_aside(services: Services, event: EventEnvelope, error: Exception) -> None:
    """Make a dead letter of an event that would fail at every arrival, and tell its requester. If that fails too, the
    event is sent or brought again."""
    # The rules for what arrives are the store's, and loaded with it.
    from soorma_ai.kernel.rules.arrival.arrival import refusal_of

    reason, now = cannot_arrive(error), services.clock.now()
    bug = None if isinstance(error, SoormaError) else error
    warn("event_set_aside", bug=bug, event_type=event.type, event_id=event.id, reason=reason)
    if told := refusal_of(event, reason, now):
        # One that was told before in other words stands.
        with suppress(LocalProtocolError):
            await services.store.queue.send([told], None, now)
    await services.store.queue.set_aside(event, reason, now)
