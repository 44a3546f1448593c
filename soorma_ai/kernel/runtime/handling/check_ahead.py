"""Large work in slices, so that the loop serves others between them.

The rules that judge a value ask for its violations without waiting. Where that is more than one call of the validator,
the check is made here before, and the rule finds its verdict.
"""

import asyncio
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from soorma_ai.kernel.domain.schema_cost import MOST_IN_ALL
from soorma_ai.kernel.domain.schemas import Violation, examine, is_dear, try_violations
from soorma_ai.kernel.domain.slices import Slices
from soorma_ai.kernel.domain.values import Json, JsonObject

T = TypeVar("T")


class _CheckQueue:
    """Queue of one loop: a slice at each turn of it, in rotation over the tenants.

    A tenant's works are done one after the other, so that a check finds the verdict of an equal one before it.
    """

    def __init__(self) -> None:
        self._rotation = asyncio.Lock()  # which is given in the order in which it was asked for
        self._tenants: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, tenant_id: str, work: Slices[T]) -> T:
        order = self._tenants.setdefault(tenant_id, asyncio.Lock())
        async with order:
            while True:
                async with self._rotation:
                    await asyncio.sleep(0)
                    try:
                        next(work)
                    except StopIteration as end:
                        return end.value


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, _CheckQueue] = WeakKeyDictionary()


async def check(tenant_id: str, schema: JsonObject | None, value: Json) -> list[Violation]:
    """Return the violations of a tenant's value. A large value is checked in slices."""
    if schema is None:
        return []
    found = try_violations(schema, value)
    return await _queue().run(tenant_id, examine(schema, value)) if found is None else found


async def check_ahead(tenant_id: str, schema: JsonObject | None, value: Json, most: int = MOST_IN_ALL) -> None:
    """Check a large value of a tenant in slices, by at most so many units of work."""
    if schema is not None and is_dear(schema, value):
        await _queue().run(tenant_id, examine(schema, value, most=most))


async def run_in_slices(tenant_id: str, work: Slices[T]) -> T:
    """Return the result of a tenant's work. Work of one slice does not wait in the queue."""
    try:
        next(work)
    except StopIteration as end:
        return end.value
    return await _queue().run(tenant_id, work)


def _queue() -> _CheckQueue:
    loop = asyncio.get_running_loop()
    return _QUEUES.setdefault(loop, _CheckQueue())
