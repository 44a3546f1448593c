"""What happens because time passes: timers that fire, deliveries whose delay is over, leases and heart-beats."""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from soorma_ai.errors import TransientError
from soorma_ai.ports import Delivery
from soorma_ai.runtime.consume import LEASE
from soorma_ai.runtime.context import Services
from soorma_ai.runtime.signals import until

log = logging.getLogger("soorma_ai")

BATCH = 100
LONGEST_SLEEP = timedelta(minutes=1)
HEARTBEAT = timedelta(seconds=60)
SHORTEST_SLEEP = 0.02
PAUSE_AFTER_FAULT = 0.5


async def run_timers(services: Services, agents: Sequence[str]) -> None:
    """Timers are rows: what became due while nobody ran fires at once."""
    while True:
        try:
            rest = await _attend(services, agents)
        except TransientError as error:
            log.warning("timers_failed", extra={"fields": {"reason": str(error)}})
            rest = PAUSE_AFTER_FAULT
        await until(services.signals.timers, services.clock, rest)


async def _attend(services: Services, agents: Sequence[str]) -> float:
    """Do what is due; returns the seconds until something is."""
    now = services.clock.now()
    due = await services.store.next_due(agents)
    if due is not None and due <= now:
        while await services.store.fire(now, BATCH) == BATCH:
            pass
        services.signals.wake_agents()
        due = await services.store.next_due(agents)
    rest = LONGEST_SLEEP if due is None else min(due - services.clock.now(), LONGEST_SLEEP)
    return max(SHORTEST_SLEEP, rest.total_seconds())


async def keep_leases(services: Services, in_hand: Callable[[], Sequence[Delivery]]) -> None:
    """A long handling keeps its claim as long as it lives."""
    while True:
        await services.clock.sleep(LEASE.total_seconds() / 3)
        mine = in_hand()
        if not mine:
            continue
        try:
            kept = await services.store.renew(mine, services.clock.now() + LEASE)
        except TransientError as error:
            log.warning("renew_failed", extra={"fields": {"reason": str(error)}})
            continue
        if len(kept) < len(mine):
            log.warning("leases_lost", extra={"fields": {"count": len(mine) - len(kept)}})


async def keep_alive(services: Services, agents: Sequence[str]) -> None:
    while True:
        await services.clock.sleep(HEARTBEAT.total_seconds())
        try:
            await services.store.heartbeat(agents, services.clock.now())
        except TransientError as error:
            log.warning("heartbeat_failed", extra={"fields": {"reason": str(error)}})
