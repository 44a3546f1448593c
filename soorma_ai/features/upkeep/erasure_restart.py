"""Erasure that the end of a process has broken off."""

import asyncio

from soorma_ai.errors import TransientError
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn

BATCH = 250
LOOK_EVERY_SECONDS = 60.0


async def keep_forgetting(services: Services) -> None:
    """Go on with erasures now, and again every minute."""
    while True:
        try:
            await forget_pending(services)
        except TransientError as error:
            warn("erasure_failed", reason=error)
        await services.clock.sleep(LOOK_EVERY_SECONDS)


async def forget_pending(services: Services) -> None:
    """Continue unfinished erasures, until nothing of these users is left."""
    upkeep, is_done = services.store.part(UPKEEP), False
    while not is_done:
        is_done = (await upkeep.forget(BATCH)).is_done
        await asyncio.sleep(0)  # a store may write on the spot, and this process has other things to do
