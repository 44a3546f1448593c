"""Make a golden file with the version of the package on the path.

    python tests/golden/make.py tests/golden/v2.db

A process leaves work in every possible situation of rest, and kills itself there; its store is compacted into one small
file.
"""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

from situations import Halts, Shop

from soorma_ai import Platform
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.ports import StoredEvent, Work
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.kernel.sql.tables import budget
from soorma_ai.testing.clock import VirtualClock

HALTS = Halts(tools=frozenset({"slow"}), goals=frozenset({"order.pair"}))
AT_REST = """
    SELECT (SELECT count(*) FROM outbox) = 1
    AND (SELECT count(*) FROM plan WHERE status IN ('completed', 'failed', 'cancelled')) = 4
    AND (SELECT count(*) FROM plan WHERE status = 'paused') = 6
    AND (SELECT count(*) FROM inbox WHERE agent = 'slow@default' AND state = 'leased') = 1
    AND (SELECT count(*) FROM inbox WHERE agent = 'slow@default' AND state = 'queued') = 1
    AND (SELECT count(*) FROM inbox WHERE agent = 'pair@default' AND state = 'leased') = 1
    AND (SELECT count(*) FROM inbox WHERE agent = 'pair@default' AND state = 'blocked') = 1
    AND (SELECT count(*) FROM inbox WHERE agent = 'evening@default' AND state = 'queued') = 1
    AND (SELECT count(*) FROM inbox WHERE state = 'leased') = 3
    AND (SELECT count(*) FROM inbox WHERE state = 'dead') = 1
    AND (SELECT count(*) FROM journal WHERE plan_id NOT IN (SELECT plan_id FROM plan)) = 1
    AND (SELECT count(*) FROM early) > 0
    AND (SELECT count(*) FROM timer) > 0
"""


class Broker(LocalBus):
    """A bus that only takes published events."""

    is_broker = True


class Halting(SqlQueue):
    """Withholds one request from the bus, and halts after one decision, written down and not yet executed."""

    async def unsent(self, limit: int) -> list[StoredEvent]:
        return [row for row in await super().unsent(limit) if row.event.type != "courier.deliver"]

    async def commit(self, work: Work, now: datetime) -> Arrival:
        if work.delivery.event.type == "order.journalled":
            for settlement in work.bill:
                await self.database.write(partial(budget.settle, one=settlement))
            await asyncio.Event().wait()
        return await super().commit(work, now)


def halting(path: Path) -> SqliteStore:
    store = SqliteStore(path, ALL_FEATURES)
    store.queue = Halting(store.database)
    return store


async def leave(path: Path) -> None:
    """Work until all is at rest, and kill this process."""
    clock, shop = VirtualClock(seed="golden"), Shop(HALTS)
    async with Platform(store=halting(path), bus=Broker(), clock=clock) as platform:
        await platform.start(shop.evening())
    async with Platform(store=halting(path), bus=Broker(), clock=clock) as platform:
        changed = platform.services.signals.watch()
        await platform.start(*shop.main_agents())
        await platform.request("stock.reserve", {"sku": "B"}, idempotency_key="a client's")
        await platform.publish("business-facts", "slot.chosen", {"order_id": "e-1"}, idempotency_key="early")
        ids = {"order.awaits": "a-1", "order.cancelled": "c-1", "order.late": "l-1", "order.early": "e-1"}
        for goal in (
            *("order.done", "order.broken", "order.dead", "order.cancelled", "order.gate", "order.awaits"),
            *("order.late", "order.early", "order.leased", "order.queued", "order.unsent", "order.journalled"),
            *("order.parent", "order.evening", "order.pair"),
        ):
            data = {"order_id": ids.get(goal, goal)}
            handle = await platform.submit(goal, data, idempotency_key=goal)
            if goal == "order.cancelled":
                await handle.next_wait()
                await platform.cancel(handle.plan_id, "changed my mind")
            if goal == "order.leased":
                await _until(
                    changed, path, "SELECT count(*) = 1 FROM inbox WHERE agent = 'slow@default' AND state = 'leased'"
                )
        island = platform.as_user(tenant_id="island", user_id="ann")
        await island.submit("order.parked", {}, idempotency_key="order.parked")
        await _until(changed, path, AT_REST)
        os.kill(os.getpid(), signal.SIGKILL)


async def _until(changed: asyncio.Event, path: Path, condition: str) -> None:
    async with asyncio.timeout(20):
        while True:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
                if db.execute(condition).fetchone() == (1,):
                    return
            await changed.wait()
            changed.clear()


def make(target: Path) -> None:
    if target.exists():
        sys.exit(f"{target} exists; a golden file is never made again")
    with tempfile.TemporaryDirectory() as folder:
        left = Path(folder, "left.db")
        ended = subprocess.run([sys.executable, __file__, "--leave", str(left)], check=False).returncode
        if ended != -signal.SIGKILL:
            sys.exit(f"the process that leaves the work ended with {ended}, and was to be killed")
        with closing(sqlite3.connect(left, isolation_level=None)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("VACUUM")
            version = db.execute("PRAGMA user_version").fetchone()[0]
        left.replace(target)
    print(f"{target}: schema {version}, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    if sys.argv[1] == "--leave":
        asyncio.run(leave(Path(sys.argv[2])))
    else:
        make(Path(sys.argv[1]))
