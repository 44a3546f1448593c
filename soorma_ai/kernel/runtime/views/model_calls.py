"""Calls of a model: their largest cost, and their answers in a form for the journal."""

from collections.abc import Callable
from functools import lru_cache

from msgspec.structs import replace

from soorma_ai.errors import Paid
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import UNSTORABLE, Json, JsonObject, Same, identity_of, is_storable
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion, Reasoner
from soorma_ai.kernel.rules.decisions.repairs import Repair
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN, size_of_spelled, spell, tokens_of
from soorma_ai.kernel.rules.schemas.portable import wire_of


def largest_cost(reasoner: Reasoner, question: ModelQuestion) -> Paid:
    """Return the largest cost of a call: the complete text, in the longest spelling of any provider, and the longest
    answer.

    Tokens are estimated by script: a call may cost more where a model counts otherwise.
    """
    first, *others = [message.content for message in question.messages]
    size = _size_of_beginning(first) + sum(map(size_of_spelled, others)) + len(question.messages) + 1  # as one list
    sent = size // CHARS_PER_TOKEN + _tokens_in(identity_of(question.schema))
    room = question.room or reasoner.max_output_tokens
    return Paid(sent, room, reasoner.cost_of(sent, room))


# The first message stays the same from question to question.
_size_of_beginning = lru_cache(maxsize=64)(size_of_spelled)


@lru_cache(maxsize=256)
def _tokens_in(same: Same[JsonObject]) -> int:
    return max(tokens_of(spell(same())), tokens_of(wire_of(same()).text))


def usable(answer: ModelAnswer) -> ModelAnswer:
    """The answer as the journal can hold it. One that cannot be written down, or did not end well, has no value."""
    text = answer.text.encode("utf-8", "backslashreplace").decode()
    if answer.ending is not Ending.GOOD:
        fault = answer.fault or f"the answer did not end well, but {answer.ending}"
        return replace(answer, text=text, value=None, fault=fault)
    if is_storable(answer.value):
        return replace(answer, text=text)
    return replace(answer, text=text, value=None, fault=f"the answer cannot be used: {UNSTORABLE}")


def repaired(answer: ModelAnswer, repair: Callable[[Json], Repair]) -> ModelAnswer:
    """Return the answer with its value repaired; `found` names the repairs."""
    made = repair(answer.value)
    if not made.how:
        return answer
    return replace(answer, value=made.value, found=", ".join(filter(None, (answer.found, *made.how))))
