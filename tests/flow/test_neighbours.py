"""Two stores on one NATS and one namespace work together: what the agents of one ask, those of the other do."""

from pathlib import Path

import pytest
from kit import PATIENCE, ORDER_ID, payments, planner, stock, the_wait, until
from nats_server import NatsServer
from worst import HAS_BROKER

from soorma_ai import Approval, Platform
from soorma_ai.ports import ModelQuestion
from soorma_ai.domain.values import JsonObject
from soorma_ai.testing.scripted import complete, publish

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="it chooses its bus itself, and runs once")


def reserve_then_complete(question: ModelQuestion) -> JsonObject:
    came = "The goal came" in question.messages[-1].content
    return publish("inventory.reserve.requested", order_id="A") if came else complete({"ok": True})


async def test_a_planner_in_one_store_is_answered_by_a_tool_in_another(tmp_path: Path, nats_server: NatsServer) -> None:
    url = nats_server.namespace_url()
    async with Platform(f"sqlite:///{tmp_path / 'home'}", url) as home, Platform(f"sqlite:///{tmp_path / 'there'}", url) as there:
        await home.start(planner(reserve_then_complete))
        plan = await home.submit("order.received", {"number": 1})
        await there.start(stock())
        assert await plan.result(timeout=PATIENCE) == {"ok": True}
