"""One trial: a program lives, is killed or gets errors, lives again, and is judged."""

import asyncio
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar

from blows import Blow
from forking import forks
from homes import Files, Home, Homes
from ledger import Account, Ledger
from life import COUNTS, FINISHED, STORE, Brief
from outcome import End, broken_promises, differences, end_of, journalled_questions

from soorma_ai.testing.crash.life import make_store

T = TypeVar("T")

KILLED = -signal.SIGKILL
# Seconds of a life: many times the usual, and longer than a lease.
PATIENCE = 20.0
PATIENCE_WITH_A_BUG = 5.0
GRACE = 30.0
# A killed process leaves leases to run out, and its restart waits for them without using a core.
LIVES_PER_CORE = 4
# A file in memory also keeps every write of a killed process, and is fast.
IN_MEMORY = Path("/dev/shm")

# Starting a process reaps the others, and an exit code can be read once.
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class Program:
    """A program under proof: a file that calls `life.live`, its options, the expected end of an undisturbed run, and
    points it must pass. `expect` yields the faults of an end. In the `sampled` layers it is tried at so many positions
    per seed, never at every one. With `any_order`, parallel requests are answered in any order.
    """

    name: str
    file: Path
    expect: Callable[[End], Iterable[str]]
    points: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)
    sampled: Mapping[str, int] = field(default_factory=dict)
    any_order: bool = False


@dataclass(frozen=True)
class Crashless:
    """The undisturbed run: its end, and the passes of each point."""

    end: End
    passed: Mapping[str, int]


@dataclass(frozen=True)
class Trial:
    layer: str
    position: str
    kills: int
    violations: tuple[str, ...]
    absorbed: int = 0
    errors: int = 0
    survived: bool = False


class Case:
    """One folder, and the lives of one program in it and in its home."""

    def __init__(self, stage: "Stage", program: Program, bug: str, folder: Path, home: Home) -> None:
        self.folder = folder
        self.home = home
        self.kills = 0
        self.lives = 0
        self.violations: list[str] = []
        self._stage = stage
        self._program = program
        self._bug = bug
        self.account.strike = home.strike

    @property
    def account(self) -> Account:
        return self._stage.ledger.account(self.folder.name)

    def live(
        self,
        *,
        point: str = "",
        blow: Blow = Blow.KILL,
        under: Sequence[str] = (),
        counts: bool = False,
        patience: float | None = None,
    ) -> int:
        """Run one life and return its exit code. Decisions journalled before must not be asked again."""
        known = journalled_questions(self.home.store) if self.lives else frozenset[str]()
        patience = (patience or (PATIENCE_WITH_A_BUG if self._bug else PATIENCE)) * self._stage.homes.patience
        self.lives += 1
        brief = Brief(
            folder=str(self.folder),
            ledger=str(self._stage.ledger.path),
            account=self.folder.name,
            life=self.lives,
            point=point,
            bug=self._bug,
            counts=counts,
            patience=patience,
            options=dict(self._program.options),
            store=self.home.store,
            bus=self.home.bus,
            blow=blow,
        )
        told, most = json.dumps(asdict(brief)), patience + GRACE
        if under:
            ended = self._run([*under, sys.executable, str(self._program.file), told], most)
        else:
            ended = self._fork(told, most)
        self.kills += ended == KILLED
        asked = {row["asked"] for row in self.account.notes("model", self.lives)}
        if again := sorted(asked & known):
            self.violations.append(f"{len(again)} journalled decisions were asked again: {', '.join(again)}")
        return ended

    def make_store(self) -> None:
        """Create the file in advance, so the first life finds it."""
        shutil.copy(self._stage.made_store, self.folder / STORE)

    def last_life(self, *, patience: float | None = None) -> None:
        """Run the undisturbed last life; it must come to the end."""
        ended = self.live(patience=patience)
        if ended != FINISHED:
            self.violations.append(f"the last life ended with {ended}: {self.said()}")

    def judge(self, expected: End, *, errors: int | None = 0) -> None:
        """Compare with the expected end. `errors` None: any number."""
        disturbances = None if errors is None else self.kills + errors
        self.violations += differences(expected, self.end())
        if not self.violations:
            self.violations += broken_promises(self.home.store, self.account, disturbances)

    def end(self) -> End:
        return end_of(self.home.store, self.account, any_order=self._program.any_order)

    def said(self) -> str:
        lines = (self.folder / "stderr").read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "(nothing)"

    def done(self, layer: str, position: str, *, errors: int = 0, survived: bool = False) -> Trial:
        return Trial(layer, position, self.kills, tuple(self.violations), self.account.absorbed, errors, survived)

    def _run(self, command: Sequence[str], seconds: float) -> int:
        with (self.folder / "stderr").open("ab") as stderr:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=self._stage.environment,
                start_new_session=True,
            )
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._end_by_force(process.pid, seconds)
                return process.wait()

    def _fork(self, told: str, seconds: float) -> int:
        process = forks().Process(target=_life, args=(str(self._program.file), told, str(self.folder / "stderr")))
        with _ONE_AT_A_TIME:
            process.start()
        if not wait([process.sentinel], seconds):
            self._end_by_force(process.pid or 0, seconds)
            wait([process.sentinel])
        with _ONE_AT_A_TIME:
            process.join()
        return process.exitcode or 0

    def _end_by_force(self, process: int, seconds: float) -> None:
        self.violations.append(f"a life hung: no end after {seconds} s")
        os.killpg(process, signal.SIGKILL)


