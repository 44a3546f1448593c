"""Checks of large values in slices, so that the loop serves others between them.

The rules that judge a value ask for its violations without waiting. Where that is more than one call of the validator,
the check is made here before, and the rule finds its verdict.
"""

import asyncio
from weakref import WeakKeyDictionary

from soorma_ai.kernel.domain.schemas import examine, is_dear
from soorma_ai.kernel.domain.values import Json, JsonObject

_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def check_ahead(schema: JsonObject | None, value: Json) -> None:
    """Check a value, one slice at each turn of the loop. Only one value is checked at a time, whoever sent it."""
    if schema is None or not is_dear(schema, value):
        return
    async with _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await asyncio.sleep(0)  # to see that it is large took as long as a slice
        for _ in examine(schema, value):
            await asyncio.sleep(0)
