"""Forgetting that a kill has broken off."""

import asyncio

from soorma_ai.kernel.runtime.handling.handling import Services

BATCH = 250


async def forget_pending(services: Services) -> None:
    """Go on with it, until nothing of any user who was to be forgotten is left."""
    is_done = False
    while not is_done:
        is_done = (await services.store.upkeep.forget(BATCH)).is_done
        await asyncio.sleep(0)  # a store may write on the spot, and this process has other things to do
