"""The crash test: runs a test's lives in child processes, compares their ends, and names the handlers at fault."""

import asyncio
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from soorma_ai.testing.crash.comparison import EffectBook, End, compare_ends
from soorma_ai.testing.crash.end import end_leases, end_of, without_ids
from soorma_ai.testing.crash.ledger import Entry, Ledger, lines_of
from soorma_ai.testing.crash.life import MADE_STORE, REPORT, Life, Order, make_store

KILLED = signal.SIGKILL
# Seconds of a life beyond five times the undisturbed one.
PATIENCE = 10.0
MOST_FAULTY = 6
IN_MEMORY = Path("/dev/shm")

TITLES = {
    "effect": "is not idempotent",
    "clock": "reads the wall clock",
    "memory": "keeps state in memory",
    "order": "depends on the order of its deliveries",
    "end": "ends otherwise after a death",
}
CURES = {
    "effect": "give the service `request.idempotency_key`, and the ledger `key=request.idempotency_key`; "
    "or declare the tool effects='at_most_once'",
    "clock": "take moments from the event (`event.time`), or let a tool read the clock and return the moment; "
    "a harmless read, such as for a log: @pytest.mark.soorma_crash(clock=True)",
    "memory": "keep it in the plan or the task (`task.state`), in memory (`context.memory`), or in a database; "
    "a stand-in for a service outside belongs into the ledger (fixture soorma_ledger)",
    "order": "let the result depend on the event alone: only the events of one plan or task are in order; "
    "if the first answer counts by intent: @pytest.mark.soorma_crash(order=True)",
    "end": "let the handler depend on its event, and on stored state alone",
}


WANTED = "the end of the undisturbed run"


class CrashFault(AssertionError):
    """The test's flow does not survive a crash."""


@dataclass(frozen=True)
class Fault:
    """`kind` is a key of CURES. Two faults are the same if kind and handler are."""

    kind: str
    handler: str
    found: str = field(compare=False)
    wanted: str = field(compare=False)

    def __str__(self) -> str:
        return (
            f"{self.handler or 'the flow'} {TITLES[self.kind]}\n"
            f"    found:  {self.found}\n    wanted: {self.wanted}\n    cure:   {CURES[self.kind]}"
        )


@dataclass(frozen=True)
class Undisturbed:
    """The run without a death: its end and effects, the handler of each commit, evidence, and seconds."""

    end: End
    effects: list[Entry]
    commits: list[str]
    evidence: list[tuple[str, str, str]]
    seconds: float


