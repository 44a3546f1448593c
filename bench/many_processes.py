"""Measure the events per second of several processes over one PostgreSQL database.

    make bench-processes                            all of it; ARGS="--events 300 --grid 1x1,16x4"

Requests wait in the line of a tool, and a number of workers in a number of processes handle them, each with its reply.
All messages of the processes to the server are kept and sent once more, by the same driver to the same server, from the
same database: this is the bare loop. It has one connection for each process, and no Python between. Without the locks
of its transactions, it shows the maximum of the server.
"""

import argparse
import asyncio
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from bench.process import ROOT
from bench.rows.agents import ECHO, desk
from soorma_ai import EventEnvelope, EventTopic, Platform
from soorma_ai.adapters.postgres import PostgresStore, connection
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.locks import LOCK
from soorma_ai.assembly import ALL_FEATURES
from tests.postgres_server import Server, serving

EVENTS = 1_000
GRID = "1x1,4x1,4x2,16x1,16x2,16x4"
# Like a server with durable commits.
DURABLE = {"fsync": "on", "synchronous_commit": "on", "autovacuum": "on"}
AT_ONCE = 100
# Share of the transactions of a bare loop.
MOST_FAILED = 0.2


@dataclass
class Transaction:
    """The messages from a BEGIN to its end, with the moments of its begin, its lock and its end."""

    began: float
    locked: float = 0.0
    ended: float = 0.0
    statements: list[tuple[bytes, Any, bool]] = field(default_factory=list[tuple[bytes, Any, bool]])

    def without_lock(self) -> "Transaction":
        (begin, params, is_many), *others = self.statements
        first = re.sub(rb"; SELECT pg_advisory[^;]*", b"", begin), params, is_many
        return replace(self, statements=[first, *others])

    @property
    def writes(self) -> bool:
        return b"READ WRITE" in self.statements[0][0]

    @property
    def locks(self) -> bool:
        """Tell whether it took the lock of all writers alone."""
        return LOCK.encode() in self.statements[0][0]


@dataclass(frozen=True)
class ProcessFigures:
    handled: float
    bare: float
    free: float
    round_trips: float
    commits: float
    lock_held: float
    under_lock: float


class Recording(psycopg.Cursor[Any]):
    """Keeps the messages to the server, by transactions."""

    kept: list[Transaction] = []  # noqa: RUF012
    prepared: set[bytes] = set()  # noqa: RUF012

    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        return self._keep(_bytes(query), params, lambda: super(Recording, self).execute(query, params, **more))

    def executemany(self, query: Any, params_seq: Iterable[Any], **more: Any) -> None:
        rows = list(params_seq)
        self._keep(_bytes(query), rows, lambda: super(Recording, self).executemany(query, rows, **more), is_many=True)

    def _keep(self, query: bytes, params: Any, run: Any, *, is_many: bool = False) -> Any:
        if query.startswith(b"BEGIN"):
            _open[id(self.connection)] = Transaction(time.time())
        if query.startswith(b"PREPARE"):
            self.prepared.add(query)
            return run()
        one = _open.get(id(self.connection))
        try:
            return run()
        finally:
            if one is not None:
                one.statements.append((query, params, is_many))
                one.locked = one.locked or time.time()
                if query.endswith(b"COMMIT") or query == b"ROLLBACK":
                    one.ended = time.time()
                    self.kept.append(_open.pop(id(self.connection)))


_open: dict[int, Transaction] = {}


def _bytes(query: str | bytes) -> bytes:
    return query.encode() if isinstance(query, str) else query


async def work(url: str, hands: int, kept: Path) -> None:
    """Handle until the queue is empty, then write down the messages."""
    plain = connection.connect

    def recorded(url: str, limit: StatementLimit | None = None, *, is_house: bool = False) -> psycopg.Connection:
        made = plain(url, limit, is_house=is_house)
        made.cursor_factory = Recording
        return made

    connection.connect = recorded
    async with Platform(url) as platform:
        tool = desk()
        tool.max_in_flight = hands
        await platform.start(tool)
        await asyncio.to_thread(sys.stdin.read)
        await asyncio.to_thread(kept.write_bytes, pickle.dumps((Recording.kept, Recording.prepared)))


async def fill(url: str, count: int) -> None:
    """Put a number of requests into the line of the tool, each with its sender."""
    store, now = PostgresStore(url, ALL_FEATURES), datetime.now(UTC)
    await store.open(now)
    await store.registry.register([desk().registration()], now)
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        await store.queue.arrive([_request(number, now) for number in numbers], now)
    await store.close()


