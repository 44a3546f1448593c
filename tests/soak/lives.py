"""One life of a process of the storm: planners, workers, or a server. It works until it is killed."""

import asyncio
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import server_life
from failpoints import Failpoints
from ledger import Outside
from life import HurriedClock
from trades import planners, workers

import soorma_ai.assembly  # imported before the fork  # noqa: F401
from soorma_ai import Platform
from soorma_ai.adapters.postgres import PostgresStore, listener, store
from soorma_ai.api.server.serve import listen, serve
from soorma_ai.errors import TransientError
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.runtime.loops.consume import Consumer
from soorma_ai.server import app

# A lease of 30 s ends after 6: soon, and later than a renewal on a busy machine.
HURRY = 5
TRIED_AGAIN_AFTER = 0.2
LAST_WORDS = 600
PLANNER, WORKER, SERVER = "planner", "worker", "server"


@dataclass(frozen=True)
class Brief:
    """The order for a life. `bug` names the planted one."""

    role: str
    life: int
    store_url: str
    bus_url: str | None
    folder: str
    ledger: str
    port: int = 0
    bug: str = ""

    @property
    def said(self) -> Path:
        return Path(self.folder, f"{self.role}-{self.life}.stderr")

    @property
    def working(self) -> Path:
        """A file created as soon as this life works."""
        return Path(self.folder, f"{self.role}-{self.life}.works")

    @property
    def last_words(self) -> str:
        return self.said.read_text(errors="replace").strip()[-LAST_WORDS:] if self.said.exists() else ""

    @property
    def held(self) -> Path:
        """The leases handed to this life, a line each."""
        return Path(self.folder, f"{self.role}-{self.life}.leases")


class Clock(HurriedClock):
    hurry = HURRY


def begin(brief: Brief) -> None:
    """Run one life, in a process forked with all modules loaded."""
    os.dup2(os.open(brief.said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    if brief.bug:
        from soak_bugs import BUGS

        BUGS[brief.bug].plant()
    _note_leases(brief.held)
    server_life.hurry(HURRY)
    store.PostgresStore = partial(PostgresStore, absence=listener.ABSENCE)
    try:
        asyncio.run(_live(brief))
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


async def _live(brief: Brief) -> None:
    outside = Outside(brief.ledger, "soak", brief.life, Failpoints())
    agents = {PLANNER: planners, WORKER: lambda: workers(outside.effect), SERVER: list}[brief.role]()

    async def work(platform: Platform) -> None:
        await platform.start(*agents)
        if brief.role == SERVER:
            listener = listen("127.0.0.1", brief.port, is_open=True)
            await serve(app(platform, rate=None), listener, asyncio.Event(), brief.working.touch)
        brief.working.touch()
        await asyncio.Event().wait()

    await _until_open(brief, work)


async def _until_open(brief: Brief, work: Callable[[Platform], Awaitable[None]]) -> None:
    """Retry while servers are away, as a process manager does."""
    while True:
        try:
            async with Platform(brief.store_url, brief.bus_url, clock=Clock(), purpose="the soak") as platform:
                await work(platform)
        except TransientError as error:
            print(f"not open: {error}", file=sys.stderr)
            await asyncio.sleep(TRIED_AGAIN_AFTER)


def _note_leases(path: Path) -> None:
    """Write down each lease handed to this process; the file survives a kill."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    hand_over = Consumer.start

    def noted(self: Consumer, delivery: Delivery) -> "asyncio.Task[None]":
        os.write(file, f"{delivery.seq} {delivery.fence}\n".encode())
        return hand_over(self, delivery)

    Consumer.start = noted
