"""A session has one owner, however many begin it at once: whoever is second is told what a stranger is told."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kit import payments, planner, stock

from soorma_ai import Platform
from soorma_ai.errors import Held, NotFound
from soorma_ai.kernel.domain.memory import SessionSummary
from soorma_ai.local_client import LocalClient
from soorma_ai.testing.scripted import complete

WAYS: dict[str, Callable[[LocalClient], Awaitable[Any]]] = {
    "submit": lambda c: c.submit("order.received", {}, session_id="talk"),
    "ask": lambda c: c.ask("inventory.reserve.requested", {"order_id": "A"}, session_id="talk"),
    "held": lambda c: c.ask("payment.charge.requested", {"amount": 1}, session_id="talk"),
    "publish": lambda c: c.publish("business-facts", "told", {}, session_id="talk"),
    "create": lambda c: c.create_session(f"of {c.person.user_id}", {"by": c.person.user_id}, session_id="talk"),
}
USERS = ("ann", "bob", "eve", "jo")


@pytest.fixture
async def started(platform: Platform) -> Platform:
    await platform.start(planner(lambda question: complete({})), stock(), payments("always"))
    return platform


def user(platform: Platform, name: str, *roles: str) -> LocalClient:
    return platform.as_user(tenant_id="default", user_id=name, roles=roles)


async def owners(platform: Platform) -> list[str]:
    return [one.user_id for one in await platform.sessions()]


async def came_in(change: Awaitable[Any]) -> bool:
    try:
        await change
    except Held:
        return True
    except NotFound as refused:
        assert "no session 'talk' of" in str(refused)
        return False
    return True


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
async def test_of_many_who_begin_a_session_at_once_one_has_it(started: Platform, first: str, second: str) -> None:
    ways = (WAYS[first], WAYS[second], WAYS[first], WAYS[second])
    clients = [user(started, name) for name in USERS]
    came = await asyncio.gather(*(came_in(way(client)) for way, client in zip(ways, clients, strict=True)))
    assert sum(came) == 1
    (session,) = await started.sessions()
    assert session.user_id == USERS[came.index(True)]
    if session.name is not None:
        assert (session.name, session.metadata) == (f"of {session.user_id}", {"by": session.user_id})
    events = (await started.events()).events
    assert {row.event.user_id for row in events if row.event.session_id} <= {session.user_id}


@pytest.mark.parametrize("way", WAYS)
async def test_who_is_second_finds_it_taken_and_changes_nothing_of_it(started: Platform, way: str) -> None:
    await user(started, "ann").publish("business-facts", "told", {}, session_id="talk")
    before = await started.sessions()
    assert not await came_in(WAYS[way](user(started, "bob")))
    assert await started.sessions() == before


@pytest.mark.parametrize("way", WAYS)
async def test_the_same_user_goes_on_in_it(started: Platform, way: str) -> None:
    ann = user(started, "ann")
    came = await asyncio.gather(*(came_in(WAYS[way](ann)) for _ in range(3)))
    assert all(came) and await owners(started) == ["ann"]


async def test_who_steers_the_tenant_may_go_into_it_and_it_stays_whose_it_is(started: Platform) -> None:
    olga = user(started, "olga", "operator")
    assert await came_in(WAYS["publish"](user(started, "ann")))
    assert await came_in(WAYS["publish"](olga))
    assert await owners(started) == ["ann"]
    named: SessionSummary = await olga.create_session("orders", session_id="talk")
    assert (named.user_id, named.name) == ("ann", "orders")


async def test_in_another_tenant_it_is_another_session(started: Platform) -> None:
    there = started.as_user(tenant_id="elsewhere", user_id="zoe")
    await asyncio.gather(WAYS["create"](user(started, "ann")), WAYS["create"](there))
    assert await owners(started) == ["ann"]
    assert [one.user_id for one in await there.sessions()] == ["zoe"]
