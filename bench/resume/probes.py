"""Probes of the six duties, each of one system over one store, and of the verbs of a resume.

The program of each system: a step drafts, a question waits for an amount, a step pays it. Drafts and payments are lines
of a ledger outside of the system.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.process import FOLDERS, ROOT, python_of
from bench.resume.ledger import DEATH, DRAFT, PAY, POINTS, read

RACERS, PROCESSES = 16, 2
SECONDS = 90
GIVEN, OTHER = 7, 9
Said = dict[str, Any]


class ProbeFailed(Exception):
    """Raised for a program without an answer."""


@dataclass(frozen=True)
class Subject:
    """System over a kind of store. `make` returns the name of a new store in a folder, `copy` the name of a copy."""

    name: str
    store: str
    module: str
    rival: str | None
    make: Callable[[Path], str]
    copy: Callable[[str, Path], str]


@dataclass
class Trial:
    """One store of a subject with its ledger."""

    subject: Subject
    folder: Path
    store: str = ""
    told: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store = self.store or self.subject.make(self.folder)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def count(self, effect: str, amount: int | None = None) -> int:
        """Return the number of lines of an effect."""
        return sum(one["effect"] == effect and amount in (None, one["amount"]) for one in read(self.ledger))

    def keys(self, effect: str) -> set[str]:
        """Return the effects as an outside service knows them: by key and amount."""
        return {f"{one['key']} {one['amount']}" for one in read(self.ledger) if one["effect"] == effect}

    def do(self, *words: str, dies_at: str = "") -> Said:
        """Run a verb in a process of its own. A killed one says nothing. Raise ProbeFailed."""
        with self._started(words, dies_at) as process:
            return self._end(process, may_die=bool(dies_at))

    def race(self, run: str, amount: int) -> list[Said]:
        """Answer at once by all racers in all processes."""
        words = ("answer", run, str(amount), str(RACERS // PROCESSES))
        with self._started(words) as first, self._started(words) as second:
            return [self._end(one) for one in self._together(first, second)]

    def copy(self, name: str) -> "Trial":
        folder = self.folder.with_name(name)
        folder.mkdir()
        return Trial(self.subject, folder, self.subject.copy(self.store, folder))

    @contextmanager
    def _started(self, words: Sequence[str], dies_at: str = "") -> Generator["subprocess.Popen[str]"]:
        command = [str(python_of(self.subject.rival)), "-m", self.subject.module, self.store, str(self.ledger), *words]
        environment = {**os.environ, **({DEATH: dies_at} if dies_at else {})}
        with (self.folder / "errors").open("a") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=environment,
            )
        try:
            if words[0] == "answer":
                self._wait_until_ready(process)
            yield process
        finally:
            process.kill()
            process.wait()

    def _wait_until_ready(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            if not line:
                raise ProbeFailed(self._errors())

    def _together(self, *processes: "subprocess.Popen[str]") -> Sequence["subprocess.Popen[str]"]:
        for one in processes:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        return processes

    def _end(self, process: "subprocess.Popen[str]", *, may_die: bool = False) -> Said:
        try:
            said, _ = process.communicate("\n" if process.stdin and not process.stdin.closed else None, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ProbeFailed(f"{self.subject.name} had not ended after {SECONDS} s") from error
        lines = [line for line in said.splitlines() if line.startswith("{")]
        if lines:
            found: Said = json.loads(lines[-1])
            return found
        if may_die and process.returncode < 0:
            return {}
        raise ProbeFailed(self._errors())

    def _errors(self) -> str:
        lines = (self.folder / "errors").read_text().strip().splitlines()
        return lines[-1] if lines else f"{self.subject.name} said nothing"


def prefix(trial: Trial) -> str:
    """Done work is not done again: one draft, with the answer in another process."""
    trial.do("begin", "r")
    trial.do("answer", "r", str(GIVEN), "1")
    return _faults({"drafts": (trial.count(DRAFT), 1), "payments": (trial.count(PAY), 1)})


def effects(trial: Trial) -> str:
    """An effect happens once: with racers in two processes, and for an outside service after a death at each point."""
    trial.do("begin", "r")
    trial.race("r", GIVEN)
    faults = [_faults({f"payments by {RACERS} racers": (trial.count(PAY), 1)})]
    for point, one in _killed(trial):
        faults.append(_faults({f"{effect}s by key, {point}": (len(one.keys(effect)), 1) for effect in (DRAFT, PAY)}))
    return "; ".join(fault for fault in faults if fault)


def forks(trial: Trial) -> str:
    """A fork gets its own answer, and the original keeps its own."""
    trial.do("begin", "r")
    trial.do("answer", "r", str(GIVEN), "1")
    fork = trial.do("fork", "r", str(OTHER))
    if "refused" in fork:
        return str(fork["refused"])
    story = trial.do("story", "r")
    found = {"fork's result": (paid(fork), OTHER), "original's result": (paid(story), GIVEN)}
    found |= {f"payments of {one}": (trial.count(PAY, one), 1) for one in (GIVEN, OTHER)}
    return _faults(found)


def validity(trial: Trial) -> str:
    """From the state after a death, the program goes on to its end."""
    return "; ".join(fault for point, one in _killed(trial) if (fault := _faults(_result_of(one, point))))


def consumption(trial: Trial) -> str:
    """A second resume fires nothing, and changes no result."""
    trial.do("begin", "r")
    trial.do("answer", "r", str(GIVEN), "1")
    try:
        trial.told = list(trial.do("answer", "r", str(OTHER), "1").get("told", []))
    except ProbeFailed:
        trial.told = ["an error"]
    found = {"payments after a stray answer": (trial.count(PAY), 1)}
    return _faults(found | {"result": (paid(trial.do("story", "r")), GIVEN)})


def recovery(trial: Trial) -> str:
    """Two recoveries from copies of one store end alike, with the same effects."""
    trial.do("begin", "r")
    ends: list[tuple[object, Counter[str]]] = []
    for name in ("first copy", "second copy"):
        copy = trial.copy(name)
        copy.do("answer", "r", str(GIVEN), "1")
        lines = (f"{one['effect']} {one['key']} {one['amount']}" for one in read(copy.ledger))
        ends.append((paid(copy.do("story", "r")), Counter(lines)))
    return "" if ends[0] == ends[1] else f"two recoveries differ: {ends[0]} and {ends[1]}"


def words(trial: Trial) -> str:
    """A resume can say "again", other than the first, and "fork"."""
    fault = forks(trial)
    stray = trial.do("answer", "r", str(GIVEN), "1").get("told", [])
    return fault or ("" if stray and stray != ["accepted"] else "a second answer is told as the first")


DUTIES: Mapping[str, Callable[[Trial], str]] = {
    "prefix continuation": prefix,
    "effects once": effects,
    "fork determinism": forks,
    "checkpoint validity": validity,
    "consume once": consumption,
    "recovery determinism": recovery,
    "fork and again": words,
}


def probe(subject: Subject, duty: str) -> str:
    """Return the faults of a probe; nothing where the duty holds."""
    FOLDERS.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=FOLDERS))
    try:
        return DUTIES[duty](Trial(subject, folder / "trial"))
    except ProbeFailed as error:
        return f"no answer: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def paid(said: Said) -> object:
    result: dict[str, object] = said.get("result") or {}
    return result.get("paid")


def _killed(trial: Trial) -> Iterator[tuple[str, Trial]]:
    """Yield a run for each point, after a death there and a recovery to its end."""
    for point in POINTS:
        one = Trial(trial.subject, trial.folder.with_name(point.replace(":", " ")))
        at_begin = point.startswith(DRAFT)
        one.do("begin", "r", dies_at=point if at_begin else "")
        if at_begin:
            one.do("recover", "r")
        said = one.do("answer", "r", str(GIVEN), "1", dies_at="" if at_begin else point)
        if "result" not in said:
            one.do("recover", "r")
        yield point, one


def _result_of(trial: Trial, point: str) -> dict[str, tuple[object, object]]:
    return {f"result after a death {point}": (paid(trial.do("story", "r")), GIVEN)}


def _faults(found: Mapping[str, tuple[object, object]]) -> str:
    """Return the differences, each with the value found and the value wanted."""
    return ", ".join(f"{name}: {one} for {wanted}" for name, (one, wanted) in found.items() if one != wanted)
