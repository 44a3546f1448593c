"""Print the cost of work in a grown PostgreSQL database, relative to one with a thousandth of its rows, as one JSON
line.

    make grown ARGS="--plans 100000 --rounds 30"

The platform itself brings one plan to wait for an approval, and its rows are multiplied in the server with other ids:
by default 100,000 open plans and about 1,000,000 events, and a thousandth of both in the database beside it. Then each
kind of work is done in turns in both, so other load on the machine affects both. A ratio is that of medians, in
milliseconds by the clock; `flat` are those up to 1.5. The server comes from the wheel of the tests and stores nothing
permanently.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

import psycopg
from postgres_server import OWNER, Server, as_role, serving

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.api.server.tenant_stats import TENANT_STATS
from soorma_ai.testing.scripted import ScriptedReasoner, publish

# The tests' servers have less, since there are many of them.
SETTINGS = {"shared_buffers": "256MB"}
THOUSANDTH = 1000
BOUND = 1.5
REQUESTS = 4
LEASE = timedelta(seconds=30)
# Tables of no plan, or with the same rows for all plans.
SHARED = {
    *("meta", "store", "agent", "definition", "taking", "prompt_part", "session", "shelf", "memo", "memo_word"),
    *("memo_length", "memo_total", "memo_signs", "memo_numbers", "audit", "api_key", "forgetting", "access"),
}
UUID = "[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
# Absent from every text of a plan.
BEGINS = "\u241e"
NUMBERS = """
    SELECT pg_get_serial_sequence('soorma.' || table_name, column_name) FROM information_schema.columns
    WHERE table_schema = 'soorma' AND table_name = %s AND column_name = 'seq' AND is_identity = 'YES'
"""
Figures = dict[str, list[float]]


def agents() -> tuple[ChoreographyPlanner, Tool, Tool]:
    """Return a planner with some requests and then a payment, held for a person's approval."""

    def decide(question: Any) -> Any:
        told = question.messages[1].content.split("Events you can publish")[0]
        done = told.count("You published stock.reserve")
        return publish("stock.reserve", n=done) if done < REQUESTS else publish("payment.charge")

    stock, till = Tool("stock"), Tool("till")

    @stock.on_invoke("stock.reserve")
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"reserved": True}

    @till.on_invoke("payment.charge", approval="always")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"paid": True}

    return ChoreographyPlanner("orders", goals=["order.placed"], reasoner=ScriptedReasoner(decide)), stock, till


