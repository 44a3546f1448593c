"""Figures of trials: shares with their intervals."""

from collections.abc import Sequence
from math import comb, sqrt

from msgspec import Struct

from soorma_ai.features.trials.records import ModelTrial, Usage

# Quantile of the normal distribution for an interval of 95 %.
Z = 1.959963984540054


class Share(Struct, frozen=True):
    """Share of `good` ones among `count`, with its Wilson interval of 95 % from `low` to `high`. Of questions with
    several answers, `good` is the sum of their shares."""

    good: float
    count: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.good / self.count if self.count else 0.0


def share_of(good: float, count: int) -> Share:
    if count == 0:
        return Share(0, 0, 0.0, 1.0)
    share, square = good / count, Z * Z / count
    middle = (share + square / 2) / (1 + square)
    half = Z * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return Share(good, count, max(0.0, middle - half), min(1.0, middle + half))


def pass_power(good: int, count: int, times: int) -> float:
    """Return pass^k: the chance that `times` answers drawn from `count` without replacement are all good."""
    return comb(good, times) / comb(count, times)


class TrialReport(Struct, frozen=True):
    """Figures of trials by a model. `pass_at_1` is the share of good answers; `pass_power` that of questions with good
    answers only, pass^k for k of all `times`. Answers to one question are not independent, so both intervals are those
    of so many questions. `plans` is the share of plans without a difference."""

    times: int
    plans: Share
    pass_at_1: Share
    pass_power: Share
    then: Usage
    now: Usage
    paid_usd: float

    def is_good(self, at_least: float | None) -> bool:
        """Tell whether the share of good answers is large enough; without a bound, whether all plans are same. Without
        a question, a bound is not reached."""
        if at_least is None:
            return self.plans.good == self.plans.count
        return self.pass_at_1.count > 0 and self.pass_at_1.value >= at_least


def report_of(trials: Sequence[ModelTrial], times: int) -> TrialReport:
    """Return the figures of trials with so many answers to a question."""
    scores = [score for trial in trials for score in trial.scores]
    then, now = Usage(), Usage()
    for trial in trials:
        then, now = then.plus(trial.then), now.plus(trial.now)
    return TrialReport(
        times,
        share_of(sum(one.is_same for one in trials), len(trials)),
        share_of(sum(one.good / one.count for one in scores), len(scores)),
        share_of(sum(pass_power(one.good, one.count, times) for one in scores), len(scores)),
        then,
        now,
        sum(one.paid_usd for one in trials),
    )
