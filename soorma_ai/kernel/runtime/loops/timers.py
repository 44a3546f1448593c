"""Everything that is due by time: timers, delayed deliveries, leases, heart-beats and the sweep."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

from soorma_ai.errors import TransientError
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import HEARTBEAT, until
from soorma_ai.kernel.runtime.loops.relay import offer_untaken

BATCH = 100
LONGEST_SLEEP = timedelta(minutes=1)
SWEEP_EVERY_SECONDS = 60.0
PAUSE_AFTER_FAULT = 0.5

_EVER = datetime.min.replace(tzinfo=UTC)


async def run_timers(services: Services) -> None:
    """Fire timers. They are rows: those due during a stop fire at once."""
    attended = _EVER
    while True:
        try:
            attended, rest = await _attend(services, attended)
        except TransientError as error:
            warn("timers_failed", reason=error)
            rest = PAUSE_AFTER_FAULT
        await until(services.signals.timers, services.clock, rest)


async def _attend(services: Services, attended: datetime) -> tuple[datetime, float]:
    """Do the work due since `attended`; return the moment of its end, and the seconds until the next. Agents are woken
    once: a busy one looks for itself at a free hand."""
    while (due := await services.store.queue.next_due(services.presence.names, attended)) is not None:
        now = services.clock.now()
        if due > now:
            return attended, min(due - now, LONGEST_SLEEP).total_seconds()
        while await services.store.queue.fire(now, BATCH) == BATCH:
            pass
        services.signals.wake_agents()
        attended = now
    return attended, LONGEST_SLEEP.total_seconds()


async def keep_leases(
    services: Services,
    in_hand: Callable[[], Sequence[Delivery]],
    interrupt: Callable[[Sequence[Delivery]], None],
    end_vain: Callable[[], Awaitable[None]],
) -> None:
    """Renew the claims of handlings; one without its claim can commit nothing, and is interrupted, and so are obsolete
    ones."""
    while True:
        await services.clock.sleep(LEASE.total_seconds() / 3)
        mine = in_hand()
        if not mine:
            continue
        try:
            kept = await services.store.queue.renew(mine, services.clock.now() + LEASE)
            await end_vain()
        except TransientError as error:
            warn("renew_failed", reason=error)
            continue
        # One that was committed meanwhile is ours no more, and has lost nothing.
        at_work = {_claim_key(delivery) for delivery in in_hand()} - {_claim_key(delivery) for delivery in kept}
        lost = [delivery for delivery in mine if _claim_key(delivery) in at_work]
        if lost:
            warn("leases_lost", count=len(lost))
            interrupt(lost)


async def keep_alive(services: Services) -> None:
    while True:
        await services.clock.sleep(HEARTBEAT.total_seconds())
        try:
            await services.presence.confirm(services.store.registry, services.clock.now())
        except TransientError as error:
            warn("heartbeat_failed", reason=error)


async def keep_sweeping(services: Services) -> None:
    while True:
        try:
            if not services.is_remote:  # there the process of the store does it
                await _sweep(services)
            await offer_untaken(services)
        except TransientError as error:
            warn("sweep_failed", reason=error)
        await services.clock.sleep(SWEEP_EVERY_SECONDS)


async def _sweep(services: Services) -> None:
    """Find, report and wake plans with nothing to move them again: no plan hangs silently."""
    swept = await services.store.queue.sweep(services.clock.now())
    if swept.sent_again:
        warn("events_sent_again", count=swept.sent_again, reason="the bus took them, and they did not arrive")
    if swept.unblocked:
        warn("deliveries_unblocked", count=swept.unblocked, reason="they stood in line behind nothing")
        services.signals.wake_agents()
    for plan_id in swept.stranded:
        warn("plan_stranded", plan_id=plan_id, reason="nothing was coming for it; it is handled again")


def _claim_key(delivery: Delivery) -> tuple[int, int]:
    return delivery.seq, delivery.fence
