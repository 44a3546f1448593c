"""Poison and overload: one bad event, a full disk or too much work stops nothing but itself."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from kit import (
    PATIENCE,
    as_time_passes,
    happens,
    is_idle,
    open_platform,
    order,
    payments,
    planner,
    running_platform,
    stock,
    the_wait,
    until,
    wait_for_end,
)
from msgspec.structs import replace
from worst import HAS_BROKER

from soorma_ai import Agent, Held, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import Overloaded, StoreUnavailable
from soorma_ai.kernel.domain.limits import MOST_EARLY, MOST_EARLY_CHARS
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A")


async def test_a_full_backlog_holds_up_clients_and_no_plan(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_MAX_BACKLOG", "3")
    account = payments("always")
    async with open_platform(path, clock) as platform:
        minds = planner(_decide_by_prompt)
        plan = await order(platform, minds, stock(), account)
        question = await the_wait(platform)
        gone = Agent("gone")
        gone.on_event("noise", topic="business-facts")(lambda event, context: None)
        await platform.services.store.registry.register([gone.registration()], clock.now())
        for _ in range(3):
            await platform.publish("business-facts", "noise", {})
        await until(platform, lambda: backlog_is(platform, range(3, 4)))
        with pytest.raises(Overloaded, match=r"3 deliveries wait already, so .order\.received. was not taken"):
            await platform.submit("order.received", {})
        ann = platform.as_user(tenant_id="default", user_id="ann")
        with pytest.raises(Overloaded):
            await ann.request("payment.charge.requested", {"amount": 1})
        with pytest.raises(Overloaded):
            await platform.request("inventory.reserve.requested", {"order_id": "B"})
        await platform.publish("business-facts", "order.noted", {}, plan_id=plan.plan_id)
        assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
        assert await plan.result(timeout=PATIENCE) == {"ok": True}
        await platform.start(gone)
        await until(platform, lambda: is_idle(platform))
        assert (await platform.submit("order.received", {})).plan_id


@pytest.mark.parametrize("name", ["ann", "local"])
async def test_held_requests_count_for_their_user_alone(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SOORMA_MAX_BACKLOG", "3")
    async with running_platform(path, clock, payments("always"), stock()) as platform:
        ann, ben = (platform.as_user(tenant_id="default", user_id=user) for user in (name, "ben"))
        held: list[Held] = []
        for n in range(3):
            with pytest.raises(Held) as one:
                await ann.request("payment.charge.requested", {"amount": n}, idempotency_key=str(n))
            held.append(one.value)
        with pytest.raises(Overloaded, match=rf"3 requests of {name} are held .*`soorma inbox` lists them"):
            await ann.request("payment.charge.requested", {"amount": 9})
        with pytest.raises(Held):
            await ann.request("payment.charge.requested", {"amount": 2}, idempotency_key="2")
        with pytest.raises(Held):
            await ben.request("payment.charge.requested", {"amount": 9})
        for client in (ann, ben):
            assert (await client.request("inventory.reserve.requested", {"order_id": "A"}, timeout=PATIENCE))["success"]
        assert len(await platform.waits(limit=2)) == 2
        assert await platform.answer(held[0].wait_id, {"approved": False}) == "accepted"
        with pytest.raises(Held):
            await ann.request("payment.charge.requested", {"amount": 9})


async def test_a_gone_store_holds_up_only_the_clients_of_its_events(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_MAX_BACKLOG", "3")
    far = Tool("far")

    @far.on_invoke("pay.requested")
    async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {}

    async with running_platform(path, clock, stock(), planner([RESERVE, complete({"ok": True})] * 2)) as platform:
        registry = platform.services.store.registry
        await registry.register([replace(far.registration(), store="there")], clock.now())
        for n in range(3):
            await platform.publish("action-requests", "pay.requested", {"n": n})
        await until(platform, lambda: backlog_is(platform, range(3, 4)))
        plan = await platform.submit("order.received", {})
        assert await plan.result(timeout=PATIENCE) == {"ok": True}
        assert (await platform.request("inventory.reserve.requested", {"order_id": "A"}, timeout=PATIENCE))["success"]
        with pytest.raises(Overloaded, match="3 events wait for store:there already"):
            await platform.request("pay.requested", {})
        with pytest.raises(Overloaded, match="store:there"):
            await platform.publish("action-requests", "pay.requested", {"n": 4})


async def backlog_is(platform: Platform, wanted: range) -> bool:
    return await platform.services.store.queue.backlog(99) in wanted


def _decide_by_prompt(question: ModelQuestion) -> Any:
    told = question.messages[-1].content
    if "You published payment.charge.requested" in told:
        return complete({"ok": True})
    if "You published inventory.reserve.requested" in told:
        return publish("payment.charge.requested", amount=1)
    return RESERVE


async def test_a_planner_of_one_delivery_at_a_time_ends_more_plans_than_may_wait(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_MAX_BACKLOG", "4")
    async with running_platform(
        path, clock, planner(_decide_by_prompt, max_in_flight=1), stock(), payments()
    ) as platform:
        plans: list[Any] = []
        while len(plans) < 12:
            try:
                plans.append(await platform.submit("order.received", {"n": len(plans)}))
            except Overloaded:
                await until(platform, lambda: backlog_is(platform, range(4)))
        for plan in plans:
            assert await plan.result(timeout=PATIENCE) == {"ok": True}


class SmallDisk(SqliteStore):
    """A file with a bound: SQLite itself reports a full disk."""

    async def fill(self) -> None:
        await self.database.write(lambda db: db.execute("PRAGMA max_page_count = 1").fetchone())
        filling = "INSERT INTO event (id, tenant, type, topic, digest, rest) VALUES (?, 'x', 'x', 'x', x'', ?)"
        for size in (100_000, 3_000, 100):
            for n in range(1_000):
                try:
                    await self.database.write(
                        lambda db, n=n, size=size: db.execute(filling, (f"{size}-{n}", "x" * size))
                    )
                except StoreUnavailable:
                    break

    async def make_room(self) -> None:
        await self.database.write(lambda db: db.execute("PRAGMA max_page_count = 1073741823").fetchone())
        await self.database.write(lambda db: db.execute("DELETE FROM event WHERE tenant = 'x'"))


async def test_a_full_disk_stops_intake_with_a_clear_error_and_recovers(
    path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    store, go_on, began = SmallDisk(path, ALL_FEATURES), asyncio.Event(), asyncio.Event()
    asked = 0

    def decide(question: ModelQuestion) -> Any:
        nonlocal asked
        asked += 1
        return complete({"ok": True}) if "You published" in question.messages[-1].content else RESERVE

    tool = Tool("stock")

    @tool.on_invoke("inventory.reserve.requested")
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        began.set()
        await go_on.wait()
        return {"reserved": "A", "padding": "x" * 20_000}

    async with Platform(store=store, clock=clock) as platform:
        plan = await order(platform, planner(decide), tool)
        await happens(began)
        await store.fill()
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await platform.submit("order.received", {"padding": "x" * 20_000})
        go_on.set()

        async def has_met_it() -> bool:
            return any("store_unavailable" in message for message in caplog.messages)

        await as_time_passes(clock, has_met_it)
        await store.make_room()
        await as_time_passes(clock, lambda: platform.plans(status="completed"))
        found = await wait_for_end(platform, plan.plan_id)
        assert (found.status, asked) == ("completed", 2)
        assert (await platform.submit("order.received", {"again": True})).plan_id


@pytest.mark.skipif(HAS_BROKER, reason="the bound counts what has arrived, and a broker brings it later")
async def test_events_before_their_plan_waits_for_them_are_bounded(platform: Platform) -> None:
    minds = planner([RESERVE, complete({})], external_events=["slot.chosen", "slot.left"])
    account = payments("always")
    plan = await order(platform, planner([publish("payment.charge.requested", amount=1)], name="other"), account)
    other = await platform.submit("order.received", {}, planner="other", idempotency_key="other")
    await platform.start(minds)

    async def send(n: int, plan_id: str = plan.plan_id, name: str = "slot.chosen", pad: str = "") -> None:
        data = {"n": n, "pad": pad}
        await platform.publish("business-facts", name, data, plan_id=plan_id, idempotency_key=f"{plan_id} {name} {n}")

    for n in range(MOST_EARLY):
        await send(n)
    with pytest.raises(Overloaded, match=r"200 events 'slot.chosen' .* before it waits for one"):
        await send(MOST_EARLY)
    await send(0)
    await send(0, other.plan_id)
    await send(0, name="slot.left", pad="x" * MOST_EARLY_CHARS)
    with pytest.raises(Overloaded, match=r"1 events 'slot.left' of 2,"):
        await send(1, name="slot.left")


@pytest.mark.skipif(HAS_BROKER, reason="the bound counts what has arrived, and a broker brings it later")
async def test_the_bound_holds_beside_concurrent_senders(platform: Platform) -> None:
    minds = planner([RESERVE, complete({})], external_events=["slot.chosen"])
    account = payments("always")
    plan = await order(platform, planner([publish("payment.charge.requested", amount=1)], name="other"), account)
    await platform.start(minds)

    async def send(n: int) -> None:
        await platform.publish("business-facts", "slot.chosen", {"n": n}, plan_id=plan.plan_id)

    ends = await asyncio.gather(*map(send, range(MOST_EARLY + 50)), return_exceptions=True)
    assert sum(isinstance(end, Overloaded) for end in ends) == 50
    assert sum(isinstance(end, BaseException) for end in ends) == 50
