"""Shares of trials have Wilson intervals; pass^k is the closed form."""

from itertools import combinations
from math import comb

import pytest

from soorma_ai.features.trials.figures import pass_power, share_of


@pytest.mark.parametrize(("good", "count", "low", "high"), [(0, 10, 0.0, 0.2775), (9, 10, 0.5958, 0.9821)])
def test_a_share_has_its_wilson_interval(good: int, count: int, low: float, high: float) -> None:
    found = share_of(good, count)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_a_share_of_nothing_is_unknown() -> None:
    assert (share_of(0, 0).low, share_of(0, 0).high, share_of(0, 0).value) == (0.0, 1.0, 0.0)


def test_the_interval_covers_the_true_share_on_average() -> None:
    """By enumeration of all results, for shares between .1 and .9."""
    shares = [number / 100 for number in range(10, 91)]
    for count in range(1, 51):
        intervals = [share_of(good, count) for good in range(count + 1)]
        covered = [
            sum(
                comb(count, good) * share**good * (1 - share) ** (count - good)
                for good, one in enumerate(intervals)
                if one.low <= share <= one.high
            )
            for share in shares
        ]
        assert sum(covered) / len(covered) >= 0.93, count


def test_pass_power_is_the_share_of_draws_with_good_answers_only() -> None:
    answers = [True] * 4 + [False] * 2
    for times in range(1, 7):
        draws = [all(draw) for draw in combinations(answers, times)]
        assert pass_power(4, 6, times) == sum(draws) / len(draws)
