"""One life of a program of the proof: it may be killed at any point, and is started again on the same folder.

    python PROGRAM BRIEF        BRIEF is a `Brief` as JSON

A program calls `live(story)`. The story opens `life.platform()`, starts its agents and pursues its goals under
idempotency keys, so that telling it again changes nothing; what it does outside goes through `life.outside`. When
the story ends, the life waits until nothing is left to send or to handle, has everything delivered once more, and
waits again.
"""

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from failpoints import Failpoints
from ledger import Outside

import soorma_ai.assembly
from soorma_ai import Platform
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.errors import SoormaError
from soorma_ai.ports import StoredEvent
from soorma_ai.runtime.handling.process.signals import until

STORE = "store.db"
COUNTS = "counts.json"

FINISHED, FAILED_CLEARLY, STUCK = 0, 3, 4

# A lease of 30 s is over in 3, and timeouts in a fraction; a second of the machine is ten of the platform.
HURRY = 10
START = datetime(2026, 1, 1, tzinfo=UTC)

_NOT_AT_REST = """
    SELECT EXISTS (SELECT 1 FROM outbox)
        OR EXISTS (SELECT 1 FROM inbox WHERE state IN ('queued', 'leased'))
        OR EXISTS (SELECT 1 FROM inbox WHERE state = 'blocked')
"""


@dataclass(frozen=True)
class Brief:
    """What a life is told. `options` are the program's own; `patience` is in seconds of the machine."""

    folder: str
    ledger: str
    account: str
    life: int
    point: str = ""
    bug: str = ""
    counts: bool = False
    patience: float = 60.0
    options: dict[str, Any] = field(default_factory=dict)


class HurriedClock(SystemClock):
    """Runs on over restarts, as the machine's does, only faster."""

    hurry = HURRY

    def now(self) -> datetime:
        return START + (super().now() - START) * self.hurry

    def monotonic(self) -> float:
        return super().monotonic() * self.hurry

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / self.hurry)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        return super().call_later(seconds / self.hurry, call)


class InsistentBus(LocalBus):
    """Brings everything twice, as a bus may; all that is published, where it is a broker."""

    def __init__(self, *, is_broker: bool) -> None:
        super().__init__()
        self.is_broker = is_broker

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        await super().publish(rows)
        await super().publish(rows)


class Life:
    def __init__(self, brief: Brief) -> None:
        self.options = brief.options
        self.folder = Path(brief.folder)
        self._store = Path(brief.folder, STORE)
        self.bug = brief.bug
        counts = Path(brief.folder, brief.options.get("counts", COUNTS)) if brief.counts else None
        self._points = Failpoints(brief.point, counts)
        self._bus = InsistentBus(is_broker=brief.options.get("broker", False))
        outside = Outside
        if brief.bug and "side" not in brief.options:
            from bugs import BUGS

            outside = BUGS[brief.bug].outside
            soorma_ai.assembly.SqliteStore = BUGS[brief.bug].store
        self.outside = outside(brief.ledger, brief.account, brief.life, self._points)
        _watch_every_writer(self._points)

    def point(self, name: str) -> None:
        """A place at which this process may be killed."""
        self._points.hit(name)

    def save_counts(self) -> None:
        self._points.save_counts()

    @asynccontextmanager
    async def platform(self) -> AsyncGenerator[Platform]:
        url = f"sqlite:///{self._store}"
        async with Platform(url, bus=self._bus, clock=HurriedClock(), purpose="the crash proof") as platform:
            yield platform
            await self._come_to_rest(platform)
            stored = await platform.services.store.events.events(limit=100_000)
            await self._bus.publish(stored)
            await self._come_to_rest(platform)
        self._points.save_counts()

    def look(self, query: str) -> list[Any]:
        """Rows as they stand in the file."""
        with closing(sqlite3.connect(f"{self._store.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(query).fetchall()

    async def _come_to_rest(self, platform: Platform) -> None:
        services = platform.services
        watcher = services.signals.watch()
        with closing(sqlite3.connect(f"{self._store.absolute().as_uri()}?mode=ro", uri=True)) as db:
            while db.execute(_NOT_AT_REST).fetchone()[0]:
                await until(watcher, services.clock, 1.0)
        services.signals.unwatch(watcher)


def live(story: Callable[[Life], Awaitable[None]]) -> None:
    brief = Brief(**json.loads(sys.argv[1]))
    sys.exit(asyncio.run(lived(story, brief)))


async def lived(story: Callable[[Life], Awaitable[None]], brief: Brief) -> int:
    try:
        async with asyncio.timeout(brief.patience):
            await story(Life(brief))
    except SoormaError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return FAILED_CLEARLY
    except TimeoutError:
        print(f"no end within {timedelta(seconds=brief.patience)}", file=sys.stderr)
        return STUCK
    return FINISHED


def _watch_every_writer(points: Failpoints) -> None:
    """From the first transaction on a file that has its tables: what a restart does before anything else counts."""
    opened = files.open_writer

    def watched(path: Path | None) -> Connection:
        connection = opened(path)
        points.watch(connection)
        return connection

    files.open_writer = watched
