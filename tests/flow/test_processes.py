"""Several processes over one database, tested within one: platforms with no other shared part."""

import asyncio

import pytest
from kit import happens, order, planner
from postgres_server import is_there, shared

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import publish

pytestmark = pytest.mark.skipif(not is_there(), reason="no wheel that brings a PostgreSQL server is installed")


class Endless:
    """A tool with a handler that does not end by itself."""

    def __init__(self) -> None:
        self.began, self.stopped = asyncio.Event(), asyncio.Event()
        self.tool = Tool("stock")
        self.tool.on_invoke("inventory.reserve.requested")(self.handle)

    async def handle(self, request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return {}


@pytest.mark.parametrize("is_told", [True, False], ids=["as it is told", "though nobody has told it"])
async def test_cancelling_a_plan_in_one_process_stops_its_handler_in_another(is_told: bool) -> None:
    url = shared().database()
    work, clock = Endless(), VirtualClock()
    async with Platform(url, clock=clock) as working, Platform(url, clock=clock) as asking:
        await working.start(work.tool)
        plan = await order(asking, planner([publish("inventory.reserve.requested", order_id="A")]))
        await happens(work.began)
        if not is_told:
            working.services.store.notify(lambda is_leaving: None, lambda arrival: None)
        await asking.cancel(plan.plan_id)
        if not is_told:
            await clock.advance(LEASE / 3)
        await happens(work.stopped)
