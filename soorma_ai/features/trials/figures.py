"""Figures of trials: shares with their intervals."""

from math import comb, sqrt

from msgspec import Struct

# Quantile of the normal distribution for an interval of 95 %.
Z = 1.959963984540054


class Share(Struct, frozen=True):
    """Share of `good` ones among `count`, with its Wilson interval of 95 % from `low` to `high`."""

    good: int
    count: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.good / self.count if self.count else 0.0


def share_of(good: int, count: int) -> Share:
    if count == 0:
        return Share(0, 0, 0.0, 1.0)
    share, square = good / count, Z * Z / count
    middle = (share + square / 2) / (1 + square)
    half = Z * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return Share(good, count, max(0.0, middle - half), min(1.0, middle + half))


def pass_power(good: int, count: int, times: int) -> float:
    """Return pass^k: the chance that `times` answers drawn from `count` without replacement are all good."""
    return comb(good, times) / comb(count, times)
