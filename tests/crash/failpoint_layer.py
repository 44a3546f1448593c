"""SIGKILL at every point of the program: every writing statement, every commit, every step outside.

For a sample of positions the restarted program is killed as well, at a point drawn by the seed.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from failpoints import ANY
from outcome import End
from sampling import one_of_each
from trial import KILLED, Program, Stage, Trial

LAYER = "failpoints"

# A life passes more points than this, even with little left to do.
WITHIN_RECOVERY = 40


@dataclass(frozen=True)
class Position:
    """`again` is the point of a second kill, in the restarted program. An empty point means no kill."""

    point: str
    again: str = ""

    def __str__(self) -> str:
        point = self.point or "no point"
        return f"{point}, then {self.again}" if self.again else point


def positions(passed: Mapping[str, int]) -> list[Position]:
    return [Position(f"{name}:{n}") for name, count in sorted(passed.items()) for n in range(1, count + 1)]


def sample(everything: Sequence[Position], size: int, rng: random.Random) -> list[Position]:
    by_name: dict[str, list[Position]] = {}
    for position in everything:
        by_name.setdefault(position.point.rpartition(":")[0], []).append(position)
    return one_of_each(by_name.values(), size, rng)


def double_kills(everything: Sequence[Position], size: int, rng: random.Random) -> list[Position]:
    """Draw positions with a second kill, in the restarted program."""
    chosen = rng.sample(everything, min(size, len(everything)))
    return [Position(position.point, f"{ANY}:{rng.randint(1, WITHIN_RECOVERY)}") for position in chosen]


def trial(stage: Stage, program: Program, expected: End, position: Position, bug: str = "") -> Trial:
    with stage.case(program, bug) as case:
        if case.live(point=position.point) == KILLED and position.again:
            case.live(point=position.again)
        case.last_life()
        case.judge(expected)
        return case.done(LAYER, f"{program.name}, {position}")


def run(stage: Stage, program: Program, expected: End, chosen: Sequence[Position]) -> list[Trial]:
    return stage.all(partial(trial, stage, program, expected), chosen)
