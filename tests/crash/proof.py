"""The crash proof: programs are killed and given errors at every point, started again, and compared with an undisturbed
run; then bugs are planted, and each must be caught.

    python tests/crash/proof.py                                       every position of every layer
    python tests/crash/proof.py --sample 40 --seed 7                  some of each layer
    python tests/crash/proof.py --layer failpoints --layer bugs       these layers only
    python tests/crash/proof.py --program "one order"                 this program only
    python tests/crash/proof.py --store postgresql --bus nats         in databases of a server started for the proof

ALLOW_SKIP=1 lets it pass without a working strace(1), the tool of two layers.
"""

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import doubt_layer
import failpoint_layer
import io_error_layer
import killing_layer
import outage_layer
import strace
import syscall_layer
from homes import Files, Homes, databases
from planted import IN_A_FILE, NEEDS_STRACE, ON_A_SERVER, PLANTED, Hunter
from programs import ORDER, PROGRAMS, THAT_KILL
from trial import Crashless, Program, Stage, Trial

T = TypeVar("T")

BUGS_LAYER = "bugs"
FILE, POSTGRESQL = "file", "postgresql"
# By kind of store: a server's files are its own affair, and a file has no connection.
LAYERS = {
    FILE: (
        failpoint_layer.LAYER,
        syscall_layer.LAYER,
        io_error_layer.LAYER,
        killing_layer.LAYER,
        doubt_layer.LAYER,
        BUGS_LAYER,
    ),
    POSTGRESQL: (failpoint_layer.LAYER, outage_layer.LAYER, killing_layer.LAYER, doubt_layer.LAYER, BUGS_LAYER),
}
SEEDS = (1, 2, 3)

# Positions per seed in a full run, for layers without an end.
KILLED_TWICE = 40
LASTING_ERRORS = 8
SERVERS_KILLED = 6


@dataclass(frozen=True)
class Options:
    """`sample` None is every position, except in layers where a program is only sampled."""

    layers: Sequence[str]
    programs: Sequence[Program]
    sample: int | None
    seeds: Sequence[int]
    store: str = FILE
    has_nats: bool = False

    def size(self, program: Program, layer: str) -> int | None:
        return program.sampled.get(layer) if self.sample is None else self.sample


@dataclass
class Tally:
    trials: list[Trial] = field(default_factory=list)
    caught: int = 0
    planted: int = 0
    not_run: list[str] = field(default_factory=list)

    @property
    def violated(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.violations]

    def add(self, title: str, trials: Sequence[Trial], seconds: float) -> None:
        self.trials += trials
        bad = [trial for trial in trials if trial.violations]
        facts = [f"{len(trials)} positions", f"{sum(trial.kills for trial in trials)} kills"]
        if erred := sum(trial.errors > 0 for trial in trials):
            facts += [f"{erred} with errors", f"{sum(trial.survived for trial in trials)} survived without a restart"]
        if again := sum(trial.kills > 1 for trial in trials):
            facts.append(f"{again} killed more than once")
        facts += [f"{len(bad)} violations", f"{sum(trial.absorbed for trial in trials)} calls absorbed by keys"]
        say(f"{title}: {', '.join(facts)}, {seconds:.0f} s")
        for trial in bad:
            say(f"  VIOLATION at {trial.position}: {'; '.join(trial.violations)}")


