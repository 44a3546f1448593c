"""Clients and a real server: streams that go on, restarts, callers without an event loop, tokens, Unix sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from client_kit import serve_platform
from http_kit import Keys, caller
from kit import payments, planner, sleeps, stock

from soorma_ai import (
    Approval,
    AsyncClient,
    Client,
    DeadlineExceeded,
    Held,
    LocalProtocolError,
    NotFound,
    PlanFailed,
    Platform,
)
from soorma_ai.api.server.serve import serve
from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.server import app
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12000)
DONE = complete({"reserved": True})
ORDER = {"order_id": "A1"}
BY_MANAGER = Approval(approvers=("manager",))
PATIENCE = 20


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


async def test_a_stream_outlives_its_server_and_nothing_is_missed_or_comes_twice(platform: Platform) -> None:
    async def publish_to(number: int) -> None:
        await platform.publish("business-facts", "order.lost", {"number": number})

    async def numbers(stream: AsyncIterator[StoredEvent], count: int) -> list[Any]:
        return [(await anext(stream)).event.data["number"] for _ in range(count)]

    async with asyncio.timeout(PATIENCE):
        async with serve_platform(platform) as url:
            client = AsyncClient(url)
            stream = client.events_stream(after=0)
            for number in range(3):
                await publish_to(number)
            assert await numbers(stream, 3) == [0, 1, 2]
        await publish_to(3)
        async with serve_platform(platform, port_of(url)), client:
            assert await numbers(stream, 1) == [3]
            await publish_to(4)
            assert await numbers(stream, 1) == [4]
            await stream.aclose()


async def test_a_long_wait_outlives_its_server(platform: Platform) -> None:
    await platform.start(planner([CHARGE, DONE]), payments(BY_MANAGER))
    async with asyncio.timeout(PATIENCE):
        async with serve_platform(platform) as url:
            client = AsyncClient(url)
            handle = await client.submit("order.received", ORDER)
            result = asyncio.create_task(handle.result(timeout=600))
            await sleeps(platform, handle.plan_id)
        async with serve_platform(platform, port_of(url)), client:
            (wait,) = await client.waits()
            assert await client.answer(wait.wait_id, {"approved": True}) == "accepted"
            assert await result == {"reserved": True}


async def test_a_plan_is_followed_as_it_goes_on(platform: Platform) -> None:
    await platform.start(planner([CHARGE, DONE]), payments(BY_MANAGER))
    async with asyncio.timeout(PATIENCE), serve_platform(platform) as url, AsyncClient(url) as client:
        handle = await client.submit("order.received", ORDER)
        asking = asyncio.create_task(handle.next_wait())
        came: list[str] = []
        async for event in handle.events():
            came.append(event.type)
            if event.type == "notification.human_input":
                wait = await asking
                assert wait is not None and await client.answer(wait.wait_id, {"approved": True}) == "accepted"
    assert came[0] == "order.received" and came[-1] == "order.received.completed"
    assert came.index("payment.charge.requested") > came.index("notification.human_input")


async def test_many_waits_hinder_no_call_and_cancelled_ones_leave_nothing_behind(platform: Platform) -> None:
    await platform.start(planner([CHARGE, DONE]), payments(BY_MANAGER))
    async with asyncio.timeout(PATIENCE), serve_platform(platform) as url, AsyncClient(url) as client:
        handle = await client.submit("order.received", ORDER)
        waiting = [asyncio.create_task(handle.result()) for _ in range(150)]
        await sleeps(platform, handle.plan_id)
        assert len(await client.plans()) == 1
        for one in waiting[1:]:
            one.cancel()
        await asyncio.gather(*waiting[1:], return_exceptions=True)
        (wait,) = await client.waits()
        await client.answer(wait.wait_id, {"approved": True})
        assert await waiting[0] == {"reserved": True}


def use_without_a_loop(url: str) -> list[str]:
    """Make the calls of a program without an event loop; return the types of the events seen."""
    with Client(url) as client:
        made = client.submit("order.received", ORDER, idempotency_key="click")
        assert client.follow(made.plan_id).goal_id == made.goal_id
        with pytest.raises(DeadlineExceeded):
            made.result(timeout=0.1)
        wait = made.next_wait(timeout=30)
        assert wait is not None and client.waits() == [client.wait(wait.wait_id)]
        assert client.answer(wait.wait_id, {"approved": True}) == "accepted"
        assert client.answer(wait.wait_id, {"approved": True}) == "duplicate"
        assert made.result(timeout=10) == {"reserved": True}
        assert client.plan(made.plan_id).status == client.trace(made.plan_id).status == "completed"
        assert client.cancel(made.plan_id) is False
        assert client.tracker.plan_progress(made.plan_id).done == 1
        assert [agent.name for agent in client.registry.query()] == ["orders", "payments", "stock"]
        assert client.request("inventory.reserve.requested", ORDER, timeout=10)["success"] is True
        with pytest.raises(Held) as held:
            client.request("payment.charge.requested", {"amount": 1}, timeout=10)
        assert client.wait(held.value.wait_id).proposed_data == {"amount": 1}
        for call in (client.plan, client.trace, client.follow, client.memory.keys):
            with pytest.raises(NotFound):
                call("nobody")
        with pytest.raises(LocalProtocolError):
            client.publish("gossip", "order.lost", {})
        client.publish("business-facts", "order.lost", {"number": 1})
        first, second = islice(client.events_stream(after=0), 2)
        assert first.event.type == "order.received" and second.seq > first.seq
        assert made.next_wait() is None
        return [event.type for event in made.events()]


async def test_a_program_without_an_event_loop_makes_the_same_calls(platform: Platform) -> None:
    await platform.start(planner([CHARGE, DONE]), payments(BY_MANAGER), stock())
    async with asyncio.timeout(PATIENCE), serve_platform(platform) as url:
        types = await asyncio.to_thread(use_without_a_loop, url)
    assert types[0] == "order.received" and types[-1] == "order.received.completed"


async def test_a_failed_plan_raises_without_an_event_loop(platform: Platform) -> None:
    await platform.start(planner([RESERVE, RESERVE], max_actions=1), stock())

    def submit(url: str) -> None:
        with Client(url) as client, pytest.raises(PlanFailed, match="limit_exceeded"):
            client.submit("order.received", ORDER).result(timeout=10)

    async with serve_platform(platform) as url:
        await asyncio.to_thread(submit, url)


async def test_a_caller_without_a_valid_token_is_refused_and_others_see_their_own_plans(platform: Platform) -> None:
    await platform.start(planner([DONE]), stock())
    keys = Keys(ours=caller("shop", "maria"), theirs=caller("spy", "mallory", "operator"))
    transport = httpx.ASGITransport(app(platform, auth=keys), client=("127.0.0.1", 5000))
    url = "http://shop.example"
    async with (
        AsyncClient(url, transport=transport) as nobody,
        AsyncClient(url, transport=transport, token="lost") as lost,
        AsyncClient(url, transport=transport, token="ours") as maria,
        AsyncClient(url, transport=transport, token="theirs") as mallory,
    ):
        for stranger in (nobody, lost):
            with pytest.raises(Unauthenticated):
                await stranger.plans()
            with pytest.raises(Unauthenticated):
                await stranger.submit("order.received", ORDER)
            with pytest.raises(Unauthenticated):
                await anext(stranger.events_stream())
        made = await maria.submit("order.received", ORDER)
        assert await made.result(timeout=10) == {"reserved": True}
        for call in (mallory.plan, mallory.trace, mallory.follow, mallory.cancel):
            with pytest.raises(NotFound):
                await call(made.plan_id)
        assert await mallory.plans() == []


async def test_a_unix_socket_is_another_way(platform: Platform, tmp_path: Path) -> None:
    place = str(tmp_path / "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    stop, started = asyncio.Event(), asyncio.Event()
    keys = Keys(ours=caller("shop", "maria"))
    serving = asyncio.create_task(serve(app(platform, auth=keys), listener, stop, started.set))
    await started.wait()
    transport = httpx.AsyncHTTPTransport(uds=place)
    async with AsyncClient("http://localhost", transport=transport, token="ours") as client:
        assert await client.publish("business-facts", "order.lost", {})
    stop.set()
    await serving
