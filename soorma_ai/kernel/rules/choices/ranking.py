"""Ranking of choices: by words, by meaning, by the plan's own history, with a share for each agent."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import lru_cache

from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.values import Same
from soorma_ai.kernel.rules.choices.index import Query, fuse
from soorma_ai.kernel.rules.choices.offer import DELEGATE, WAIT, Offer
from soorma_ai.kernel.rules.prompting.history import StepLines

MOST_RANKED = 400
# An agent with more choices than these is a gateway: one request says little about the next.
MOST_OF_AGENT_IN_USE = 64

_USED = (StepKind.PUBLISHED, StepKind.DELEGATED, StepKind.HELD, StepKind.ASKED)
FIRST_FEW = 4


def rank(offer: Offer, query: Query | str, meant: Sequence[str] = ()) -> list[str]:
    """Return the likely choices, best first. `meant` are events found by their meaning, which count as much as those
    that are found by words."""
    found = offer.index.rank(query, MOST_RANKED)
    ranked = fuse([(found, 1.0), (meant, 1.0)], MOST_RANKED) if meant else found
    return _choices(offer, share(ranked, lambda event: offer.agents.get(event, "")))


@lru_cache(maxsize=8)
def standing_order(same: Same[Offer]) -> tuple[str, ...]:
    """Return the choices with a schema in their order for all plans of a planner: goals of other planners, events of
    near agents, other events. Each part is ordered by agent and name, with a share for each agent."""
    offer = same()
    parts: tuple[list[str], ...] = ([], [], [])
    for name in sorted(offer.choices, key=lambda name: (_agent_of(name, offer), name)):
        if not name.startswith(WAIT):
            parts[0 if name.startswith(DELEGATE) else 1 if offer.is_near(name) else 2].append(name)
    return tuple(name for part in parts for name in share(part, lambda name: _agent_of(name, offer)))


def events_used(history: Sequence[StepLines]) -> list[str]:
    """Return the events that a plan has asked or waited for, the newest first."""
    return [*dict.fromkeys(step.name for step in reversed(history) if step.kind in _USED)]


def choices_of(history: Sequence[StepLines], offer: Offer) -> list[str]:
    """Return the choices that a plan has taken, the newest first."""
    return _choices(offer, events_used(history))


def choices_near(ranked: Sequence[str], used: Sequence[str], offer: Offer) -> list[str]:
    """Return the other choices of the agents in use, best first; none of an agent with very many."""
    behind = {agent for name in used if (agent := _agent_of(name, offer))}
    few = [names for agent in behind if len(names := offer.choices_of_agent(agent)) <= MOST_OF_AGENT_IN_USE]
    near = {name for names in few for name in names}.difference(used)
    first = [name for name in ranked if name in near]
    return [*first, *sorted(near.difference(first))]


def _agent_of(name: str, offer: Offer) -> str:
    return offer.agents.get(offer.choices[name].event_name, "")


def _choices(offer: Offer, events: Sequence[str]) -> list[str]:
    return [choice for event in events for choice in offer.choices_about.get(event, ())]


def share(ranked: Sequence[str], agent_of: Callable[[str], str]) -> list[str]:
    """Return the ranking in shares: past the first few, no agent has more than half of any beginning while others have
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
