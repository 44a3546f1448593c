"""Deliveries that were in hand at several ends of the process, one at a time: whichever ends it is counted alone."""

import asyncio
from collections.abc import Callable

from soorma_ai.errors import TransientError
from soorma_ai.ports import Delivery
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import warn
from soorma_ai.runtime.handling.signals import until
from soorma_ai.runtime.loops.consume import LEASE, PAUSE_AFTER_FAULT, Consumer, finish_claim

SUSPECTS = ""


async def handle_suspects(services: Services, consumer_of: Callable[[str], Consumer]) -> None:
    woken = services.signals.agent(SUSPECTS)
    while True:
        try:
            taken = await finish_claim(_claim(services), services)
        except TransientError as error:
            warn("claim_failed", agent="suspects", reason=error)
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        if not taken:
            await until(woken, services.clock, None)
        for suspect in taken:
            warn("suspect_taken", agent=suspect.agent, event_id=suspect.event.id, attempt=suspect.attempt)
            # It may be interrupted, which is no reason to end here.
            await asyncio.wait([consumer_of(suspect.agent).hand_over(suspect)])


async def _claim(services: Services) -> list[Delivery]:
    found = await services.store.claim_suspect(services.presence.names, services.clock.now(), LEASE)
    return [found] if found else []
