"""What is looked for among very many events, in words: the goal, the owner, what just happened, what was done."""

import json

from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.choices.index import Query
from soorma_ai.kernel.rules.choices.ranking import events_used
from soorma_ai.kernel.rules.decisions.prompt import Occasion

GOAL_WEIGHT, HAPPENED_WEIGHT, DONE_WEIGHT, INSTRUCTIONS_WEIGHT = 1.0, 0.7, 0.5, 0.5


def query_about(occasion: Occasion, instructions: str) -> Query:
    """Return what a decision is about: the goal, what just happened, what was done last, the owner's instructions."""
    plan, trigger = occasion.plan, occasion.trigger
    return Query(
        (
            (f"{plan.goal_event} {_text_of(plan.goal_data)}", GOAL_WEIGHT),
            (f"{trigger.text} {'' if trigger.data is None else _text_of(trigger.data)}", HAPPENED_WEIGHT),
            (" ".join(events_used(occasion.history)), DONE_WEIGHT),
            (instructions, INSTRUCTIONS_WEIGHT),
        )
    )


def query_about_state(state: JsonObject, instructions: str) -> Query:
    """Return what a choice outside of any plan is about: all that is known is what its author tells."""
    return Query(((_text_of(state), GOAL_WEIGHT), (instructions, INSTRUCTIONS_WEIGHT)))


def _text_of(value: Json) -> str:
    """Return a value as text in which words of every language stand as they are."""
    return json.dumps(value, ensure_ascii=False)
