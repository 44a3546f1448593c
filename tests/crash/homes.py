"""Homes for the stores of trials: a file in the trial's folder, or a database of a PostgreSQL server, optionally with a
NATS server."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Protocol

from blows import Blow
from life import STORE
from nats_server import NatsServer
from postgres_server import Server, serving


def _no_strike(blow: str, backend: int) -> None:
    """Do nothing: a file has no server."""


@dataclass(frozen=True)
class Home:
    """The URLs of one trial's store and bus. `strike` takes a blow and the number of its server process, 0 for all."""

    store: str
    bus: str = ""
    strike: Callable[[str, int], None] = _no_strike


# Settings of a server killed with all its processes. The machine itself never fails here.
KILLED_AT_TIMES = {"synchronous_commit": "on", "full_page_writes": "on", "max_connections": "200"}


class Homes(Protocol):
    """`patience`: the factor by which operations may be slower here than in a file."""

    patience: float

    def lend(self, folder: Path) -> AbstractContextManager[Home]: ...


class Files:
    patience = 1.0

    @contextmanager
    def lend(self, folder: Path) -> Generator[Home]:
        yield Home(f"sqlite:///{folder / STORE}")


class Databases:
    """The databases of a server, each lent to one trial at a time and emptied between trials; a new database takes far
    longer. A server to be killed needs `KILLED_AT_TIMES` and one trial at a time."""

    patience = 5.0

    def __init__(self, server: Server, nats: NatsServer | None = None) -> None:
        self._server = server
        self._nats = nats
        self._free: SimpleQueue[str] = SimpleQueue()

    @contextmanager
    def lend(self, folder: Path) -> Generator[Home]:
        try:
            url = self._free.get_nowait()
        except Empty:
            url = self._server.database()
        bus = self._nats.namespace_url() if self._nats is not None else ""
        yield Home(url, bus, partial(self._strike, url))
        self._end_connections(url, 0)
        self._server.make_empty(url)
        self._free.put(url)

    def _strike(self, url: str, blow: str, backend: int) -> None:
        """Strike, and return once the server is back."""
        if blow == Blow.SERVER:
            self._server.kill()
            self._server.start()
        elif blow == Blow.CONNECTION:
            self._end_connections(url, backend)

    def _end_connections(self, url: str, backend: int) -> None:
        meant = f"pid = {backend}" if backend else f"datname = '{url.rpartition('/')[2]}'"
        self._server.execute(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {meant}")


@contextmanager
def databases(*, with_nats: bool) -> Generator[Databases]:
    """Start a PostgreSQL server, and optionally a NATS server."""
    with serving(KILLED_AT_TIMES) as server, ExitStack() as running:
        nats = None
        if with_nats:
            nats = NatsServer(Path(running.enter_context(TemporaryDirectory(prefix="crash-nats-"))))
            nats.start()
            running.callback(nats.stop)
        yield Databases(server, nats)
