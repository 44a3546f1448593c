"""Recall: memories for a planner's prompt, found by the words of its goal, for the user of the plan."""

from collections.abc import Sequence

from soorma_ai.context_parts.memos import Memo, MemoKind, Recollection
from soorma_ai.features.knowledge.rules import MOST_FOUND, make_query, shelves_of, tell
from soorma_ai.features.knowledge.search import find
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.handling.handling import Handling

MOST_OF_KIND = 20


async def recall(handling: Handling, recollection: Recollection, words: str) -> tuple[JsonObject, ...]:
    """Return the fitting memories, the best of each kind in turn."""
    found = [await _recall_kind(handling, kind, words) for kind in recollection.kinds]
    in_turn = [memos[place] for place in range(MOST_FOUND) for memos in found if place < len(memos)]
    return tell(in_turn, recollection.tokens)


async def _recall_kind(handling: Handling, kind: MemoKind, words: str) -> Sequence[Memo]:
    """Return memos of one kind about the words; of messages, the last ones about anything."""
    lineage = handling.plan.lineage
    shelves = shelves_of(lineage.tenant_id, lineage.user_id, kind, handling.agent, shared=None)
    text = "" if kind is MemoKind.INTERACTION else words
    if kind is not MemoKind.INTERACTION and not words.strip():
        return ()
    return await find(handling.services, make_query(shelves, text, MOST_OF_KIND, {}), text)
