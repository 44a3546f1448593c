"""SIGKILL of either side: of the process with the store, and of the process with agents and no store.

Each life of a side has a point for its kill; a killed process is started again at once. A trial ends with the order
done and all queues empty, and is judged like every trial.
"""

import json
import random
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock

import remote_flow
from failpoints import ANY
from forking import forks
from life import FINISHED, Brief
from outcome import End, broken_promises, differences, end_of
from trial import KILLED, Program, Stage, Trial

LAYER = "remote agents"
STORE, AGENTS = "store", "agents"
SIDES = (STORE, AGENTS)
_PROGRAM = Program("an order with remote agents", Path(remote_flow.__file__), lambda end: ())

# Many times the usual time: the lease of a killed process lasts three seconds.
PATIENCE = 300.0
PAUSE = 0.02
GRACE = 30.0
KILLS_OF_A_SIDE = 2
WITHIN_RECOVERY = {STORE: 60, AGENTS: 12}
WITHOUT_FENCE = "commit without fence"
# A kill after a commit loses its answer: the other side reports again.
AFTER_COMMIT = "commit.after"

# Starting a process reaps the others, and an exit code can be read once.
_FORKING = Lock()

Passed = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Position:
    """The points of kills on each side, one after the other."""

    store: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"store {', '.join(self.store) or 'never'}; agents {', '.join(self.agents) or 'never'}"


@dataclass(frozen=True)
class UndisturbedRun:
    """The undisturbed run: its end, and the passes of each point by side."""

    end: End
    passed: Passed


def undisturbed_run(stage: Stage) -> UndisturbedRun:
    with stage.case(_PROGRAM) as case:
        pair = Pair(stage, case.folder, Position(), counts=True)
        pair.run()
        if pair.violations:
            raise AssertionError(f"the order with remote agents does not end: {pair.violations}")
        end = end_of(case.home.store, case.account)
        wrong = list(broken_promises(case.home.store, case.account, 0))
        wrong += [f"{name}: {end[name]}" for name in ("dead letters", "not handled", "not sent") if end.get(name)]
        if wrong or '"completed"' not in end["plans"][0]:
            raise AssertionError(f"the order with remote agents does not end well: {wrong}, {end.get('plans')}")
        passed = {side: json.loads((case.folder / f"{side}.json").read_text()) for side in SIDES}
        return UndisturbedRun(end, passed)


def draw(passed: Passed, count: int, rng: random.Random) -> list[Position]:
    """Draw positions for kills of each side, at a point of the undisturbed run, and again during recovery; every name
    of a point is as likely as every other."""

    def points(side: str) -> tuple[str, ...]:
        name = rng.choice(sorted(passed[side]))
        first = f"{name}:{rng.randint(1, passed[side][name])}"
        return (first, *(f"{ANY}:{rng.randint(1, WITHIN_RECOVERY[side])}" for _ in range(KILLS_OF_A_SIDE - 1)))

    return [Position(points(STORE), points(AGENTS)) for _ in range(count)]


def after_commits(passed: Passed) -> list[Position]:
    """Return the positions with a lost answer to a commit."""
    return [Position((f"{AFTER_COMMIT}:{number}",)) for number in range(1, passed[STORE][AFTER_COMMIT] + 1)]


def trial(stage: Stage, expected: End, position: Position, bug: str = "") -> Trial:
    with stage.case(_PROGRAM) as case:
        pair = Pair(stage, case.folder, position, bug=bug)
        pair.run()
        found = [*pair.violations, *differences(expected, end_of(case.home.store, case.account))]
        found = found or list(broken_promises(case.home.store, case.account, pair.kills))
        return Trial(LAYER, str(position), pair.kills, tuple(found), case.account.absorbed)


def run(stage: Stage, expected: End, chosen: Sequence[Position], bug: str = "") -> list[Trial]:
    return stage.all(partial(trial, stage, expected, bug=bug), chosen)


def hunt(stage: Stage, known: UndisturbedRun) -> str:
    """Return the position at which the planted bug shows; empty for an uncaught bug."""
    for position in (Position(), *after_commits(known.passed)):
        caught = trial(stage, known.end, position, WITHOUT_FENCE).violations
        if shown := [violation for violation in caught if violation.startswith("memory")]:
            return f"{position}: {shown[0][:160]}"
    return ""


class Pair:
    """Both processes over one folder."""

    def __init__(self, stage: Stage, folder: Path, position: Position, *, bug: str = "", counts: bool = False) -> None:
        self.kills = 0
        self.violations: list[str] = []
        self._stage = stage
        self._folder = folder
        self._bug = bug
        self._counts = counts
        self._port = _free_port()
        self._points = {STORE: list(position.store), AGENTS: list(position.agents)}
        self._lives = 0

    def run(self) -> None:
        processes = {side: self._start(side) for side in SIDES}
        try:
            self._watch(processes)
        finally:
            for process in processes.values():
                process.kill()
                self._await(process, GRACE)

    def _watch(self, processes: dict[str, BaseProcess]) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for side in SIDES:
                ended = _exit_code(processes[side])
                if ended == KILLED:
                    self.kills += 1
                    processes[side] = self._start(side)
                elif (side, ended) == (STORE, FINISHED):
                    processes[AGENTS].terminate()
                    self._await(processes[AGENTS], GRACE)
                    return
                elif ended is not None:
                    self.violations.append(f"the {side} ended with {ended}: {self._said(side)}")
                    return
            time.sleep(PAUSE)
        self.violations.append(f"no end after {PATIENCE} s: {self._said(STORE)}; {self._said(AGENTS)}")

    def _start(self, side: str) -> BaseProcess:
        self._lives += 1
        brief = Brief(
            folder=str(self._folder),
            ledger=str(self._stage.ledger.path),
            account=self._folder.name,
            life=self._lives,
            point=self._points[side].pop(0) if self._points[side] else "",
            bug=self._bug,
            counts=self._counts,
            patience=PATIENCE,
            options={"side": side, "port": self._port, "counts": f"{side}.json"},
        )
        stderr = str(self._folder / f"{side}.stderr")
        process = forks().Process(target=remote_flow.begin, args=(brief, stderr), daemon=True)
        with _FORKING:
            process.start()
        return process

    def _await(self, process: BaseProcess, seconds: float) -> None:
        end = time.monotonic() + seconds
        while _exit_code(process) is None and time.monotonic() < end:
            time.sleep(PAUSE)

    def _said(self, side: str) -> str:
        said = self._folder / f"{side}.stderr"
        lines = said.read_text(errors="replace").strip().splitlines() if said.exists() else []
        return lines[-1][:300] if lines else "(nothing)"


def _exit_code(process: BaseProcess) -> int | None:
    with _FORKING:
        return process.exitcode


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
