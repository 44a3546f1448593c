"""The proof of the proof: the intended layer must catch each planted bug."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

import doubt_layer
import failpoint_layer
import io_error_layer
import killing_layer
import outage_layer
import syscall_layer
from blows import Blow
from bugs import BUGS
from programs import CIRCLES, FAN_IN, KILLING, ORDER
from trial import PATIENCE, Crashless, Program, Stage, Trial

Attempt = Callable[[], Trial]


@dataclass(frozen=True)
class PlantedBug:
    """`shows` is a part of the expected violation: another fault does not count as caught. `hints` are points near the
    symptom; the other points are tried after them. A bug without `hidden` may show in an undisturbed run."""

    layer: str
    shows: str
    hints: tuple[str, ...] = ()
    hidden: bool = True
    program: Program = ORDER


PLANTED = {
    "ack before commit": PlantedBug(failpoint_layer.LAYER, "missing", ("sql.insert.step",)),
    "ack of a run before its commit": PlantedBug(
        failpoint_layer.LAYER, "missing", ("sql.insert.step", "run."), program=FAN_IN
    ),
    "publish outside the transaction": PlantedBug(failpoint_layer.LAYER, "missing", ("sql.insert.event",)),
    "new key for each attempt": PlantedBug(failpoint_layer.LAYER, "effects: 1 too many", ("charge.told",)),
    "no duplicate mark": PlantedBug(failpoint_layer.LAYER, "was called", hidden=False),
    "answer without compare-and-set": PlantedBug(failpoint_layer.LAYER, "took the answers of", hidden=False),
    "claim not on disk": PlantedBug(killing_layer.LAYER, "attempts counted: [1, 1"),
    "hold given back after a crash": PlantedBug(failpoint_layer.LAYER, "fewer charged", ("model.told",)),
    "drawn events counted in memory": PlantedBug(
        failpoint_layer.LAYER, "too many", ("echo.told:1", "echo.told:2"), program=CIRCLES
    ),
    "timer fired outside the transaction": PlantedBug(failpoint_layer.LAYER, "missing", ("sql.insert.event:9",)),
    "journal file in memory": PlantedBug(syscall_layer.LAYER, "damaged", ("pwrite64",)),
    "error of the disk taken for success": PlantedBug(io_error_layer.LAYER, "journal", ("fdatasync",)),
}
UNANSWERED = "commit told before the server answers"
PLANTED[UNANSWERED] = PlantedBug(outage_layer.LAYER, "missing", (f"{Blow.CONNECTION} at {outage_layer.COMMITTING}",))
REPEATED = "call that must not be repeated is repeated"
PLANTED[REPEATED] = PlantedBug(doubt_layer.LAYER, "2 payments")
assert PLANTED.keys() == {*BUGS, REPEATED}

NEEDS_STRACE = frozenset({syscall_layer.LAYER, io_error_layer.LAYER})
# Bugs of a store in a file, and bugs of a store on a server.
IN_A_FILE = [bug for bug, planted in PLANTED.items() if planted.layer != outage_layer.LAYER]
ON_A_SERVER = [
    bug
    for bug, planted in PLANTED.items()
    if planted.layer in (failpoint_layer.LAYER, doubt_layer.LAYER, outage_layer.LAYER)
]


@dataclass(frozen=True)
class Hunt:
    """`shown` is the trial with the bug's violation, None for an uncaught bug."""

    bug: str
    tried: int
    shown: Trial | None

    @property
    def said(self) -> str:
        """Return the violation of the bug."""
        found = self.shown.violations if self.shown else ()
        return next((violation for violation in found if PLANTED[self.bug].shows in violation), "")


class Hunter:
    """`crashless` is the undisturbed run of a program, `made` are the system calls of ORDER; empty without strace."""

    def __init__(
        self, stage: Stage, crashless: Callable[[Program], Crashless], made: Mapping[str, int], seed: int
    ) -> None:
        self._stage = stage
        self._crashless = crashless
        self._made = made
        self._seed = seed

    def hunt(self, bug: str) -> Hunt:
        """Hunt a bug. Raise AssertionError for a bug with other effects than the intended one."""
        if PLANTED[bug].hidden and bug in BUGS:
            self._must_stay_hidden(bug)
        attempts, tried = self._attempts(bug), 0
        while batch := list(islice(attempts, self._stage.cores)):
            trials = self._stage.all(lambda attempt: attempt(), batch)
            tried += len(trials)
            if shown := next((trial for trial in trials if _shows(trial, PLANTED[bug].shows)), None):
                return Hunt(bug, tried, shown)
        return Hunt(bug, tried, None)

    def _must_stay_hidden(self, bug: str) -> None:
        program = PLANTED[bug].program
        with self._stage.case(program, bug) as case:
            case.last_life(patience=PATIENCE)
            case.judge(self._crashless(program).end)
            if case.violations:
                raise AssertionError(f"{bug}: the program breaks even when nobody disturbs it: {case.violations}")

    def _attempts(self, bug: str) -> Iterator[Attempt]:
        """Yield attempts, the likely ones first."""
        planted = PLANTED[bug]
        rng = random.Random(self._seed)
        match planted.layer:
            case failpoint_layer.LAYER:
                undisturbed = [] if planted.hidden else [failpoint_layer.Position("")]
                points = failpoint_layer.positions(self._crashless(planted.program).passed)
                order = _hinted(points, planted.hints, rng)
                yield from self._at(failpoint_layer.trial, chain(undisturbed, order), bug)
            case outage_layer.LAYER:
                outages = outage_layer.positions(self._crashless(planted.program).passed)
                yield from self._at(outage_layer.trial, _hinted(outages, planted.hints, rng), bug)
            case syscall_layer.LAYER:
                calls = syscall_layer.sample(self._made, sum(self._made.values()), rng)
                yield from self._at(syscall_layer.trial, _hinted(calls, planted.hints, rng), bug)
            case io_error_layer.LAYER:
                errors = io_error_layer.sample(self._made, sum(self._made.values()), rng)
                yield from self._at(io_error_layer.trial, _hinted(errors, planted.hints, rng), bug)
            case doubt_layer.LAYER:
                for point in doubt_layer.IN_THE_MIDDLE:
                    yield partial(doubt_layer.trial, self._stage, doubt_layer.REPEATED, point)
            case _:
                yield partial(killing_layer.trial, self._stage, KILLING, bug)

    def _at(self, trial: Callable[..., Trial], positions: Iterable[object], bug: str) -> Iterator[Attempt]:
        program = PLANTED[bug].program
        return (partial(trial, self._stage, program, self._crashless(program).end, where, bug) for where in positions)


def _shows(trial: Trial, what: str) -> bool:
    return any(what in violation for violation in trial.violations)


def _hinted(positions: Iterable[object], hints: tuple[str, ...], rng: random.Random) -> list[object]:
    found = list(positions)
    rng.shuffle(found)
    return sorted(found, key=lambda position: not any(hint in str(position) for hint in hints))
