"""Shares of a plan's time."""

from collections.abc import Sequence

import pytest

from soorma_ai.features.tracking.time_shares import shares_of
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.rules.plans.waiting import time_of_people
from unit.rows import GOAL, Story, at, decision, expectation

Spans = Sequence[tuple[float, float | None]]


def story(people: Spans, model: Spans, agents: Spans) -> Story:
    """A plan with spans in seconds; None is an open end."""
    made = Story()
    made.expectations = [expectation("w", ExpectationKind.WAIT, first, last) for first, last in people]
    made.expectations += [expectation("r", ExpectationKind.REPLY, first, last) for first, last in agents]
    made.decisions = [decision(GOAL, last or 0, "complete", latency=(last or 0) - first) for first, last in model]
    return made


@pytest.mark.parametrize(
    ("people", "model", "agents", "shares"),
    [
        ([], [], [], (0, 0, 0, 10)),
        ([(2, 5)], [], [], (3, 0, 0, 7)),
        ([(1, 4), (3, 6)], [], [], (5, 0, 0, 5)),
        ([(2, 4)], [(3, 6)], [(1, 8)], (2, 2, 3, 3)),
        ([], [(0, 2), (7, 9)], [(2, 6)], (0, 4, 4, 2)),
        ([(1, 9)], [], [(1, 9)], (8, 0, 0, 2)),
        ([(7, None)], [], [], (3, 0, 0, 7)),
        ([], [], [(-5, 20)], (0, 0, 10, 0)),
        ([(20, 30)], [], [(-9, -1)], (0, 0, 0, 10)),
    ],
    ids=[
        "nothing",
        "people",
        "people at the same time",
        "people before models before agents",
        "models and agents in turn",
        "a slow person takes no time of an agent",
        "an open wait lasts until now",
        "a span beyond the plan is cut",
        "a span outside the plan does not count",
    ],
)
def test_every_moment_belongs_to_one_share(
    people: Spans, model: Spans, agents: Spans, shares: tuple[int, int, int, int]
) -> None:
    found = shares_of([story(people, model, agents).details()], at(0), at(10))
    seconds = tuple(span.total_seconds() for span in (found.people, found.model, found.agents, found.between))
    assert seconds == shares
    assert found.total.total_seconds() == sum(seconds) == 10


def test_overlapping_waits_for_people_count_once() -> None:
    waits = story([(1, 4), (3, 6), (9, None)], [], [(0, 50)]).expectations
    assert time_of_people(waits, at(12)).total_seconds() == 8
