"""Checked by pyright, never run: one Protocol of calls for every access to the platform."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any, assert_type

from pydantic import JsonValue

from soorma_ai import AsyncClient, Client, EventEnvelope, PlanHandle, Platform, PlatformClient, Wait
from soorma_ai.api.clients.blocking import BlockingPlan
from soorma_ai.api.clients.protocol import PlanCalls
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.people import AnswerOutcome
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord
from soorma_ai.kernel.ports import StoredEvent


async def looks(client: PlatformClient) -> PlanDetails:
    plan = await client.submit("order.received", {"order_id": "A1"}, idempotency_key="click")
    assert_type(plan, PlanCalls)
    assert_type(await plan.result(timeout=timedelta(minutes=1)), Any)
    assert_type(await client.waits(limit=5), list[Wait])
    assert_type(await client.request("stock.asked", {}, timeout=5), dict[str, JsonValue])
    assert_type((await client.tracker.plan_progress("plan-1")).done, int)
    return await client.plan(plan.plan_id)


async def every_client_has_the_protocol(platform: Platform, remote: AsyncClient) -> None:
    await looks(platform)
    await looks(platform.as_user(tenant_id="shop", user_id="maria"))
    await looks(remote)


def the_local_handle_has_the_protocol(plan: PlanHandle) -> PlanCalls:
    return plan


async def over_http() -> None:
    async with AsyncClient("http://localhost:8700", token="secret", timeout=5, tries=2) as client:
        plan = await client.submit("order.received", {"order_id": "A1"})
        assert_type(plan.plan_id, str)
        assert_type(await client.plans(status="active"), list[PlanRecord])
        assert_type(await client.trace(plan.plan_id), Trace)
        async for row in client.events_stream(after=7):
            assert_type(row, StoredEvent)
        events: AsyncIterator[EventEnvelope] = plan.events()
        async for event in events:
            assert_type(event, EventEnvelope)


def without_a_loop() -> None:
    with Client("http://localhost:8700", token="secret") as client:
        plan = client.submit("order.received", {"order_id": "A1"}, planner="orders")
        assert_type(plan, BlockingPlan)
        assert_type(plan.result(timeout=5), Any)
        assert_type(plan.events(), Iterator[EventEnvelope])
        assert_type(client.plans(status="active", limit=5), list[PlanRecord])
        assert_type(client.answer("wait-1", {"approved": True}, decision="approve"), AnswerOutcome)
        assert_type(client.memory.keys("plan-1"), list[str])
        assert_type(client.memory.store("a", 1, "plan-1"), bool)
        assert_type(client.tracker.untaken(limit=3)[0].event_type, str)
        assert_type(client.events_stream(), Iterator[StoredEvent])


async def type_errors(client: AsyncClient, blocking: Client) -> None:
    await client.submit("order.received", "A1")  # pyright: ignore[reportArgumentType]
    await client.plans(5)  # pyright: ignore[reportCallIssue]
    await looks(blocking)  # pyright: ignore[reportArgumentType]
    blocking.plans(status=5)  # pyright: ignore[reportArgumentType]
    blocking.submit("order.received")  # pyright: ignore[reportCallIssue]
    AsyncClient("http://localhost:8700", retries=3)  # pyright: ignore[reportCallIssue]
