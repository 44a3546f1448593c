"""MCP Events: the protocol's own client lists types of events, polls them and follows them by a cursor."""

from typing import Any

import pytest
from http_kit import Keys, caller
from kit import planner
from mcp import MCPError
from mcp_events_kit import Frames, call, streaming
from mcp_kit import connect_mcp, serve_mcp

from soorma_ai import Agent, EventDefinition, Platform
from soorma_ai.gateways.mcp.events.messages import EXTENSION
from soorma_ai.testing.scripted import complete

SCHEMA = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}
PAID = EventDefinition(event_name="order.paid", topic="business-facts", description="Paid.", payload_schema=SCHEMA)
KEYS = Keys(maria=caller(), tom=caller("shop", "tom"), eve=caller("evil", "eve"), audit=caller("shop", "a", "auditor"))


def till() -> Agent:
    return Agent("till", events_produced=[PAID])


async def pay(platform: Platform, user: str, *numbers: int | None, tenant: str = "shop") -> list[str]:
    client = platform.as_user(tenant_id=tenant, user_id=user)
    return [await client.publish("business-facts", "order.paid", {"n": number}) for number in numbers]


def ids(polled: dict[str, Any]) -> list[str]:
    return [one["eventId"] for one in polled["events"]]


async def test_types_of_events_are_listed_with_their_schemas_and_announced(platform: Platform) -> None:
    async with serve_mcp(platform, till(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        found = {one["name"]: one for one in (await call(client, "events/list"))["events"]}
        assert found["order.paid"]["payloadSchema"] == SCHEMA
        assert found["order.paid"]["description"] == "Paid."
        assert {"poll", "push"} <= set(found["order.paid"]["delivery"])
        discovered = await call(client, "server/discover")
        assert (discovered["capabilities"]["events"], EXTENSION in discovered["capabilities"]["extensions"]) == (
            {},
            True,
        )


async def test_a_poll_begins_now_and_goes_on_behind_its_cursor(platform: Platform) -> None:
    async with serve_mcp(platform, till(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        await pay(platform, "maria", 0)
        first = await call(client, "events/poll", name="order.paid")
        assert (first["events"], first["truncated"], first["hasMore"]) == ([], False, False)
        sent = await pay(platform, "maria", 1, None, 3)
        page = await call(client, "events/poll", name="order.paid", cursor=first["cursor"], maxEvents=2)
        assert (ids(page), page["hasMore"]) == (sent[:2], True)
        assert [one["data"] for one in page["events"]] == [{"n": 1}, {"n": None}]
        rest = await call(client, "events/poll", name="order.paid", cursor=page["cursor"])
        assert (ids(rest), rest["hasMore"]) == (sent[2:], False)
        again = await call(client, "events/poll", name="order.paid", cursor=first["cursor"])
        assert ids(again) == sent


async def test_events_of_other_tenants_and_users_are_invisible(platform: Platform) -> None:
    async with serve_mcp(platform, till(), auth=KEYS) as url:
        [marias] = await pay(platform, "maria", 1)
        await pay(platform, "eve", 2, tenant="evil")
        for token, expected in (("maria", [marias]), ("tom", []), ("audit", [marias])):
            async with connect_mcp(url, token) as client:
                assert ids(await call(client, "events/poll", name="order.paid", cursor="e0")) == expected, token


async def test_a_poll_of_one_plan_has_the_events_of_its_tree_alone(platform: Platform) -> None:
    agents = till(), planner([complete({}), complete({})])
    async with serve_mcp(platform, *agents, auth=KEYS) as url, connect_mcp(url, "maria") as client:
        maria = platform.as_user(tenant_id="shop", user_id="maria")
        plans = [await maria.submit("order.received", {"order_id": name}) for name in ("A", "B")]
        await pay(platform, "maria", 1)
        for plan in plans:
            await plan.result()
        found = await call(
            client, "events/poll", name="order.paid", arguments={"plan_id": plans[0].plan_id}, cursor="e0"
        )
        assert found["events"] == []
        with pytest.raises(MCPError) as refused:
            await call(client, "events/poll", name="order.paid", arguments={"plan_id": "none"}, cursor="e0")
        assert refused.value.code == -32011


INVALID: list[tuple[dict[str, Any], int]] = [
    ({"name": "no.such"}, -32011),
    ({"name": "order.paid", "cursor": "99"}, -32602),
    ({"name": "order.paid", "cursor": "e" + "f" * 30}, -32602),
    ({"name": "order.paid", "arguments": {"color": "red"}}, -32602),
    ({"name": "order.paid", "arguments": {"plan_id": 7}}, -32602),
    ({"name": "order.paid", "maxAgeMs": -1}, -32602),
]


async def test_an_invalid_poll_and_stream_are_refused(platform: Platform) -> None:
    async with serve_mcp(platform, till(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        for method in ("events/poll", "events/stream"):
            for params, code in INVALID:
                with pytest.raises(MCPError) as refused:
                    await call(client, method, **params)
                assert refused.value.code == code, params


async def test_a_cursor_beyond_the_log_begins_at_its_end_and_is_truncated(platform: Platform) -> None:
    async with serve_mcp(platform, till(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        found = await call(client, "events/poll", name="order.paid", cursor="effff")
        assert (found["events"], found["truncated"]) == ([], True)
        [sent] = await pay(platform, "maria", 1)
        assert ids(await call(client, "events/poll", name="order.paid", cursor=found["cursor"])) == [sent]


async def test_a_stream_sends_events_as_they_arrive_and_goes_on_behind_a_cursor(platform: Platform) -> None:
    frames = Frames()
    async with serve_mcp(platform, till(), auth=KEYS) as url:
        async with connect_mcp(url, "maria", extensions=[frames]) as client, streaming(client, name="order.paid"):
            assert (await frames.next("active"))["truncated"] is False
            sent = await pay(platform, "maria", 1, None)
            await pay(platform, "tom", 7)
            told = [await frames.next("event") for _ in sent]
            assert [(one["eventId"], one["data"]) for one in told] == [(sent[0], {"n": 1}), (sent[1], {"n": None})]
        later = await pay(platform, "maria", 3)
        again = Frames()
        async with (
            connect_mcp(url, "maria", extensions=[again]) as client,
            streaming(client, name="order.paid", cursor=told[0]["cursor"]),
        ):
            assert [(await again.next("event"))["eventId"] for _ in range(2)] == [sent[1], *later]