def _life(file: str, told: str, stderr: str) -> None:
    """Run a program in this process like a command, in a session of its own."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
    sys.argv = [file, told]
    runpy.run_path(file, run_name="__main__")


class Stage:
    """The shared parts of all trials: the ledger, compiled modules, a place for folders, homes for stores; as many
    trials at once as there are cores."""

    def __init__(self, width: int | None = None, homes: Homes | None = None) -> None:
        parent = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
        self._place = Path(tempfile.mkdtemp(prefix="crash-", dir=parent))
        self.made_store = self._place / STORE
        asyncio.run(make_store(self.made_store))
        self.homes: Homes = homes or Files()
        self.ledger = Ledger(self._place / "ledger.sock")
        self.cores = os.cpu_count() or 1
        self.width = width or LIVES_PER_CORE * self.cores
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPYCACHEPREFIX": str(self._place / "compiled"),
        }
        self._pool = ThreadPoolExecutor(self.width)

    def __enter__(self) -> Self:
        self.ledger.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self.ledger.__exit__()
        shutil.rmtree(self._place, ignore_errors=True)

    @contextmanager
    def case(self, program: Program, bug: str = "") -> Generator[Case]:
        folder = Path(tempfile.mkdtemp(dir=self._place))
        try:
            with self.homes.lend(folder) as home:
                yield Case(self, program, bug, folder, home)
        finally:
            self.ledger.close_account(folder.name)
            shutil.rmtree(folder, ignore_errors=True)

    def all(self, trial: Callable[[T], Trial], positions: Iterable[T]) -> list[Trial]:
        return list(self._pool.map(trial, positions))

    def exhaust(
        self, trial: Callable[[T], Trial], positions: Iterator[T], first: int, happened: Callable[[Trial], int]
    ) -> list[Trial]:
        """Try `first` of the endless positions, then further batches until one passes without an effect."""
        done: list[Trial] = []
        size = max(first, 2 * self.cores)
        while True:
            batch = self.all(trial, list(islice(positions, size)))
            done += [one for one in batch if happened(one) or one.violations]
            if not any(happened(one) for one in batch):
                return done
            size = 2 * self.cores

    def crashless(self, program: Program) -> Crashless:
        with self.case(program) as case:
            ended = case.live(counts=True)
            if ended != FINISHED:
                raise AssertionError(f"{program.name} ends with {ended} even when nobody kills it: {case.said()}")
            end = case.end()
            passed = json.loads((case.folder / COUNTS).read_text())
            wrong = [*program.expect(end), *broken_promises(case.home.store, case.account, 0)]
        if wrong:
            raise AssertionError(f"{program.name} comes to another end even when nobody kills it: {'; '.join(wrong)}")
        if missing := program.points - passed.keys():
            raise AssertionError(f"{program.name} does not pass {', '.join(sorted(missing))}")
        return Crashless(end, passed)
