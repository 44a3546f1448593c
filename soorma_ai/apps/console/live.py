"""Notice to an open page that it may be out of date. It carries no data."""

from collections.abc import AsyncIterator

from soorma_ai.api.server.app_state import AppState
from soorma_ai.api.server.streams import HEARTBEAT_SECONDS
from soorma_ai.api.server.tail import tenant_key, tree_key
from soorma_ai.kernel.runtime.client.client import PLANS, Client
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.runtime.views.plans import own_plan

# A page is read anew no oftener than this, in seconds; where something comes all the time, than the longest.
PAUSE = 1.0
LONGEST_PAUSE = 5.0
HELLO = b"retry: 2000\n\n"
# Also at the beginning, for what came since the page was made, and at each beat of the heart, since times on it pass.
CHANGED = b"event: changed\ndata:\n\n"


async def key_of(client: Client, plan_id: str | None) -> str:
    """Return the subject to follow: the tenant, or the tree of a plan. Raise NotFound for a plan out of their sight."""
    if plan_id is None:
        return tenant_key(client.person.tenant_id)
    plan = await own_plan(client.services, client.person, plan_id, PLANS["follow"])
    return tree_key(plan.root_plan_id)


async def follow(client: Client, surroundings: AppState, key: str) -> AsyncIterator[bytes]:
    clock, tail = client.services.clock, surroundings.tail
    with tail.follow(key, client.services) as woken:
        yield HELLO
        pause = PAUSE
        while not surroundings.is_ending and not tail.is_broken:
            yield CHANGED
            await clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE) if woken.is_set() else PAUSE
            await until(woken, clock, HEARTBEAT_SECONDS)
