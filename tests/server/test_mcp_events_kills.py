"""Polls and streams of MCP Events under kills of either side: no event is missed, and doubled ones have the same id.
`make mcp` has all kills, the gate a few."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from http_kit import Keys, caller
from kit import kill_platform, open_platform
from mcp_events_kit import Frames, call, streaming
from mcp_kit import connect_mcp, serve_mcp

from soorma_ai import Agent, EventDefinition, Platform

KEYS = Keys(maria=caller())
PAID = EventDefinition(event_name="order.paid", topic="business-facts")
KILLS = 33 if os.environ.get("SOORMA_MCP_KILLS") == "all" else 1


class Inbox:
    """Durable side of a client: each event and the cursor behind it. A killed client keeps the events of its last
    answer, without the cursor."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self.ids: list[str] = []

    def take(self, ids: list[str], cursor: str, *, is_killed: bool) -> None:
        self.ids += ids
        if not is_killed:
            self.cursor = cursor


async def poll(url: str, inbox: Inbox, *, is_killed: bool) -> None:
    async with connect_mcp(url, "maria") as client:
        while True:
            found = await call(client, "events/poll", name="order.paid", cursor=inbox.cursor, maxEvents=2)
            inbox.take([one["eventId"] for one in found["events"]], found["cursor"], is_killed=is_killed)
            if is_killed or not found["hasMore"]:
                return


async def stream(url: str, inbox: Inbox, *, is_killed: bool) -> None:
    frames = Frames()
    async with (
        connect_mcp(url, "maria", extensions=[frames]) as client,
        streaming(client, name="order.paid", cursor=inbox.cursor),
    ):
        if inbox.cursor is None:
            inbox.cursor = (await frames.next("active"))["cursor"]
            return
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(0.5):
                    told = await frames.next("event")
                inbox.take([told["eventId"]], told["cursor"], is_killed=is_killed)
                if is_killed:
                    return


@pytest.mark.parametrize("read", [poll, stream])
async def test_kills_of_either_side_miss_no_event(tmp_path: Path, read: Any) -> None:
    inbox, sent = Inbox(), list[str]()
    await _live(tmp_path, read, inbox, sent, 0, is_killed=False)
    for _ in range(KILLS):
        await _live(tmp_path, read, inbox, sent, 3, is_killed=True)
    await _live(tmp_path, read, inbox, sent, 0, is_killed=False)
    assert list(dict.fromkeys(inbox.ids)) == sent
    assert len(inbox.ids) > len(sent), "a killed client reads again"


async def _live(folder: Path, read: Any, inbox: Inbox, sent: list[str], number: int, *, is_killed: bool) -> None:
    """Publish events, let the client read, and kill both."""
    platform: Platform = open_platform(folder / "events.db")
    await platform.__aenter__()
    async with serve_mcp(platform, Agent("till", events_produced=[PAID]), auth=KEYS) as url:
        maria = platform.as_user(tenant_id="shop", user_id="maria")
        sent += [await maria.publish("business-facts", "order.paid", {}) for _ in range(number)]
        await read(url, inbox, is_killed=is_killed)
    await kill_platform(platform)
