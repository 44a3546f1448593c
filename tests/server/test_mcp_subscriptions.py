"""Subscriptions of MCP Events: a caller's own events are posted to a proven URL, signed and in order, up to an end."""

import base64
import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from http_kit import Keys, caller
from kit import as_time_passes, kill_platform, open_platform
from mcp import MCPError
from mcp_events_kit import call
from mcp_kit import connect_mcp, serve_mcp
from receiver import Receiver

from soorma_ai import Agent, EventDefinition, Platform
from soorma_ai.features.event_subscriptions.ports import SUBSCRIPTIONS
from soorma_ai.gateways.mcp import McpGateway
from soorma_ai.gateways.mcp.events.sender import LEASE, LOOK_SECONDS
from soorma_ai.gateways.webhooks import StandardWebhooks
from soorma_ai.gateways.webhooks.outgoing import PAUSES
from soorma_ai.testing import VirtualClock

SECRET = "whsec_" + base64.b64encode(b"a key of 24 bytes and more").decode()
SHORT = "whsec_" + base64.b64encode(b"a key of 16 byte").decode()
PAID = EventDefinition(event_name="order.paid", topic="business-facts")
KEYS = Keys(maria=caller(), audit=caller("shop", "a", "auditor"), eve=caller("evil", "eve"))
SHOWN: Any = {"allow_private": True}
KILLS = 34 if os.environ.get("SOORMA_MCP_KILLS") == "all" else 2


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(200)
    made.repeats_challenges = True
    yield made
    made.close()


def till() -> Agent:
    return Agent("till", events_produced=[PAID])


async def pay(platform: Platform, *numbers: int, user: str = "maria") -> list[str]:
    client = platform.as_user(tenant_id="shop", user_id=user)
    return [await client.publish("business-facts", "order.paid", {"n": number}) for number in numbers]


def delivery(url: str, secret: str = SECRET) -> dict[str, str]:
    return {"mode": "webhook", "url": url, "secret": secret}


def told(receiver: Receiver) -> list[str]:
    """Return the ids of the posted events, in order."""
    bodies = [json.loads(post.body) for post in receiver.posts]
    return [body["eventId"] for body in bodies if "eventId" in body]


async def has_told(clock: VirtualClock, receiver: Receiver, *ids: str) -> None:
    async def is_there() -> bool:
        return set(ids) <= set(told(receiver))

    await as_time_passes(clock, is_there, LOOK_SECONDS)


@pytest.mark.parametrize("webhook_id", ["event", "message"])
async def test_own_events_are_posted_signed_and_in_order(
    platform: Platform, clock: VirtualClock, receiver: Receiver, webhook_id: str
) -> None:
    options = {**SHOWN, "webhook_id": webhook_id}
    async with serve_mcp(platform, till(), auth=KEYS, **options) as url, connect_mcp(url, "audit") as client:
        kept = await call(client, "events/subscribe", name="order.paid", delivery=delivery(receiver.url))
        sent = await pay(platform, 1, 2, user="a")
        await pay(platform, 3)
        await has_told(clock, receiver, *sent)
    assert told(receiver) == sent, "a role is no right of a subscription"
    for post, event_id in zip(receiver.posts[1:], sent, strict=True):
        message_id = StandardWebhooks(SECRET).verify(post, clock.now())
        assert (message_id == event_id) == (webhook_id == "event")
        assert post.headers["x-mcp-subscription-id"] == kept["id"]
        assert json.loads(post.body)["cursor"]


