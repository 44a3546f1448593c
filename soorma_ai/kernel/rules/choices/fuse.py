"""Several rankings of the same events as one, by the places that each gives, since their weights do not compare."""

from collections import defaultdict
from collections.abc import Sequence

# How little being first in one ranking counts against being good in several: the usual value of reciprocal rank fusion.
SMOOTHING = 60


def fuse(rankings: Sequence[tuple[Sequence[str], float]], most: int) -> list[str]:
    """Return names that any ranking has, best first: each ranking gives its worth / (SMOOTHING + place). Ties go by
    name."""
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking, worth in rankings:
        for place, name in enumerate(dict.fromkeys(ranking), 1):
            scores[name] += worth / (SMOOTHING + place)
    return sorted(scores, key=lambda name: (-scores[name], name))[:most]
