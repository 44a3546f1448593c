"""Where the stores of trials are: each in a file of its folder, or in a database of a PostgreSQL server, beside which
may be a NATS server."""

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


def _nothing(blow: str, backend: int) -> None:
    """A file has no server that could be hit."""


@dataclass(frozen=True)
class Home:
    """Of one trial: the URLs of its store and of its bus, if it has one. `strike` is called with a blow and the number
    of the server's process that it is meant for, 0 for all."""

    store: str
    bus: str = ""
    strike: Callable[[str, int], None] = _nothing


# What a server keeps that is killed with all its processes. No machine fails here.
KILLED_AT_TIMES = {"synchronous_commit": "on", "full_page_writes": "on", "max_connections": "200"}


class Homes(Protocol):
    """`patience`: how many times longer than in a file something may take here."""

    patience: float

    def lend(self, folder: Path) -> AbstractContextManager[Home]: ...


class Files:
    patience = 1.0

    @contextmanager
    def lend(self, folder: Path) -> Generator[Home]:
        yield Home(f"sqlite:///{folder / STORE}")


class Databases:
    """Of a server, each used by one trial after the other and emptied between them, which is far shorter than another
    one. Where the server is to be killed, it has `KILLED_AT_TIMES`, and there may be one trial at a time."""

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
        """Return when it is done, and the server is there."""
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
    """Databases of a server of its own, and a NATS server of its own beside it."""
    with serving(KILLED_AT_TIMES) as server, ExitStack() as running:
        nats = None
        if with_nats:
            nats = NatsServer(Path(running.enter_context(TemporaryDirectory(prefix="crash-nats-"))))
            nats.start()
            running.callback(nats.stop)
        yield Databases(server, nats)
