"""A session has one owner, also of several beginners at once: the second gets the error of a stranger."""

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
async def started_platform(platform: Platform) -> Platform:
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
async def test_a_session_begun_by_several_users_at_once_has_one_owner(
    started_platform: Platform, first: str, second: str
) -> None:
    ways = (WAYS[first], WAYS[second], WAYS[first], WAYS[second])
    clients = [user(started_platform, name) for name in USERS]
    came = await asyncio.gather(*(came_in(way(client)) for way, client in zip(ways, clients, strict=True)))
    assert sum(came) == 1
    (session,) = await started_platform.sessions()
    assert session.user_id == USERS[came.index(True)]
    if session.name is not None:
        assert (session.name, session.metadata) == (f"of {session.user_id}", {"by": session.user_id})
    events = (await started_platform.events()).events
    assert {row.event.user_id for row in events if row.event.session_id} <= {session.user_id}


@pytest.mark.parametrize("way", WAYS)
async def test_a_second_user_of_a_session_is_refused_and_changes_nothing(started_platform: Platform, way: str) -> None:
    await user(started_platform, "ann").publish("business-facts", "told", {}, session_id="talk")
    before = await started_platform.sessions()
    assert not await came_in(WAYS[way](user(started_platform, "bob")))
    assert await started_platform.sessions() == before


@pytest.mark.parametrize("way", WAYS)
async def test_the_same_user_goes_on_in_a_session(started_platform: Platform, way: str) -> None:
    ann = user(started_platform, "ann")
    came = await asyncio.gather(*(came_in(WAYS[way](ann)) for _ in range(3)))
    assert all(came) and await owners(started_platform) == ["ann"]


async def test_an_operator_may_use_a_session_and_its_owner_stays(started_platform: Platform) -> None:
    olga = user(started_platform, "olga", "operator")
    assert await came_in(WAYS["publish"](user(started_platform, "ann")))
    assert await came_in(WAYS["publish"](olga))
    assert await owners(started_platform) == ["ann"]
    named: SessionSummary = await olga.create_session("orders", session_id="talk")
    assert (named.user_id, named.name) == ("ann", "orders")


async def test_a_session_id_in_another_tenant_is_another_session(started_platform: Platform) -> None:
    there = started_platform.as_user(tenant_id="elsewhere", user_id="zoe")
    await asyncio.gather(WAYS["create"](user(started_platform, "ann")), WAYS["create"](there))
    assert await owners(started_platform) == ["ann"]
    assert [one.user_id for one in await there.sessions()] == ["zoe"]
