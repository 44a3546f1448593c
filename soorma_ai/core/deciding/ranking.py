"""Choices that a decision is likely to take, by the words of the goal, the owner, what just happened, or the model."""

import json
from collections.abc import Sequence

from soorma_ai.core.deciding.offer import Offer
from soorma_ai.core.deciding.prompt import Occasion
from soorma_ai.core.selection.fuse import fuse
from soorma_ai.core.selection.index import Query
from soorma_ai.core.selection.share import share
from soorma_ai.domain.history import Step, StepKind
from soorma_ai.domain.values import Json, JsonObject

MOST_RANKED = 400
GOAL_WEIGHT, HAPPENED_WEIGHT, DONE_WEIGHT, INSTRUCTIONS_WEIGHT = 1.0, 0.7, 0.5, 0.5

_USED = (StepKind.PUBLISHED, StepKind.DELEGATED, StepKind.HELD, StepKind.ASKED)


def query_about(occasion: Occasion, instructions: str) -> Query:
    """Return what a decision is about: the goal, what just happened, what was done last, the owner's instructions."""
    plan, trigger = occasion.plan, occasion.trigger
    done = " ".join(dict.fromkeys(step.name for step in occasion.history if step.kind in _USED))
    return Query(
        (
            (f"{plan.goal_event} {_spoken(plan.goal_data)}", GOAL_WEIGHT),
            (f"{trigger.text} {'' if trigger.data is None else _spoken(trigger.data)}", HAPPENED_WEIGHT),
            (done, DONE_WEIGHT),
            (instructions, INSTRUCTIONS_WEIGHT),
        )
    )


def query_about_state(state: JsonObject, instructions: str) -> Query:
    """Return what a choice outside of any plan is about: all that is known is what its author tells."""
    return Query(((_spoken(state), GOAL_WEIGHT), (instructions, INSTRUCTIONS_WEIGHT)))


def rank(offer: Offer, query: Query | str, meant: Sequence[str] = ()) -> list[str]:
    """Return the likely choices, best first. `meant` are events found by their meaning, which count as much as those
    that are found by words."""
    found = offer.index.rank(query, MOST_RANKED)
    ranked = fuse([(found, 1.0), (meant, 1.0)], MOST_RANKED) if meant else found
    return _choices(offer, share(ranked, lambda event: offer.agents.get(event, "")))


def used_in(history: Sequence[Step], offer: Offer) -> list[str]:
    """Return the choices that a plan has taken, the newest first."""
    names = dict.fromkeys(step.name for step in reversed(history) if step.kind in _USED)
    return _choices(offer, [*names])


def _choices(offer: Offer, events: Sequence[str]) -> list[str]:
    return [choice for event in events for choice in offer.choices_about.get(event, ())]


def _spoken(value: Json) -> str:
    """Return a value as text in which words of every language stand as they are."""
    return json.dumps(value, ensure_ascii=False)
