"""One life of a program under proof: it may be killed at any point, and starts again on the same folder.

    python PROGRAM BRIEF        BRIEF is a `Brief` as JSON

A program calls `live(story)`. The story opens `life.platform()`, starts its agents and pursues its goals under
idempotency keys, so a second telling changes nothing; its outside effects go through `life.outside`. After the story,
the life waits until the queues are empty, delivers every event once more, and waits again.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from blows import Blow, Strike, Wire, kill, lose_answer
from failpoints import Failpoints
from ledger import Outside, ask_for
from open_reader import open_reader

import soorma_ai.assembly
from soorma_ai import Platform
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.errors import SoormaError
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.settings import is_postgres
from soorma_ai.testing.crash.life import TwiceBus

STORE = "store.db"
COUNTS = "counts.json"

FINISHED, FAILED_CLEARLY, STUCK = 0, 3, 4

# A lease of 30 s ends after 3, and timeouts after a fraction; a second of the machine is ten of the platform.
HURRY = 10
START = datetime(2026, 1, 1, tzinfo=UTC)

_NOT_AT_REST = """
    SELECT EXISTS (SELECT 1 FROM outbox)
        OR EXISTS (SELECT 1 FROM inbox WHERE state IN ('queued', 'leased'))
        OR EXISTS (SELECT 1 FROM inbox WHERE state = 'blocked')
"""


@dataclass(frozen=True)
class Brief:
    """The order for a life. `store` is the URL of its store unless the store is a file of its folder, `bus` the URL of
    its bus. `options` are the program's own; `patience` is in seconds of the machine."""

    folder: str
    ledger: str
    account: str
    life: int
    point: str = ""
    bug: str = ""
    counts: bool = False
    patience: float = 60.0
    options: dict[str, Any] = field(default_factory=dict)
    store: str = ""
    bus: str = ""
    blow: str = Blow.KILL


class HurriedClock(SystemClock):
    """A system clock with time running faster, also between lives."""

    hurry = HURRY

    def now(self) -> datetime:
        return START + (super().now() - START) * self.hurry

    def monotonic(self) -> float:
        return super().monotonic() * self.hurry

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / self.hurry)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        return super().call_later(seconds / self.hurry, call)


class InsistentBus(TwiceBus):
    """Delivers every event twice; as a broker, every published one."""

    def __init__(self, *, is_broker: bool) -> None:
        super().__init__()
        self.is_broker = is_broker


class Life:
    def __init__(self, brief: Brief) -> None:
        self.options = brief.options
        self.folder = Path(brief.folder)
        self._url = brief.store or f"sqlite:///{Path(brief.folder, STORE).absolute()}"
        self._bus_url = brief.bus or None
        self.bug = brief.bug
        counts = Path(brief.folder, brief.options.get("counts", COUNTS)) if brief.counts else None
        self._points = Failpoints(brief.point, counts, _strike_of(brief))
        self._bus = InsistentBus(is_broker=brief.options.get("broker", False))
        self._is_on_server = is_postgres(self._url)
        self._clock = HurriedClock()
        self._clock.hurry = brief.options.get("hurry", HURRY)
        if self._is_on_server:
            _live_on_servers(self._points, self._clock.hurry, has_bus=bool(brief.bus))
        else:
            _watch_every_writer(self._points)
        outside = Outside
        self._planted: Any = None
        if brief.bug and "side" not in brief.options:
            from bugs import BUGS

            outside = BUGS[brief.bug].outside
            self._planted = BUGS[brief.bug].plant(is_on_server=self._is_on_server)
        self.outside = outside(brief.ledger, brief.account, brief.life, self._points)

    def point(self, name: str) -> None:
        """Mark a point: the process may be killed here."""
        self._points.hit(name)

    def save_counts(self) -> None:
        self._points.save_counts()

    @asynccontextmanager
    async def platform(self) -> AsyncGenerator[Platform]:
        async with self._make_platform() as platform:
            yield platform
            await self._come_to_rest(platform)
            await self._bring_again(await platform.services.store.events.events(limit=100_000))
            await self._come_to_rest(platform)
        self._points.save_counts()

    def look(self, query: str) -> list[Any]:
        """Return rows of the store."""
        with open_reader(self._url, read_only=True) as find:
            return find(query)

    def _make_platform(self) -> Platform:
        bus = None if self._bus_url else self._bus
        given: dict[str, Any] = {"clock": self._clock, "purpose": "the crash proof"}
        if not self._is_on_server:
            soorma_ai.assembly.SqliteStore = self._planted or soorma_ai.assembly.SqliteStore
            return Platform(self._url, self._bus_url, bus=bus, **given)
        from server_life import make_store

        store = make_store(self._url, *([self._planted] if self._planted else []))
        return Platform(None, self._bus_url, store=store, bus=bus, **given)

    async def _bring_again(self, stored: Sequence[StoredEvent]) -> None:
        if not self._bus_url:
            await self._bus.publish(stored)
            return
        from nats_life import InsistentNats

        await InsistentNats.last.bring_again(stored)

    async def _come_to_rest(self, platform: Platform) -> None:
        services = platform.services
        watcher = services.signals.watch()
        with open_reader(self._url, read_only=True) as find:
            while find(_NOT_AT_REST)[0][0]:
                await until(watcher, services.clock, 1.0)
        services.signals.unwatch(watcher)


def live(story: Callable[[Life], Awaitable[None]]) -> None:
    brief = Brief(**json.loads(sys.argv[1]))
    sys.exit(asyncio.run(run_life(story, brief)))


async def run_life(story: Callable[[Life], Awaitable[None]], brief: Brief) -> int:
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
    """Watch from the first transaction on a file with tables, so the recovery of a restart counts."""
    opened = files.open_writer

    def watched_connection(path: Path | None, features: FeatureSet) -> Connection:
        connection = opened(path, features)
        points.watch(connection)
        return connection

    files.open_writer = watched_connection


def _live_on_servers(points: Failpoints, hurry: float, *, has_bus: bool) -> None:
    """Load drivers and clients only here, since most lives need none."""
    import server_life

    server_life.hurry(hurry)
    server_life.watch_writer(points)
    if has_bus:
        import nats_life

        nats_life.begin(hurry)


def _strike_of(brief: Brief) -> Strike:
    if brief.blow == Blow.KILL:
        return kill
    ask = partial(ask_for, Blow(brief.blow), brief.ledger, brief.account)

    def lose(wire: Wire | None) -> None:
        ask(wire)
        lose_answer(wire)

    return lose if brief.blow == Blow.ANSWER else ask
