"""The soak: planners, workers, HTTP servers, nats-server and the postmaster are killed at random under a thousand
plans, while people answer twice and clients ask twice. After the storm all work is completed in peace and compared with
undisturbed plans.

    python tests/soak/soak.py                                         60 s, 1,000 plans, PostgreSQL alone
    python tests/soak/soak.py --bus nats --seed 7                     beside it NATS
    python tests/soak/soak.py --seconds 10 --plans 60                 a small one
    python tests/soak/soak.py --planted                               each planted bug must be caught
"""

import argparse
import asyncio
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

import ends
import postgres_server
import psycopg
from callers import Callers
from ends import Rows
from ledger import Ledger
from lives import WORKER, Brief, Clock
from nats_server import NatsServer
from soak_bugs import BUGS
from storm import NATS, POSTGRES, Processes, Storm
from trades import AGENTS, GOALS, name_of, planners, workers

# Seconds without any change before the soak counts as stuck.
from soorma_ai import Platform
from soorma_ai.clients.asynchronous import AsyncClient

PATIENCE = 300.0
PATIENCE_WITH_A_BUG = 30.0
# A bug shows itself soon.
SECONDS_WITH_A_BUG, PLANS_WITH_A_BUG = 10.0, 30
ACCOUNT = "soak"
LOOKS_AGAIN_AFTER = 1.0
# An unanswered call is repeated at another server after this time.
ANSWERED_WITHIN = 20.0
# Percent of the storm's time in which goals are given.
GIVEN_WITHIN = 0.8
# One label is requested for this number of plans.
PLANS_PER_LABEL = 5
SHOWN = 12


Task = asyncio.Task[None]


@dataclass(frozen=True)
class SoakOptions:
    """`bus` is nats or none; `bug` names the planted bug."""

    seconds: float = 60.0
    plans: int = 1_000
    seed: int = 1
    bus: str = "none"
    bug: str = ""
    patience: float = PATIENCE


@dataclass
class SoakResult:
    """The outcome of a soak. `lost` and `doubled` are the faults; `said` is the folder with the output of the
    processes."""

    wanted: SoakOptions
    completed: int = 0
    effects: int = 0
    kills: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    said: Path | None = None

    @property
    def is_good(self) -> bool:
        return self.completed == self.wanted.plans and not self.lost and not self.doubled

    def summary(self) -> str:
        servers = (NATS, POSTGRES)
        workers = sum(often for name, often in self.kills.items() if name not in servers)
        kills = f"{workers} worker, {self.kills[NATS]} nats, {self.kills[POSTGRES]} postgres kills"
        ended = f"{self.completed}/{self.wanted.plans} plans, {self.effects} effects"
        return f"soak: {ended}, {kills}, {len(self.lost)} lost, {len(self.doubled)} doubled (seed {self.wanted.seed})"


@dataclass(frozen=True)
class Works:
    """All working processes, over the store of a URL."""

    processes: Processes
    callers: Callers
    url: str
    bus_url: str | None


