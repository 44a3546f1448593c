"""A full disk and a failing disk, for one system call or for all later ones.

The program may fail with an error of ours, or continue; after a restart its end must be right.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import strace
from life import FAILED_CLEARLY, FINISHED, STUCK
from outcome import End
from sampling import one_of_each
from trial import Program, Stage, Trial

LAYER = "I/O errors"

ERRORS = {"pwrite64": "ENOSPC", "fdatasync": "EIO", "fsync": "EIO", "ftruncate": "EIO"}

# With a lasting fault of the disk a life is soon stuck.
PATIENCE_WITH_A_BAD_DISK = 4.0
LASTING_SAMPLE = 8


@dataclass(frozen=True)
class Position:
    call: str
    n: int
    is_lasting: bool = False

    @property
    def when(self) -> str:
        return f"{self.n}+" if self.is_lasting else str(self.n)

    def __str__(self) -> str:
        return f"{ERRORS[self.call]} at {self.call}:{self.when}"


def trial(stage: Stage, program: Program, expected: End, position: Position, bug: str = "") -> Trial:
    with stage.case(program, bug) as case:
        log = case.folder / "strace"
        under = strace.fail_options(position.call, ERRORS[position.call], position.when, log)
        ended = case.live(under=under, patience=PATIENCE_WITH_A_BAD_DISK if position.is_lasting else None)
        allowed = (FINISHED, FAILED_CLEARLY, STUCK) if position.is_lasting else (FINISHED, FAILED_CLEARLY)
        if ended not in allowed:
            case.violations.append(f"the life with the error ended with {ended}: {case.said()}")
        errors = strace.count_failed(log)
        case.last_life()
        case.judge(expected, errors=None if position.is_lasting else errors)
        return case.done(LAYER, f"{program.name}, {position}", errors=errors, survived=ended == FINISHED)


def run_all(stage: Stage, program: Program, expected: End, made: Mapping[str, int]) -> list[Trial]:
    """Try each call as often as an undisturbed run made it, and further until no error happens."""
    one = partial(trial, stage, program, expected)
    done: list[Trial] = []
    for call in ERRORS:
        further = (Position(call, n) for n in count(1))
        done += stage.exhaust(one, further, made[call], lambda trial: trial.errors)
    return done


def lasting_positions(made: Mapping[str, int], size: int, rng: random.Random) -> list[Position]:
    """Return positions after which every call fails; the first call is always one of them."""
    possible = [Position(call, n, is_lasting=True) for call in ERRORS for n in range(2, made[call] + 1)]
    first = [Position(call, 1, is_lasting=True) for call in ERRORS if made[call]]
    return (first + rng.sample(possible, min(size, len(possible))))[: max(size, 1)]


def sample(made: Mapping[str, int], size: int, rng: random.Random) -> list[Position]:
    return one_of_each(([Position(call, n) for n in range(1, made[call] + 1)] for call in ERRORS), size, rng)


def run(stage: Stage, program: Program, expected: End, chosen: Sequence[Position]) -> list[Trial]:
    return stage.all(partial(trial, stage, program, expected), chosen)
