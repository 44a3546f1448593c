"""Bodies of the parts of a handler's context, as features give them. Each is loaded by its first use."""

from soorma_ai.kernel.domain.memos import Recollection
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports.context import ContextParts, HandlerMemos, Toolkit
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.views.registry import Directory


def _memos(handling: Handling) -> HandlerMemos:
    from soorma_ai.features.knowledge.handler_memos import MemosInHand

    return MemosInHand(handling)


def _toolkit(handling: Handling) -> Toolkit:
    # Few handlers look through events, and what shows and checks them is large.
    from soorma_ai.features.retrieval.toolkit import EventToolkit

    event = handling.event
    person = Person(event.tenant_id, event.user_id, frozenset())
    return EventToolkit(Directory(handling.services, person), handling.agent)


async def _recall(handling: Handling, recollection: Recollection, words: str) -> tuple[JsonObject, ...]:
    from soorma_ai.features.knowledge.recall import recall

    return await recall(handling, recollection, words)


ALL_PARTS: ContextParts[Handling] = ContextParts(_memos, _toolkit, _recall)
