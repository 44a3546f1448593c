"""Shares of agents in what is ranked: by events that repeat the words of a goal, one could crowd out all others."""

from collections import Counter, deque
from collections.abc import Callable, Sequence

FIRST_FEW = 4


def share(ranked: Sequence[str], agent_of: Callable[[str], str]) -> list[str]:
    """Return what is ranked so that, past the first few, no agent has more than half of any beginning while others have
    anything left."""
    shared: list[str] = []
    counts: Counter[str] = Counter()
    later: deque[str] = deque()
    coming = deque(ranked)
    while coming or later:
        take_later = later and (not coming or _has_room(counts[agent_of(later[0])], len(shared)))
        name = (later if take_later else coming).popleft()
        agent = agent_of(name)
        if not take_later and (coming or later) and not _has_room(counts[agent], len(shared)):
            later.append(name)
            continue
        counts[agent] += 1
        shared.append(name)
    return shared


def _has_room(taken: int, of: int) -> bool:
    return of < FIRST_FEW or 2 * taken <= of
