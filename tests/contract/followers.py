"""Followers of the log, while several processes write, pause and are killed: each sees every event once.

python tests/contract/followers.py                             20,000 events by 6 processes, 3 followers
python tests/contract/followers.py --events 2000 --planted     without marks, at least one must be missed
"""

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
import time

import psycopg
from msgspec import Struct
from postgres_server import Server, serving
from store_kit import fact

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.sql.connection import Connection as AnyConnection
from soorma_ai.kernel.sql.tables import events as log

DURABLE = {"fsync": "on", "synchronous_commit": "on", "autovacuum": "on"}
CLOCK = SystemClock()
FOLLOWERS = 3
AT_ONCE = 6
# Seconds that a transaction stays open behind its events, at most, and between kills.
LONGEST = 0.02
PAUSE = 0.4


class Outcome(Struct, frozen=True):
    """Events in the log, those that a follower missed or saw twice, kills, and the 99th percentile of the seconds from
    the call that wrote an event until a follower saw it."""

    events: int
    missed: int
    doubled: int
    kills: int
    late: float


async def write(url: str, name: str, events: int) -> None:
    """Write events, each in a transaction of its own key that stays open for a while."""
    source = random.Random(name)

    async def write_one(number: int) -> None:
        event = fact(f"{name}-{number}").model_copy(update={"time": CLOCK.now()})
        pause = source.random() * LONGEST

        def writing(db: AnyConnection) -> None:
            log.publish(db, event)
            time.sleep(pause)

        await store.database.publish(writing, event.time, keys=frozenset({event.id}))

    store = PostgresStore(url, ALL_FEATURES)
    await store.open(CLOCK.now())
    for first in range(0, events, AT_ONCE):
        await asyncio.gather(*(write_one(number) for number in range(first, min(first + AT_ONCE, events))))
    await store.close()


class Follower:
    """Reader of the log by cursor."""

    def __init__(self, url: str) -> None:
        self.store = PostgresStore(url, ALL_FEATURES, read_only=True)
        self.seen: list[str] = []
        self.waited: list[float] = []
        self.place = 0

    async def look(self) -> None:
        for found in await self.store.events.events(after=self.place, limit=500):
            self.seen.append(found.event.id)
            self.waited.append((CLOCK.now() - found.event.time).total_seconds())
            self.place = found.seq

    async def follow(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(0.005)


async def prove(
    server: Server, events: int, processes: int, kills: int, *, seed: int = 1, planted: bool = False
) -> Outcome:
    url, source = server.database(), random.Random(seed)
    opened = PostgresStore(url, ALL_FEATURES)
    await opened.open(CLOCK.now())
    await opened.close()
    followers = [Follower(url) for _ in range(FOLLOWERS)]
    for one in followers:
        await one.store.open(CLOCK.now())
    following = [asyncio.ensure_future(one.follow()) for one in followers]

    def begin(name: str) -> subprocess.Popen[bytes]:
        more = ["--planted"] if planted else []
        share = str(events // processes)
        command = [sys.executable, __file__, "--write", url, name, "--events", share, *more]
        return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    writers = [begin(f"w{number}") for number in range(processes)]
    killed = 0
    while any(one.poll() is None for one in writers):
        await asyncio.sleep(PAUSE)
        place = source.randrange(processes)
        if killed < kills and writers[place].poll() is None:
            writers[place].kill()
            writers[place].wait()
            killed += 1
            writers[place] = begin(f"w{place}-{killed}")
    for one in following:
        one.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await one
    with psycopg.connect(url) as looking:
        looking.execute("SELECT set_config('soorma.house', 'on', true)")
        there = {id for (id,) in looking.execute("SELECT id FROM soorma.event").fetchall()}
    for one in followers:
        await one.look()
        await one.store.close()
    waited = sorted(seconds for one in followers for seconds in one.waited)
    return Outcome(
        len(there),
        sum(len(there - set(one.seen)) for one in followers),
        sum(len(one.seen) - len(set(one.seen)) for one in followers),
        killed,
        waited[int(len(waited) * 0.99)] if waited else 0.0,
    )


def main() -> int:
    given = argparse.ArgumentParser()
    given.add_argument("--events", type=int, default=20_000)
    given.add_argument("--processes", type=int, default=6)
    given.add_argument("--kills", type=int, default=20)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--planted", action="store_true")
    given.add_argument("--write", nargs=2)
    options = given.parse_args()
    if options.write:
        if options.planted:
            Connection.mark = "SELECT 1"  # pyright: ignore[reportAttributeAccessIssue]
        url, name = options.write
        asyncio.run(write(url, name, options.events))
        return 0
    with serving(DURABLE) as server:
        found = asyncio.run(
            prove(server, options.events, options.processes, options.kills, seed=options.seed, planted=options.planted)
        )
    print(
        f"followers: {found.events} events by {options.processes} processes, {found.kills} kills, {FOLLOWERS} "
        f"followers: {found.missed} missed, {found.doubled} doubled, p99 {found.late * 1000:.0f} ms after the call"
    )
    is_caught = found.missed > 0
    return int(not is_caught if options.planted else found.missed + found.doubled > 0)


if __name__ == "__main__":
    sys.exit(main())
