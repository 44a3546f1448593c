"""SIGKILL at every system call that changes a file: inside commits, checkpoints, and the creation of the file."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import strace
from outcome import End
from sampling import one_of_each
from trial import Program, Stage, Trial

LAYER = "system calls"

# Distances between the positions; most openat calls are Python's imports.
CALLS = {"pwrite64": 1, "write": 1, "fdatasync": 1, "fsync": 1, "ftruncate": 1, "unlink": 1, "openat": 25}
KINDS = [(call, apart, is_made) for call, apart in CALLS.items() for is_made in (False, True)]


@dataclass(frozen=True)
class Position:
    """The n-th such call of a thread, counted after the creation of the file, or during it with `is_made`: creation
    makes more calls in one thread than all commits do in another."""

    call: str
    n: int
    is_made: bool = False

    def __str__(self) -> str:
        return f"{self.call}:{self.n}{' on a made file' if self.is_made else ''}"


def trial(stage: Stage, program: Program, expected: End, position: Position, bug: str = "") -> Trial:
    with stage.case(program, bug) as case:
        if position.is_made:
            case.make_store()
        case.live(under=strace.kill_options(position.call, position.n))
        case.last_life()
        case.judge(expected)
        return case.done(LAYER, f"{program.name}, {position}")


def run_all(stage: Stage, program: Program, expected: End, made: Mapping[str, int]) -> list[Trial]:
    """Try each call as often as an undisturbed run made it, and further until no kill happens."""
    one = partial(trial, stage, program, expected)
    done: list[Trial] = []
    for call, apart, is_made in KINDS:
        further = (Position(call, n, is_made) for n in count(1, apart))
        done += stage.exhaust(one, further, made[call] // apart, lambda trial: trial.kills)
    return done


def sample(made: Mapping[str, int], size: int, rng: random.Random) -> list[Position]:
    return one_of_each(
        ([Position(call, n, is_made) for n in range(1, made[call] + 1, apart)] for call, apart, is_made in KINDS),
        size,
        rng,
    )


def run(stage: Stage, program: Program, expected: End, chosen: Sequence[Position]) -> list[Trial]:
    return stage.all(partial(trial, stage, program, expected), chosen)
