"""An outage is a pause, at every point of the program: the server ends the connection used there, or all connections;
the answer to a commit is lost; the server is killed with all its processes, and started again.

The life continues by itself. One exception: a commit with an unknown outcome may end the life with an error of ours,
and the next life must reach the expected end.
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
        """Tell whether the life may report the outage: a commit with a lost answer, or a server away for too long."""
        return self.blow is Blow.SERVER or self.name in (COMMITTING, SENT)


def positions(passed: Mapping[str, int]) -> list[Position]:
    """Return the positions of connections and answers."""
    points = [(name, f"{name}:{n}") for name, count in sorted(passed.items()) for n in range(1, count + 1)]
    ended = [Position(point, Blow.CONNECTION) for _, point in points]
    return ended + [Position(point, Blow.ANSWER) for name, point in points if name == SENT]


def of_server(passed: Mapping[str, int], size: int, rng: random.Random) -> list[Position]:
    """Draw positions for kills of the server, always one in the middle of a commit."""
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
    """Try the positions at once, or one after the other for kills of the shared server."""
    one = partial(trial, stage, program, expected)
    is_shared = all(position.blow is not Blow.SERVER for position in chosen)
    return stage.all(one, chosen) if is_shared else [one(position) for position in chosen]
