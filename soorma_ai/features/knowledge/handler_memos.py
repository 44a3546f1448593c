"""Long-term memory of one handling: body of `context_parts.memos.HandlerMemos`."""

from soorma_ai.context_parts.memos import About, Filter, Memo, MemoKind, MemoPlace, Shelf
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import DropMemo, KeepMemo, MemoChange
from soorma_ai.features.knowledge.rules import (
    keep,
    make_memo,
    make_query,
    memo_with_changes,
    own_shelf,
    shared_shelf,
    shelves_of,
    text_of,
    with_changes,
)
from soorma_ai.features.knowledge.search import embed, find
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.runtime.handling.handling import Handling


class MemosInHand:
    """Changes are recorded in the handling, and searches find them before they are stored."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    async def keep(self, place: MemoPlace, key: str | None, content: str, about: About) -> str:
        handling, shelf = self._handling, self._shelf(place)
        # Handling again makes the same key.
        key = handling.moment().event_id("memo") if key is None else key
        memo = make_memo(shelf, key, content, plain_name(handling.agent), handling.services.clock.now(), about)
        handling.memory.record(keep(memo, await embed(handling.services, text_of(memo))))
        return key

    async def get(self, place: MemoPlace, key: str) -> Memo | None:
        services, shelf = self._handling.services, self._shelf(place)
        stored = await services.store.part(MEMOS).memo(shelf, key, services.clock.now())
        return memo_with_changes(stored, self._changes, shelf, key)

    async def find(
        self, kind: MemoKind, text: str, limit: int, given: Filter, *, shared: bool | None = None
    ) -> list[Memo]:
        handling, lineage = self._handling, self._handling.lineage
        shelves = shelves_of(lineage.tenant_id, lineage.user_id, kind, handling.agent, shared=shared)
        query = make_query(shelves, text, limit, given)
        changes, now = self._changes, handling.services.clock.now()
        return with_changes(await find(handling.services, query, text), changes, query, now)

    async def drop(self, place: MemoPlace, key: str) -> bool:
        existed = await self.get(place, key) is not None
        if existed:
            self._handling.memory.record(DropMemo(self._shelf(place), key))
        return existed

    @property
    def _changes(self) -> list[MemoChange]:
        return [one for one in self._handling.memory.recorded if isinstance(one, KeepMemo | DropMemo)]

    def _shelf(self, place: MemoPlace) -> Shelf:
        lineage = self._handling.lineage
        if place.is_shared:
            return shared_shelf(lineage.tenant_id, place.kind, place.agent)
        return own_shelf(lineage.tenant_id, lineage.user_id, place.kind, place.agent)