async def test_the_same_request_renews_and_an_ended_subscription_posts_nothing(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    asked: Any = {"name": "order.paid", "delivery": delivery(receiver.url), "ttlMs": 600_000}
    async with serve_mcp(platform, till(), auth=KEYS, **SHOWN) as url, connect_mcp(url, "maria") as client:
        first = await call(client, "events/subscribe", **asked)
        assert datetime.fromisoformat(first["refreshBefore"]) - clock.now() == timedelta(minutes=10)
        await clock.advance(300)
        again = await call(client, "events/subscribe", **asked)
        assert (again["id"], again["refreshBefore"] > first["refreshBefore"]) == (first["id"], True)
        assert len(receiver.posts) == 1, "the proof holds"
        await clock.advance(601)
        await pay(platform, 1)

        async def is_gone() -> bool:
            return not await platform.services.store.part(SUBSCRIPTIONS).subscriptions_of("shop", "maria")

        await as_time_passes(clock, is_gone, LOOK_SECONDS)
        assert told(receiver) == []


async def test_an_unsubscribed_receiver_gets_no_more(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    asked: Any = {"name": "order.paid", "delivery": delivery(receiver.url)}
    async with serve_mcp(platform, till(), auth=KEYS, **SHOWN) as url, connect_mcp(url, "maria") as client:
        await call(client, "events/subscribe", **asked)
        async with connect_mcp(url, "eve") as other:
            with pytest.raises(MCPError) as refused:
                await call(other, "events/unsubscribe", **asked)
            assert refused.value.code == -32011
        await call(client, "events/unsubscribe", **asked)
        await pay(platform, 1)
        await clock.advance(60)
    assert told(receiver) == []


WRONG = [
    ("https://127.0.0.1/in", SECRET),
    ("http://example.com/in", SECRET),
    ("https://me:pw@example.com/in", SECRET),
    ("https://example.com/in", "password"),
    ("https://example.com/in", SHORT),
]


async def test_a_receiver_that_cannot_be_one_is_refused(platform: Platform) -> None:
    async with serve_mcp(platform, till(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        for to, secret in WRONG:
            with pytest.raises(MCPError) as refused:
                await call(client, "events/subscribe", name="order.paid", delivery=delivery(to, secret))
            assert refused.value.code == -32602, to


async def test_a_receiver_without_the_challenge_gets_no_events(platform: Platform, receiver: Receiver) -> None:
    receiver.repeats_challenges = False
    async with serve_mcp(platform, till(), auth=KEYS, **SHOWN) as url, connect_mcp(url, "maria") as client:
        for status, reason in ((200, "challenge_failed"), (404, "http_4xx"), (503, "http_5xx"), (302, "http_4xx")):
            receiver.statuses = [status]
            with pytest.raises(MCPError) as refused:
                await call(client, "events/subscribe", name="order.paid", delivery=delivery(receiver.url))
            assert (refused.value.code, refused.value.error.data) == (-32015, {"reason": reason})
        assert not await platform.services.store.part(SUBSCRIPTIONS).subscriptions_of("shop", "maria")


async def test_an_outage_of_the_receiver_loses_nothing(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    asked: Any = {"name": "order.paid", "delivery": delivery(receiver.url), "ttlMs": None}
    async with serve_mcp(platform, till(), auth=KEYS, **SHOWN) as url, connect_mcp(url, "maria") as client:
        await call(client, "events/subscribe", **asked)
        receiver.statuses = [503]
        sent = await pay(platform, 1, 2)
        await has_told(clock, receiver, sent[0])
        receiver.statuses = [200]
        assert sent[1] not in told(receiver), "the later ones wait for the first"
        await clock.advance(PAUSES[0])
        await has_told(clock, receiver, *sent)


async def test_kills_of_the_platform_lose_no_event_and_repeat_only_the_same_id(
    tmp_path: Path, clock: VirtualClock, receiver: Receiver
) -> None:
    path = tmp_path / "events.db"
    asked: Any = {"name": "order.paid", "delivery": delivery(receiver.url), "ttlMs": None}
    async with (
        open_platform(path, clock) as first,
        serve_mcp(first, till(), auth=KEYS, **SHOWN) as url,
        connect_mcp(url, "maria") as client,
    ):
        await call(client, "events/subscribe", **asked)
    sent: list[str] = []
    for number in range(KILLS):
        killed = open_platform(path, clock)
        await killed.__aenter__()
        await killed.start(McpGateway(**SHOWN), till())
        receiver.is_open.clear()
        before = len(receiver.posts)
        sent += await pay(killed, number, number)
        await as_time_passes(clock, lambda before=before: _has_more(receiver, before), LOOK_SECONDS)
        if number % 2:  # the receipt of the first is on its way
            receiver.is_open.set()
        await kill_platform(killed)
        receiver.is_open.set()
        if not number % 2:  # the receiver died too, without a trace of the post
            del receiver.posts[before:]
    async with open_platform(path, clock) as last:
        await last.start(McpGateway(**SHOWN), till())
        await as_time_passes(clock, lambda: _are_told(receiver, sent), LEASE.total_seconds())
    posts = [post for post in receiver.posts if b"eventId" in post.body]
    assert list(dict.fromkeys(told(receiver))) == sent
    assert {post.headers["webhook-id"] for post in posts} == set(sent)


async def _has_more(receiver: Receiver, before: int) -> bool:
    return len(receiver.posts) > before


async def _are_told(receiver: Receiver, ids: list[str]) -> bool:
    return set(ids) <= set(told(receiver))
