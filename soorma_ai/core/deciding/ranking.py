"""Choices that a decision is likely to take, by the words of the goal, the owner, what just happened, or the model."""

import json
from collections import Counter, deque
from collections.abc import Callable, Sequence

from soorma_ai.core.deciding.offer import Offer
from soorma_ai.core.deciding.prompt import Occasion
from soorma_ai.core.selection.index import Query
from soorma_ai.domain.history import Step, StepKind
from soorma_ai.domain.values import Json, JsonObject

MOST_RANKED = 1_000
FIRST_FEW = 4
GOAL_WEIGHT, HAPPENED_WEIGHT, INSTRUCTIONS_WEIGHT = 1.0, 0.7, 0.3

_USED = (StepKind.PUBLISHED, StepKind.DELEGATED, StepKind.HELD, StepKind.ASKED)


def rank_by_occasion(offer: Offer, occasion: Occasion, instructions: str) -> list[str]:
    plan, trigger = occasion.plan, occasion.trigger
    query = Query(
        (
            (f"{plan.goal_event} {_spoken(plan.goal_data)}", GOAL_WEIGHT),
            (f"{trigger.text} {'' if trigger.data is None else _spoken(trigger.data)}", HAPPENED_WEIGHT),
            (instructions, INSTRUCTIONS_WEIGHT),
        )
    )
    return _choices(offer, offer.index.rank(query, MOST_RANKED))


def query_about_state(state: JsonObject, instructions: str) -> Query:
    """Return what a choice outside of any plan is about: all that is known is what its author tells."""
    return Query(((_spoken(state), GOAL_WEIGHT), (instructions, INSTRUCTIONS_WEIGHT)))


def rank_by_words(offer: Offer, words: Query | str) -> list[str]:
    return _choices(offer, offer.index.rank(words, MOST_RANKED))


def used_in(history: Sequence[Step], offer: Offer) -> list[str]:
    """Return the choices that a plan has taken, the newest first."""
    names = dict.fromkeys(step.name for step in reversed(history) if step.kind in _USED)
    return _choices(offer, [*names])


def _choices(offer: Offer, events: Sequence[str]) -> list[str]:
    shared = share(events, lambda event: offer.agents.get(event, ""))
    return [choice for event in shared for choice in offer.choices_about.get(event, ())]


def share(ranked: Sequence[str], agent_of: Callable[[str], str]) -> list[str]:
    """Return what is ranked so that no agent has more than half of any beginning, while others have anything left:
    with events that repeat a goal's words one agent could crowd out the right one."""
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


def _spoken(value: Json) -> str:
    """Return a value as text in which words of every language stand as they are."""
    return json.dumps(value, ensure_ascii=False)


def _has_room(taken: int, of: int) -> bool:
    return of < FIRST_FEW or 2 * taken <= of