class Soak:
    """One run over servers of its own."""

    def __init__(self, wanted: SoakOptions, folder: Path, ledger: Ledger, postgres: postgres_server.Server) -> None:
        self._wanted = wanted
        self._folder = folder
        self._ledger = ledger
        self._postgres = postgres
        self._nats = NatsServer(folder / "nats") if wanted.bus == "nats" else None
        self._rng = random.Random(wanted.seed)
        self._soaked = SoakResult(wanted)

    async def run(self) -> SoakResult:
        if self._nats is not None:
            self._nats.start()
        try:
            like = await self._undisturbed_rows()
            await self._in_a_storm(like)
        finally:
            if self._nats is not None:
                self._nats.stop()
        return self._soaked

    async def _undisturbed_rows(self) -> Mapping[str, Rows]:
        """Return the rows of one example of each kind, in one process. Raise AssertionError for a wrong end."""
        url, counts = self._postgres.database(), dict.fromkeys((*GOALS, "label"), 1)
        async with Platform(url, clock=Clock(), purpose="the soak") as platform:
            await platform.start(*planners(), *workers(lambda *_, **__: None))
            callers = Callers([platform], self._rng)
            people = asyncio.create_task(callers.answer_all())
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._give(callers, counts, 0.0)
                    now = await _ended(url, len(GOALS))
            finally:
                people.cancel()
        found = ends.look(url)
        if found.lost or now.completed < len(GOALS):
            raise AssertionError(f"nobody disturbed it, and all the same: {now}; {'; '.join(found.lost)}")
        return ends.kinds_of(found)

    async def _in_a_storm(self, like: Mapping[str, Rows]) -> None:
        wanted, counts, soaked = self._wanted, _counts(self._wanted.plans), self._soaked
        async with self._working() as works:
            storm = Storm(works.processes, self._postgres, self._nats, self._rng, wanted.seconds)
            raging = asyncio.create_task(self._rage(works, storm))
            try:
                await self._until_done(works, counts, raging)
            finally:
                storm.end()
                await raging
        account, found = self._ledger.account(ACCOUNT), ends.look(works.url)
        ends.judge(found, _names(counts), like, works.callers.told, account)
        soaked.kills, soaked.effects = storm.kills, len(account.effects)
        soaked.lost += [*works.processes.faults, *found.lost]
        soaked.doubled += [*found.doubled, *ends.held_twice(brief.held for brief in works.processes.briefs)]

    async def _rage(self, works: Works, storm: Storm) -> None:
        """Let the storm rage; its last blow kills all processes at once, and they start again."""
        try:
            await asyncio.to_thread(storm.rage)
            await asyncio.to_thread(works.processes.kill_all)
            storm.kills[WORKER] += works.processes.count
            if works.bus_url is not None:
                self._soaked.lost += await ends.acknowledged_too_early(works.url, works.bus_url)
        finally:
            works.processes.start()

    async def _until_done(self, works: Works, counts: Mapping[str, int], storm: Task) -> None:
        """Give goals during the storm, and wait for its end and for all work."""
        callers, over = works.callers, self._wanted.seconds * GIVEN_WITHIN
        given = asyncio.create_task(self._give(callers, counts, over))
        tasks = [given, asyncio.create_task(callers.answer_all()), asyncio.create_task(callers.follow())]
        try:
            await self._watch(works, given, storm, tasks)
        finally:
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                fault = ended.exceptions[0] if isinstance(ended, ExceptionGroup) else ended
                if isinstance(fault, Exception):
                    self._soaked.lost.append(f"a caller gave up: {type(fault).__name__}: {fault}")

    async def _watch(self, works: Works, given: Task, storm: Task, tasks: Sequence[Task]) -> None:
        """Return once all work is done and the log read to its end, a caller has failed, or progress has stopped."""
        soaked, mark, changed = self._soaked, tuple[object, ...](), monotonic()
        while not any(task.done() and (task not in (given, storm) or task.exception()) for task in (*tasks, storm)):
            works.processes.must_live()
            now, read = await self._progress(works.url), len(works.callers.told.seen)
            soaked.completed = now.completed if now else soaked.completed
            if storm.done() and given.done() and now and now.is_over(soaked.wanted.plans) and read >= now.events:
                return
            if (now, read, storm.done(), given.done()) != mark:
                mark, changed = (now, read, storm.done(), given.done()), monotonic()
            elif storm.done() and monotonic() - changed > soaked.wanted.patience:
                soaked.lost.append(f"nothing moves any more: {now}, {read} events read")
                return
            await asyncio.sleep(LOOKS_AGAIN_AFTER)

    async def _progress(self, url: str) -> ends.Progress | None:
        """Return None while the server is away."""
        with suppress(psycopg.Error):
            return await asyncio.to_thread(ends.progress, url)
        return None

    async def _give(self, callers: Callers, counts: Mapping[str, int], over: float) -> None:
        """Give goals one after the other, so there is work from the beginning of the storm to near its end."""
        asked = [(kind, number) for kind, count in counts.items() for number in range(count)]
        self._rng.shuffle(asked)
        begun = monotonic()
        async with asyncio.TaskGroup() as giving:
            for place, (kind, number) in enumerate(asked):
                await asyncio.sleep(max(0.0, begun + over * place / len(asked) - monotonic()))
                giving.create_task(callers.pursue(kind, number))

    @asynccontextmanager
    async def _working(self) -> AsyncGenerator[Works]:
        """Start all processes over a database and a namespace of their own, and wait for the registration of all
        agents."""
        url = self._postgres.database()
        bus = self._nats.namespace_url() if self._nats is not None else None
        like = Brief("", 0, url, bus, str(self._folder), str(self._ledger.path), bug=self._wanted.bug)
        processes = Processes(like)
        clients = [AsyncClient(url, tries=1, timeout=ANSWERED_WITHIN) for url in processes.urls]
        try:
            processes.start()
            while await asyncio.to_thread(ends.registered, url) < AGENTS:
                processes.must_live()
                await asyncio.sleep(LOOKS_AGAIN_AFTER)
            yield Works(processes, Callers(clients, self._rng), url, bus)
        finally:
            await asyncio.to_thread(processes.kill_all)
            for client in clients:
                await client.aclose()


