"""A platform over a store with other writers, and over an absent store."""

import asyncio
from datetime import datetime
from pathlib import Path

import pytest
from kit import happens, stock

from soorma_ai import Platform
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.sql.database import Database
from soorma_ai.kernel.sql.parts import SqlQueue


class SharedStore(SqliteStore):
    """A store: another process writes as soon as it is open."""

    async def open(self, now: datetime) -> None:
        await super().open(now)
        assert self.database.on_arrival is not None
        self.database.on_arrival(Arrival(frozenset({"stock"})))


class LateQueue(SqlQueue):
    def __init__(self, database: Database) -> None:
        super().__init__(database, None)
        self.was_away = False
        self.is_back = asyncio.Event()

    async def offer_untaken(self, after: int, limit: int, now: datetime) -> tuple[int | None, Arrival]:
        if not self.was_away:
            self.was_away = True
            raise StoreUnavailable("the server starts up")
        self.is_back.set()
        return await super().offer_untaken(after, limit, now)


async def test_writes_of_another_process_while_a_platform_opens_break_nothing(path: Path) -> None:
    async with Platform(store=SharedStore(path, ALL_FEATURES)) as platform:
        await platform.start(stock())
        reply = await platform.request("inventory.reserve.requested", {"order_id": "A"}, timeout=20)
    assert reply["success"]


async def test_an_absent_store_at_the_start_of_agents_is_a_pause_and_no_bug(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(path, ALL_FEATURES)
    queue = store.queue = LateQueue(store.database)
    async with Platform(store=store) as platform:
        await platform.start(stock())
        await happens(queue.is_back)
    said = [record.getMessage().split()[0] for record in caplog.records]
    assert (said.count("loop_failed"), said.count("loop_broke")) == (1, 0)