class CrashTest:
    """One marked test. `ledger` is its fixture, with another file for each trial."""

    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any], ledger: Ledger) -> None:
        self._function, self._arguments, self._ledger = function, arguments, ledger
        self._place = Path()
        self._trials = 0

    def run(self, *, clock: bool = False, order: bool = False) -> int:
        """Return the number of commits. `clock` and `order` allow a flow to depend on them.

        Raise CrashFault, and AssertionError for a test that fails undisturbed.
        """
        parent = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
        self._place = Path(tempfile.mkdtemp(prefix="soorma-crash-", dir=parent))
        gc.collect()
        try:
            self._fork(lambda: asyncio.run(make_store(self._place / MADE_STORE)), PATIENCE)
            calm = self._undisturbed()
            faults = [] if clock else _clock_faults(calm)
            for fault in self._faults(calm, swaps=not order):
                if fault not in faults:
                    faults.append(fault)
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
        if faults:
            what = f"{len(calm.commits)} commits, a death before and after each"
            raise CrashFault(f"crash test ({what}):\n" + "\n".join(f"* {fault}" for fault in faults))
        return len(calm.commits)

    def _undisturbed(self) -> Undisturbed:
        order, begun = replace(self._order(), observes=True), time.monotonic()
        if problem := self._live(order, 4 * PATIENCE):
            raise AssertionError(f"the test fails without a death:\n{problem}")
        told: list[tuple[str, str, str]] = [json.loads(line) for line in lines_of(order.folder / REPORT)]
        commits = [handler for kind, handler, _ in told if kind == "commit"]
        evidence = [(kind, handler, place) for kind, handler, place in told if kind != "commit"]
        return Undisturbed(end_of(order.folder), self._ledger.effects, commits, evidence, time.monotonic() - begun)

    def _faults(self, calm: Undisturbed, *, swaps: bool) -> Iterator[Fault]:
        """Yield the faults of all trials, until several trials are faulty."""
        patience, faulty = PATIENCE + 5 * calm.seconds, 0
        deaths = [(n, when) for n in range(1, len(calm.commits) + 1) for when in ("before", "after")]
        trials = [Order(Path(), delivers_twice=True), *([Order(Path(), swaps=True)] if swaps else [])]
        for trial in (*trials, *(Order(Path(), dies=dies) for dies in deaths)):
            order = replace(trial, folder=self._order().folder)
            problem = self._live(order, patience)
            if problem == "killed":
                end_leases(order.folder)
                problem = self._live(replace(order, number=2, dies=None), patience)
            elif order.dies is not None and not problem:
                shutil.rmtree(order.folder)
                continue  # this run made fewer commits
            found = [*self._judge(calm, order, problem)]
            yield from found
            shutil.rmtree(order.folder)
            faulty += bool(found)
            if faulty == MOST_FAULTY:
                return

    def _judge(self, calm: Undisturbed, order: Order, problem: str) -> Iterator[Fault]:
        at = _place_of(order, calm.commits)
        yield from _effect_faults(calm, self._ledger.book, at)
        found = problem or "; ".join(_differences(calm, end_of(order.folder), self._ledger.effects))
        if not found:
            return
        memory = [(handler, place) for kind, handler, place in calm.evidence if kind == "memory"]
        if order.swaps:
            yield Fault("order", "", f"{at}: {found}", WANTED)
        elif not memory:
            yield Fault("end", "", f"{at}: {found}", WANTED)
        else:
            for handler, place in memory:
                yield Fault("memory", handler, f"{place} changes, and is lost by {at}: {found}", WANTED)

    def _order(self) -> Order:
        self._trials += 1
        folder = self._place / str(self._trials)
        folder.mkdir()
        self._ledger.path = folder / "ledger"
        return Order(folder)

    def _live(self, order: Order, patience: float) -> str:
        """Return "" for a life to its end, "killed" for one with a death, else its error."""
        return self._fork(lambda: Life(order).run(self._function, self._arguments), patience)

    def _fork(self, live: Callable[[], None], patience: float) -> str:
        sys.stdout.flush()
        sys.stderr.flush()
        problem = self._place / "problem"
        problem.unlink(missing_ok=True)
        if (child := os.fork()) == 0:
            _live_and_end(live, problem)
        until = time.monotonic() + patience
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return f"no end within {patience:.0f} s"
            time.sleep(0.002)
        if os.waitstatus_to_exitcode(status) == -KILLED:
            return "killed"
        return problem.read_text() if problem.exists() else ""


def _live_and_end(live: Callable[[], None], problem: Path) -> NoReturn:
    """Run a life in this child, and leave the process without its parent's clean-up."""
    try:
        live()
    except BaseException as error:
        lines = traceback.format_exception(error)
        problem.write_text("".join(lines[-3:]).strip())
    finally:
        os._exit(0)


def _place_of(order: Order, commits: list[str]) -> str:
    if order.dies is None:
        return "a swap of deliveries without a promised order" if order.swaps else "a second delivery of each event"
    number, when = order.dies
    handler = commits[number - 1]
    return f"a death {when} commit {number}" + (f" (last handler {handler})" if handler else "")


def _clock_faults(calm: Undisturbed) -> list[Fault]:
    reads = {handler: place for kind, handler, place in calm.evidence if kind == "clock"}
    wanted = "the same moment at a repetition of the delivery"
    return [Fault("clock", handler, f"a read of the wall clock in {place}", wanted) for handler, place in reads.items()]


def _differences(calm: Undisturbed, end: End, effects: list[Entry]) -> list[str]:
    """Return lines about the end. Effects that are too many have faults of their own."""
    found = [line for one in compare_ends(calm.end, end) for line in one.lines]
    less = compare_ends({"effects": map(_text, calm.effects)}, {"effects": map(_text, effects)})
    return [*found, *(one.missing_line for one in less if one.missing)]


def _effect_faults(calm: Undisturbed, book: EffectBook[Entry], at: str) -> Iterator[Fault]:
    """Yield the handlers with more effects than in the undisturbed run, or with other data under a key."""
    for _, first, later in book.changed:
        wanted = f"{first.text}, as at the first attempt under this key"
        yield Fault("effect", later.handler, f"{later.text} under the same key, after {at}", wanted)
    effects = [*book.effects.values()]
    found, wanted = _counted(effects), _counted(calm.effects)
    for text in found - wanted:
        handler = next(one.handler for one in effects if _text(one) == text)
        yield Fault("effect", handler, f"{text} {found[text]} times, after {at}", f"{wanted[text]} times")


def _counted(effects: list[Entry]) -> Counter[str]:
    return Counter(map(_text, effects))


def _text(effect: Entry) -> str:
    return without_ids(effect.text)