def _request(number: int, now: datetime) -> EventEnvelope:
    return EventEnvelope(
        id=f"request-{number}",
        source="bench",
        type=ECHO,
        topic=EventTopic.ACTION_REQUESTS,
        time=now,
        data={"say": "hello"},
        correlation_id=f"request-{number}",
        response_event=f"{ECHO}.completed",
    )


def measure(server: Server, events: int, workers: int, processes: int) -> ProcessFigures:
    url = server.database()
    asyncio.run(fill(url, events))
    name = url.rsplit("/", 1)[1]
    for copy in ("locked", "free"):
        server.execute(f"CREATE DATABASE {name}_{copy} TEMPLATE {name}")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(processes)]
        command = [sys.executable, "-m", "bench.many_processes", "--work", url, str(workers // processes)]
        running = [subprocess.Popen([*command, str(file)], cwd=ROOT, stdin=subprocess.PIPE) for file in files]
        began, ended = _until_done(url, events)
        for one in running:
            one.communicate()
        told = [pickle.loads(file.read_bytes()) for file in files]
    said = sorted((one for kept, _ in told for one in kept), key=lambda one: one.began)
    prepared = {one for _, statements in told for one in statements}
    inside = [one for one in said if began <= one.began and one.ended <= ended]
    handled = 0.8 * events
    free = [one.without_lock() for one in said]
    return ProcessFigures(
        handled / (ended - began),
        handled / _say_again(f"{url}_locked", said, prepared, (began, ended), processes),
        handled / _say_again(f"{url}_free", free, prepared, (began, ended), processes),
        sum(len(one.statements) for one in inside) / handled,
        sum(one.writes for one in inside) / handled,
        sum(one.ended - one.locked for one in inside if one.locks) / (ended - began),
        sum(len(one.statements) for one in inside if one.locks) / handled,
    )


def _until_done(url: str, events: int) -> tuple[float, float]:
    """Return the moments of the first tenth and of nine tenths handled."""
    with connection.connect(url, is_house=True) as looking:
        while True:
            found = looking.execute("SELECT ended_at FROM soorma.inbox WHERE state = 'done' ORDER BY 1").fetchall()
            if len(found) >= events:
                return found[events // 10][0], found[events - events // 10 - 1][0]
            time.sleep(0.2)


def _say_again(
    url: str, said: Sequence[Transaction], prepared: Iterable[bytes], window: tuple[float, float], connections: int
) -> float:
    """Return the seconds for the transactions of this window, among all of them. Raise SystemExit where many fail."""
    left, times, failed, taking = iter(said), list[float](), list[psycopg.Error](), threading.Lock()

    def talk() -> None:
        with connection.connect(url) as raw:
            for statement in prepared:
                raw.execute(statement)
            while True:
                with taking:
                    one = next(left, None)
                    if one is None:
                        return
                    if window[0] <= one.began <= window[1]:
                        times.append(time.time())
                try:
                    _say(raw, one)
                except psycopg.Error as error:  # a conflict with another one, absent in the original run
                    failed.append(error)
                    raw.execute("ROLLBACK")

    threads = [threading.Thread(target=talk) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(failed) > MOST_FAILED * len(said):
        raise SystemExit(f"the bare loop says something else: {len(failed)} of {len(said)} failed, as by {failed[0]}")
    return times[-1] - times[0]


def _say(raw: psycopg.Connection, one: Transaction) -> None:
    for query, params, is_many in one.statements:
        if is_many:
            raw.cursor().executemany(query, params)
        else:
            raw.execute(query, params)


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--events", type=int, default=EVENTS)
    given.add_argument("--grid", default=GRID)
    given.add_argument("--work", nargs=3)
    options = given.parse_args()
    if options.work:
        url, hands, kept = options.work
        asyncio.run(work(url, int(hands), Path(kept)))
        return
    measured = "handled a second|bare loop|of it|without the lock|of it|round trips|of them locked|commits|lock held"
    print(f"| workers | processes | {measured.replace('|', ' | ')} |")
    print("|---" * 11 + "|")
    with serving(DURABLE) as server:
        for cell in options.grid.split(","):
            workers, processes = map(int, cell.split("x"))
            found = measure(server, options.events, workers, processes)
            print(
                f"| {workers} | {processes} | {found.handled:,.0f} | {found.bare:,.0f} "
                f"| {found.handled / found.bare:.2f} | {found.free:,.0f} | {found.handled / found.free:.2f} "
                f"| {found.round_trips:.1f} | {found.under_lock:.1f} | {found.commits:.2f} "
                f"| {found.lock_held:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