async def _ended(url: str, plans: int) -> ends.Progress:
    while True:
        now = await asyncio.to_thread(ends.progress, url)
        if now.is_over(plans):
            return now
        await asyncio.sleep(LOOKS_AGAIN_AFTER)


def _names(counts: Mapping[str, int]) -> list[str]:
    return [name_of(kind, number) for kind, count in counts.items() for number in range(count)]


def _counts(plans: int) -> dict[str, int]:
    """Return the wanted number of each kind."""
    return {"order": plans - plans // 2, "parcel": plans // 2, "label": plans // PLANS_PER_LABEL}


def soak(wanted: SoakOptions) -> SoakResult:
    """Run a soak; keep the output of its processes in case of a fault."""
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    with Ledger(folder / "ledger.sock") as ledger, postgres_server.serving(postgres_server.DURABLE) as postgres:
        soaked = asyncio.run(Soak(wanted, folder, ledger, postgres).run())
    if soaked.is_good or wanted.bug:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        soaked.said = folder
    return soaked


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so no server is left behind
    parser = argparse.ArgumentParser(description="kill everything at random, and lose nothing")
    parser.add_argument("--seconds", type=float, default=SoakOptions.seconds, help="of the storm (default: 60)")
    parser.add_argument("--plans", type=int, default=SoakOptions.plans, help="(default: 1000)")
    parser.add_argument("--seed", type=int, default=SoakOptions.seed)
    parser.add_argument("--bus", choices=("none", "nats"), default="none")
    parser.add_argument("--planted", action="store_true", help="plant every bug, each of which must be caught")
    given = parser.parse_args()
    wanted = SoakOptions(given.seconds, given.plans, given.seed, given.bus)
    return planted(wanted) if given.planted else _proof(wanted)


def _proof(wanted: SoakOptions) -> int:
    soaked = soak(wanted)
    for wrong in (*soaked.lost[:SHOWN], *soaked.doubled[:SHOWN]):
        print(f"  {wrong}")
    if soaked.said is not None:
        print(f"  what the processes said: {soaked.said}/*.stderr")
    print(soaked.summary())
    return 0 if soaked.is_good else 1


def planted(wanted: SoakOptions) -> int:
    wanted = replace(wanted, seconds=min(wanted.seconds, SECONDS_WITH_A_BUG), plans=min(wanted.plans, PLANS_WITH_A_BUG))
    caught = 0
    for name, bug in BUGS.items():
        soaked = soak(replace(wanted, bug=name, bus=bug.bus, patience=PATIENCE_WITH_A_BUG))
        shown = [wrong for wrong in (*soaked.lost, *soaked.doubled) if bug.shows in wrong]
        caught += bool(shown)
        print(f"{name}: {f'caught, {shown[0][:160]}' if shown else 'NOT CAUGHT'}; {soaked.summary()}", flush=True)
    print(f"soak: {caught}/{len(BUGS)} planted bugs caught (seed {wanted.seed})")
    return 0 if caught == len(BUGS) else 1


if __name__ == "__main__":
    sys.exit(main())
