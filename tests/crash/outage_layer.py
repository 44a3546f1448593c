"""An outage is a pause, at every point that the program passes: the server ends the connection that is used there, or
all where none is; the answer to a commit is lost; the server is killed with all its processes, and started again.

The life goes on by itself. Only who has asked for a commit, of which nobody knows what has become, may be told so: that
life may end with an error of ours, and another one makes everything good.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from blows import Blow
from life import FAILED_CLEARLY, FINISHED
from outcome import End
from sampling import one_of_each
from trial import Program, Stage, Trial

LAYER = "outages"
COMMITTING = "sql.commit"
SENT = "commit.sent"


@dataclass(frozen=True)
class Position:
    point: str
    blow: Blow

    def __str__(self) -> str:
        return f"{self.blow} at {self.point}"

    @property
    def name(self) -> str:
        return self.point.rpartition(":")[0]

    @property
    def may_fail(self) -> bool:
        """A server that is away for longer than is waited for is told as well."""
        return self.blow is Blow.SERVER or self.name in (COMMITTING, SENT)


def positions(passed: Mapping[str, int]) -> list[Position]:
    """Of connections and answers."""
    points = [(name, f"{name}:{n}") for name, count in sorted(passed.items()) for n in range(1, count + 1)]
    ended = [Position(point, Blow.CONNECTION) for _, point in points]
    return ended + [Position(point, Blow.ANSWER) for name, point in points if name == SENT]


def of_server(passed: Mapping[str, int], size: int, rng: random.Random) -> list[Position]:
    """Positions at which the server is killed; in the middle of a commit in any case."""
    points = [f"{name}:{rng.randint(1, count)}" for name, count in sorted(passed.items())]
    in_the_middle = f"{SENT}:{rng.randint(1, passed[SENT])}"
    chosen = [in_the_middle, *rng.sample(points, min(len(points), size - 1))][:size]
    return [Position(point, Blow.SERVER) for point in chosen]


def sample(everything: Sequence[Position], size: int, rng: random.Random) -> list[Position]:
    by_name: dict[tuple[str, Blow], list[Position]] = {}
    for position in everything:
        by_name.setdefault((position.name, position.blow), []).append(position)
    return one_of_each(by_name.values(), size, rng)


def trial(stage: Stage, program: Program, expected: End, position: Position, bug: str = "") -> Trial:
    with stage.case(program, bug) as case:
        ended = case.live(point=position.point, blow=position.blow)
        if ended not in ((FINISHED, FAILED_CLEARLY) if position.may_fail else (FINISHED,)):
            case.violations.append(f"the life with the outage ended with {ended}: {case.said()}")
        if ended != FINISHED:
            case.last_life()
        blows = case.account.blows
        case.judge(expected, errors=blows)
        return case.done(LAYER, f"{program.name}, {position}", errors=blows, survived=ended == FINISHED)


def run(stage: Stage, program: Program, expected: End, chosen: Sequence[Position]) -> list[Trial]:
    """One after the other where the server is killed, which is that of all."""
    one = partial(trial, stage, program, expected)
    is_shared = all(position.blow is not Blow.SERVER for position in chosen)
    return stage.all(one, chosen) if is_shared else [one(position) for position in chosen]