class Proof:
    def __init__(self, stage: Stage, read_options: Options) -> None:
        self._stage = stage
        self._wanted = read_options
        self._without_strace = strace.why_not()
        self._crashless: dict[str, Crashless] = {}
        self._made: dict[str, dict[str, int]] = {}
        self.tally = Tally()

    def run(self) -> Tally:
        layers = {
            failpoint_layer.LAYER: partial(self._each_program, self._failpoints),
            syscall_layer.LAYER: partial(self._each_program, self._syscalls),
            io_error_layer.LAYER: partial(self._each_program, self._io_errors),
            outage_layer.LAYER: partial(self._each_program, self._outages),
            killing_layer.LAYER: self._killing_event,
            doubt_layer.LAYER: self._doubt,
            BUGS_LAYER: self._bugs,
        }
        for layer in self._wanted.layers:
            if layer in NEEDS_STRACE and self._without_strace:
                self.tally.not_run.append(layer)
                say(f"{layer}: NOT RUN, {self._without_strace}")
            else:
                layers[layer]()
        return self.tally

    def _each_program(self, tried: Callable[[Program], None]) -> None:
        for program in self._wanted.programs:
            tried(program)

    def _failpoints(self, program: Program) -> None:
        crashless, size = self._end_of(program), self._wanted.size(program, failpoint_layer.LAYER)
        everything = failpoint_layer.positions(crashless.passed)

        def tried(chosen: list[failpoint_layer.Position]) -> list[Trial]:
            return failpoint_layer.run(self._stage, program, crashless.end, chosen)

        title = f"{failpoint_layer.LAYER}, {program.name}"
        if size is None:
            self._report(f"{title}, every one", lambda: tried(everything))
        else:
            self._seeded(title, lambda rng: failpoint_layer.sample(everything, size, rng), tried)
        again = KILLED_TWICE if size is None else size // 4
        self._seeded(f"{title}, killed twice", lambda rng: failpoint_layer.double_kills(everything, again, rng), tried)

    def _syscalls(self, program: Program) -> None:
        end, made = self._end_of(program).end, self._calls_of(program)
        size = self._wanted.size(program, syscall_layer.LAYER)

        def tried(chosen: list[syscall_layer.Position]) -> list[Trial]:
            return syscall_layer.run(self._stage, program, end, chosen)

        title = f"{syscall_layer.LAYER}, {program.name}"
        if size is None:
            self._report(f"{title}, every one", lambda: syscall_layer.run_all(self._stage, program, end, made))
        else:
            self._seeded(title, lambda rng: syscall_layer.sample(made, size, rng), tried)

    def _io_errors(self, program: Program) -> None:
        end, made = self._end_of(program).end, self._calls_of(program)
        size = self._wanted.size(program, io_error_layer.LAYER)

        def tried(chosen: list[io_error_layer.Position]) -> list[Trial]:
            return io_error_layer.run(self._stage, program, end, chosen)

        title = f"{io_error_layer.LAYER}, {program.name}"
        if size is None:
            self._report(f"{title}, every one", lambda: io_error_layer.run_all(self._stage, program, end, made))
        else:
            self._seeded(title, lambda rng: io_error_layer.sample(made, size, rng), tried)
        lasting = LASTING_ERRORS if size is None else size // 8
        self._seeded(f"{title}, that last", lambda rng: io_error_layer.lasting_positions(made, lasting, rng), tried)

    def _outages(self, program: Program) -> None:
        crashless, size = self._end_of(program), self._wanted.size(program, outage_layer.LAYER)
        everything = outage_layer.positions(crashless.passed)

        def tried(chosen: list[outage_layer.Position]) -> list[Trial]:
            return outage_layer.run(self._stage, program, crashless.end, chosen)

        title = f"{outage_layer.LAYER}, {program.name}"
        if size is None:
            self._report(f"{title}, every one", lambda: tried(everything))
        else:
            self._seeded(title, lambda rng: outage_layer.sample(everything, size, rng), tried)
        killed = SERVERS_KILLED if size is None else max(1, size // 8)
        title = f"{title}, the server is killed"
        self._seeded(title, lambda rng: outage_layer.of_server(crashless.passed, killed, rng), tried)

    def _killing_event(self) -> None:
        self._report(killing_layer.LAYER, lambda: [killing_layer.trial(self._stage, program) for program in THAT_KILL])

    def _doubt(self) -> None:
        everything, size = doubt_layer.all_positions(self._stage), self._wanted.sample
        some = min(size or 0, len(everything))

        def tried(program: Program, chosen: list[str]) -> list[Trial]:
            return doubt_layer.run(self._stage, program, chosen)

        for program in (doubt_layer.DONE, doubt_layer.NOT_DONE):
            title = f"{doubt_layer.LAYER}, {program.name}"
            if size is None:
                self._report(f"{title}, every one", partial(tried, program, everything))
            else:
                self._seeded(title, lambda rng: rng.sample(everything, some), partial(tried, program))

    def _bugs(self) -> None:
        is_in_file = self._wanted.store == FILE
        made = self._calls_of(ORDER) if is_in_file and not self._without_strace else {}
        hunter = Hunter(self._stage, self._end_of, made, self._wanted.seeds[0])
        for bug in IN_A_FILE if is_in_file else ON_A_SERVER:
            planted = PLANTED[bug]
            self.tally.planted += 1
            if planted.layer in NEEDS_STRACE and self._without_strace:
                self.tally.not_run.append(f"bug {bug!r}")
                say(f"planted: {bug}: NOT RUN, {self._without_strace}")
                continue
            hunt = hunter.hunt(bug)
            self.tally.caught += hunt.shown is not None
            told = f"caught at {hunt.shown.position}: {hunt.said[:160]}" if hunt.shown else "NOT CAUGHT"
            say(f"planted: {bug}: {told} ({hunt.tried} tried)")

    def _end_of(self, program: Program) -> Crashless:
        if program.name not in self._crashless:
            self._crashless[program.name] = self._stage.crashless(program)
        return self._crashless[program.name]

    def _calls_of(self, program: Program) -> dict[str, int]:
        if program.name not in self._made:
            self._made[program.name] = strace.calls_of(self._stage, program, tuple(syscall_layer.CALLS))
        return self._made[program.name]

    def _seeded(
        self, title: str, choose: Callable[[random.Random], list[T]], tried: Callable[[list[T]], list[Trial]]
    ) -> None:
        for seed in self._wanted.seeds:
            chosen = choose(random.Random(seed))
            self._report(f"{title}, seed {seed}", lambda chosen=chosen: tried(chosen))

    def _report(self, title: str, tried: Callable[[], list[Trial]]) -> None:
        began = time.monotonic()
        trials = tried()
        self.tally.add(title, trials, time.monotonic() - began)


def say(line: str) -> None:
    print(line, flush=True)


def summary(tally: Tally, seeds: Sequence[int]) -> str:
    trials = tally.trials
    return (
        f"crash: {sum(trial.kills for trial in trials)} kills, {len(trials)} positions, {len(seeds)} seeds, "
        f"{len(tally.violated)} violations, {sum(trial.absorbed for trial in trials)} calls absorbed by keys, "
        f"{tally.caught}/{tally.planted} planted bugs caught"
    )


def verdict(tally: Tally, *, allow_skip: bool) -> int:
    """Return 0 for proven, 1 for refuted, 2 for not proven: a part could not be run."""
    uncaught = tally.planted - tally.caught - sum(name.startswith("bug ") for name in tally.not_run)
    if tally.violated or uncaught:
        return 1
    return 2 if tally.not_run and not allow_skip else 0


def read_options(arguments: Sequence[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(description="Kill programs at every point and compare how they end.")
    layers = list(dict.fromkeys(layer for each in LAYERS.values() for layer in each))
    parser.add_argument("--layer", action="append", choices=layers, help="this layer only; may be given again")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="this program only; may be given again")
    parser.add_argument("--sample", type=int, metavar="N", help="N positions of each layer instead of all")
    parser.add_argument("--seed", type=int, action="append", metavar="S", help="of random choices; may be given again")
    parser.add_argument("--store", choices=LAYERS, default=FILE, help="where the store is (default: a file)")
    parser.add_argument("--bus", choices=("nats",), help="over a broker, where the store is on a server")
    given = parser.parse_args(arguments)
    if not_there := set(given.layer or ()) - set(LAYERS[given.store]):
        parser.error(f"a store in {given.store} has no layer {', '.join(not_there)}")
    if given.bus and given.store == FILE:
        parser.error("--bus nats goes with --store postgresql")
    seeds = tuple(given.seed or (SEEDS if given.sample is None else SEEDS[:1]))
    programs = [PROGRAMS[name] for name in given.program or PROGRAMS]
    return Options(
        tuple(given.layer or LAYERS[given.store]),
        programs,
        given.sample,
        seeds,
        store=given.store,
        has_nats=given.bus == "nats",
    )


@contextmanager
def _homes(options: Options) -> Generator[Homes]:
    if options.store == FILE:
        yield Files()
        return
    with databases(with_nats=options.has_nats) as homes:
        yield homes


def main() -> int:
    what = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so no server is left behind
    with _homes(what) as homes, Stage(homes=homes) as stage:
        tally = Proof(stage, what).run()
    say(f"seeds: {' '.join(map(str, what.seeds))}")
    say(summary(tally, what.seeds))
    return verdict(tally, allow_skip=os.environ.get("ALLOW_SKIP") == "1")


if __name__ == "__main__":
    sys.exit(main())
