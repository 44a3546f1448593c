"""The processes of a soak, and the storm: one after the other is killed at random, and started again."""

import random
import socket
import threading
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from time import monotonic

import lives
from forking import forks
from lives import PLANNER, SERVER, WORKER, Brief
from nats_server import NatsServer
from postgres_server import Server

KILLED = -9
ENDS_WITHIN = 60.0
# Mean seconds between two kills.
PAUSE = 0.5
# The modules of a life, and of the program to start it; each fork begins with them loaded.
LOADED = (
    "lives",
    *(f"soorma_ai.adapters.{name}" for name in ("postgres.store", "nats.bus")),
    *(f"soorma_ai.kernel.runtime.planning.{name}" for name in ("ask_model", "decide", "machine", "planner", "turn")),
    *("jinja2.sandbox", "yaml", "soak", "pytest"),
)
# Processes of each role.
EACH = 2
ROLES = (PLANNER, WORKER, SERVER)
NATS, POSTGRES = "nats", "postgres"
# One in this number of kills hits a server, and so takes all processes with it for a while.
OFTEN = {WORKER: 4, PLANNER: 4, SERVER: 2, NATS: 2, POSTGRES: 1}


class Processes:
    """Planners, workers and servers, `EACH` of every role."""

    def __init__(self, like: Brief) -> None:
        self.briefs: list[Brief] = []
        self.faults: list[str] = []
        self._like = like
        self._ports = [_free_port() for _ in range(EACH)]
        self._running: dict[tuple[str, int], tuple[BaseProcess, Brief]] = {}
        # Starting a process reaps the others, and an exit code can be read once.
        self._one_at_a_time = threading.Lock()

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self._ports]

    @property
    def count(self) -> int:
        return EACH * len(ROLES)

    def start(self) -> None:
        for role in ROLES:
            for place in range(EACH):
                self._start(role, place)

    def must_live(self) -> None:
        """Raise AssertionError for a process ended by itself."""
        with self._one_at_a_time:
            ended = [(role, one.exitcode, brief) for (role, _), (one, brief) in self._running.items()]
        for role, how, brief in ended:
            if how not in (None, KILLED):
                raise AssertionError(f"a {role} ended by itself with {how}: {brief.last_words}")

    def working(self, role: str) -> list[int]:
        """Return the places of the processes at work; a kill before that proves nothing."""
        return [place for (kind, place), (_, brief) in self._running.items() if kind == role and brief.working.exists()]

    def kill(self, role: str, place: int) -> None:
        """SIGKILL one, and start another in its place."""
        self._end(role, place)
        self._start(role, place)

    def kill_all(self) -> None:
        for role, place in list(self._running):
            self._end(role, place)

    def _end(self, role: str, place: int) -> None:
        with self._one_at_a_time:
            process, brief = self._running.pop((role, place))
            process.kill()
            process.join(ENDS_WITHIN)
            how = process.exitcode
        if how != KILLED:
            self.faults.append(f"a {role} ended by itself with {how}: {brief.last_words}")

    def _start(self, role: str, place: int) -> None:
        like, port = self._like, self._ports[place] if role == SERVER else 0
        brief = Brief(
            role, len(self.briefs), like.store_url, like.bus_url, like.folder, like.ledger, port=port, bug=like.bug
        )
        process = forks(LOADED).Process(target=lives.begin, args=(brief,), daemon=True)
        with self._one_at_a_time:
            process.start()
            self.briefs.append(brief)
            self._running[role, place] = (process, brief)


class Storm:
    """Kills for a number of seconds. `kills` counts them by victim."""

    def __init__(
        self, processes: Processes, postgres: Server, nats: NatsServer | None, rng: random.Random, seconds: float
    ) -> None:
        self.kills: Counter[str] = Counter()
        self._processes = processes
        self._servers: dict[str, Callable[[], None]] = {POSTGRES: lambda: _again(postgres)}
        if nats is not None:
            self._servers[NATS] = lambda: _again(nats)
        self._rng = rng
        self._seconds = seconds
        self._is_over = threading.Event()

    def rage(self) -> None:
        """Return at the end, with all processes running again, and each kind killed at least once."""
        end = monotonic() + self._seconds
        names = [name for name in OFTEN if name in ROLES or name in self._servers]
        owed = self._rng.sample(names, len(names))
        while (owed or monotonic() < end) and not self._is_over.wait(self._rng.expovariate(1 / PAUSE)):
            name = owed[0] if owed else self._rng.choices(names, [OFTEN[name] for name in names])[0]
            if self._strike(name):
                self.kills[name] += 1
                owed = owed[1:]

    def _strike(self, name: str) -> bool:
        """Return False if none of these is at work."""
        if name in self._servers:
            self._servers[name]()
            return True
        working = self._processes.working(name)
        if working:
            self._processes.kill(name, self._rng.choice(working))
        return bool(working)

    def end(self) -> None:
        self._is_over.set()


def _again(server: Server | NatsServer) -> None:
    server.kill()
    server.start()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
