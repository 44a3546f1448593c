"""What is remembered beyond plans, as handlers use it: knowledge, what was said, and prompts and rules.

It belongs to the user in hand, or, `shared`, to their whole tenant; another agent's diary is not read. A handler finds
its own changes; they happen with everything else that it did.
"""

from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import (
    About,
    DropMemo,
    Filter,
    KeepMemo,
    Memo,
    MemoChange,
    MemoKind,
    MemoQuery,
    Shelf,
)
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
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.runtime.handling.handling import Handling


class MemoClient:
    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    async def store_knowledge(
        self, content: str, *, key: str | None = None, shared: bool = False, **about: Unpack[About]
    ) -> str:
        """Keep a text, in the place of what has this key, and return its key. For `about` see `About`."""
        shelf = self._shelf(MemoKind.KNOWLEDGE, shared=shared)
        return await self._keep(shelf, self._new_key() if key is None else key, content, about)

    async def get_knowledge(self, key: str, *, shared: bool = False) -> Memo | None:
        return await self._look(self._shelf(MemoKind.KNOWLEDGE, shared=shared), key)

    async def search_knowledge(
        self, query: str = "", *, limit: int = 10, shared: bool | None = None, **given: Unpack[Filter]
    ) -> list[Memo]:
        """Return what is known about it, best first; without a query, the newest first. `shared` None looks through the
        user's and the tenant's. For the conditions see `Filter`."""
        return await self._find(self._shelves(MemoKind.KNOWLEDGE, shared=shared), query, limit, given)

    async def delete_knowledge(self, key: str, *, shared: bool = False) -> bool:
        """Return False when there was nothing."""
        return await self._drop(self._shelf(MemoKind.KNOWLEDGE, shared=shared), key)

    async def log_interaction(self, role: str, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Write down what was said between this agent and the user; `role` says by whom. Return its key. The newest
        thousand are kept."""
        about = About(title=role, metadata=json_object("metadata", metadata or {}))
        return await self._keep(self._diary, self._new_key(), content, about)

    async def get_recent_history(self, limit: int = 20) -> list[Memo]:
        """Return what was said last, the newest first."""
        return await self._find((self._diary,), "", limit, {})

    async def search_interactions(self, query: str, *, limit: int = 10) -> list[Memo]:
        return await self._find((self._diary,), query, limit, {})

    async def store_skill(
        self, name: str, text: str, *, when_to_use: str = "", shared: bool = False, agent: str = ""
    ) -> None:
        """Keep a prompt or a rule, in the place of the one of this name; with an `agent`, for that one alone."""
        about = About(title=when_to_use)
        await self._keep(self._shelf(MemoKind.SKILL, agent, shared=shared), name, text, about)

    async def get_relevant_skills(self, context: str, *, limit: int = 5) -> list[Memo]:
        """Return the prompts and rules that are about this, for all agents and for this one, best first."""
        return await self._find(self._shelves(MemoKind.SKILL, shared=None), context, limit, {})

    async def delete_skill(self, name: str, *, shared: bool = False, agent: str = "") -> bool:
        """Return False when there was nothing."""
        return await self._drop(self._shelf(MemoKind.SKILL, agent, shared=shared), name)

    @property
    def _diary(self) -> Shelf:
        return self._shelves(MemoKind.INTERACTION, shared=False)[0]

    def _shelves(self, kind: MemoKind, *, shared: bool | None) -> tuple[Shelf, ...]:
        return shelves_of(*self._whose, kind, self._handling.agent, shared=shared)

    def _shelf(self, kind: MemoKind, agent: str = "", *, shared: bool) -> Shelf:
        tenant_id, user_id = self._whose
        return shared_shelf(tenant_id, kind, agent) if shared else own_shelf(tenant_id, user_id, kind, agent)

    @property
    def _whose(self) -> tuple[str, str]:
        lineage = self._handling.lineage
        return lineage.tenant_id, lineage.user_id

    @property
    def _changes(self) -> list[MemoChange]:
        return [one for one in self._handling.memory.recorded if isinstance(one, KeepMemo | DropMemo)]

    def _new_key(self) -> str:
        """Return a key that handling again makes as well."""
        return self._handling.moment().event_id("memo")

    async def _keep(self, shelf: Shelf, key: str, content: str, about: About) -> str:
        handling = self._handling
        memo = make_memo(shelf, key, content, plain_name(handling.agent), handling.services.clock.now(), about)
        handling.memory.record(keep(memo, await embed(handling.services, text_of(memo))))
        return key

    async def _look(self, shelf: Shelf, key: str) -> Memo | None:
        services = self._handling.services
        stored = await services.store.part(MEMOS).memo(shelf, key, services.clock.now())
        return memo_with_changes(stored, self._changes, shelf, key)

    async def _find(self, shelves: tuple[Shelf, ...], text: str, limit: int, given: Filter) -> list[Memo]:
        return await self._search(make_query(shelves, text, limit, given), text)

    async def _search(self, query: MemoQuery, text: str) -> list[Memo]:
        handling = self._handling
        changes, now = self._changes, handling.services.clock.now()
        return with_changes(await find(handling.services, query, text), changes, query, now)

    async def _drop(self, shelf: Shelf, key: str) -> bool:
        existed = await self._look(shelf, key) is not None
        if existed:
            self._handling.memory.record(DropMemo(shelf, key))
        return existed