def idle() -> Tool:
    """Return a tool that registers and leaves, so its deliveries wait."""
    tool = Tool("idle")

    @tool.on_invoke("idle.asked")
    async def ask(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {}

    return tool


async def park(url: str) -> None:
    """Leave one plan waiting for an approval."""
    async with Platform(url) as platform:
        await platform.start(idle())
    async with Platform(url) as platform:
        await platform.start(*agents())
        handle = await platform.submit("order.placed", {"order_id": "A-1"})
        assert await handle.next_wait()


def multiply(url: str, times: int) -> dict[str, int]:
    """Multiply the rows as their owner, and return their new counts by table. The tenant of a row is copied."""
    session = "-c search_path=soorma -c session_replication_role=replica"
    with psycopg.connect(as_role(url, OWNER), autocommit=True, options=session) as db:
        tables = [name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'soorma'")]
        counts = {
            name: db.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0][0]
            for name in tables
            if name not in SHARED
        }
        for name in (name for name, count in counts.items() if count):
            db.execute(_statement(db, name, times, counts).encode())
            for (sequence,) in db.execute(NUMBERS, (name,)).fetchall():
                db.execute(f"SELECT setval('{sequence}', (SELECT max(seq) FROM {name}))".encode())
        db.execute("VACUUM ANALYZE")
        return {name: count * (times + 1) for name, count in counts.items() if count}


def _columns(db: psycopg.Connection, table: str) -> dict[str, str]:
    found = db.execute(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = 'soorma' AND table_name = %s AND identity_generation IS DISTINCT FROM 'ALWAYS'",
        (table,),
    )
    return dict(found.fetchall())


def _statement(db: psycopg.Connection, table: str, times: int, counts: dict[str, int]) -> str:
    """Copy the rows of a table with new ids, made with the number of their plan, and new places in sequence. The
    position of an id is found once, since it takes longer than all else."""
    found: list[str] = []
    spelled: list[str] = []
    columns = _columns(db, table)
    for name, kind in columns.items():
        found.append(f"regexp_replace({name}, '{UUID}', '{BEGINS}\\1', 'g') AS {name}" if kind == "text" else name)
        if kind == "text":
            spelled.append(f"replace({name}, '{BEGINS}', lpad(to_hex(n), 8, '0'))")
        elif name in ("seq", "event_seq"):
            apart = counts["event" if name == "event_seq" else table]
            spelled.append(f"{name} + n * {apart}")
        else:
            spelled.append(name)
    names = ", ".join(columns)
    one = f"WITH one AS MATERIALIZED (SELECT {', '.join(found)} FROM {table})"
    rows = f"{one} SELECT {', '.join(spelled)} FROM one, generate_series(1, {times}) AS n ORDER BY n"
    return f"INSERT INTO {table} ({names}) {rows}"


class Bench:
    """The work, in one database."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.figures: Figures = {}

    async def start(self) -> None:
        began = perf_counter()
        async with Platform(self.url) as platform:
            await platform.start(agents()[1])
            self._note("start-up", began)

    async def sweep(self, platform: Platform) -> None:
        """Look through all open plans, as each process does once a minute beside its work: the cost grows with them."""
        await self._time("sweep", lambda: platform.services.store.queue.sweep(platform.services.clock.now()))

    async def round(self, number: int, platform: Platform) -> None:
        store, clock = platform.services.store, platform.services.clock
        await self._time("submit", lambda: platform.submit("order.placed", {"order_id": str(number)}))
        await self._time("inbox page", lambda: platform.waits(limit=50))
        await self._time("plans page", lambda: platform.plans(limit=50))
        await self._time("commit", lambda: platform.publish("action-requests", "idle.asked", {}))
        await self._time("claim", lambda: store.queue.claim("idle", clock.now(), LEASE, 1))
        await self._time("metrics", lambda: store.part(TENANT_STATS).tenant_stats("default", clock.now(), 5_000))

    async def _time(self, what: str, do: Callable[[], Awaitable[object]]) -> None:
        began = perf_counter()
        await do()
        self._note(what, began)

    def _note(self, what: str, began: float) -> None:
        self.figures.setdefault(what, []).append((perf_counter() - began) * 1000)


def build_database(server: Server, times: int) -> tuple[str, dict[str, int]]:
    url = server.database()
    asyncio.run(park(url))
    return url, multiply(url, times - 1)


async def measure(both: Sequence[Bench], rounds: int) -> None:
    for _ in range(rounds):
        for one in both:
            await one.start()
    async with AsyncExitStack() as stack:
        platforms = [await stack.enter_async_context(Platform(one.url)) for one in both]
        for one, platform in zip(both, platforms, strict=True):
            await platform.start(agents()[1])
            await one.sweep(platform)
        for number in range(rounds):
            for one, platform in zip(both, platforms, strict=True):
                await one.round(number, platform)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--plans", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=30)
    given = options.parse_args()
    with serving(SETTINGS) as server:
        (small, _), (large, rows) = (
            build_database(server, max(1, given.plans // THOUSANDTH)),
            build_database(server, given.plans),
        )
        both = Bench(small), Bench(large)

        asyncio.run(measure(both, given.rounds))
    few, many = ({what: median(found) for what, found in one.figures.items()} for one in both)
    ratios = {what: round(many[what] / few[what], 2) for what in few}
    told = {
        "rows": {name: rows[name] for name in ("plan", "event", "expectation")},
        "ms": {what: [round(few[what], 2), round(many[what], 2)] for what in few},
        "ratio": ratios,
        "flat": sorted(what for what, ratio in ratios.items() if ratio <= BOUND),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
