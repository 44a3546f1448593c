"""Long-term memory for clients; a call acts at once."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from typing_extensions import Unpack

from soorma_ai.context_parts.memos import About, Filter, Memo, MemoKind, Shelf
from soorma_ai.errors import NotFound
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import AgentName, Content, Context, DropMemo, LookupResult, Title
from soorma_ai.features.knowledge.rules import keep, make_memo, make_query, own_shelf, shared_shelf, shelves_of, text_of
from soorma_ai.features.knowledge.search import embed, find
from soorma_ai.kernel.domain.calls import Act, CallRow, CallTable
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.parameters import Id, Name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import json_object, must_be_text
from soorma_ai.kernel.rules.authority import SHARE_MEMORY, Owner, check
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views.audit import AuditedChange, changing

CALLS = CallTable("memory.")


class PersonMemos:
    """Memos of a person, or of another `user_id` with the right to see or steer theirs (else NotFound, Forbidden). A
    `shared` memo is the tenant's: everybody reads it, and an operator changes it."""

    def __init__(self, services: Services, person: Person, caller: Caller | None = None) -> None:
        self._services = services
        self._person = person
        self._caller = caller

    @CALLS.local(Act.STEER)
    async def store_knowledge(
        self,
        content: str,
        *,
        key: str | None = None,
        shared: bool = False,
        user_id: str | None = None,
        **about: Unpack[About],
    ) -> str:
        """Keep a text, in place of the former one of this key, and return its key. For `about` see `About`."""
        shelf = self._shelf(MemoKind.KNOWLEDGE, user_id, shared=shared)
        made = self._services.clock.new_id() if key is None else key
        await self._keep(CALLS["store_knowledge"], shelf, made, content, about)
        return made

    @CALLS("GET /memory/knowledge/{key:path}", Act.SEE, "get_knowledge", missing="nothing is known as {key!r}")
    async def get_knowledge(self, key: Name, *, shared: bool = False, user_id: Id | None = None) -> Memo | None:
        """Return the text of a key; None for an unknown one."""
        self._check(CALLS["get_knowledge"], user_id)
        shelf = self._shelf(MemoKind.KNOWLEDGE, user_id, shared=shared)
        return await self._services.store.part(MEMOS).memo(shelf, key, self._services.clock.now())

    @CALLS.local(Act.SEE)
    async def search_knowledge(
        self,
        query: str = "",
        *,
        limit: int = 10,
        shared: bool | None = None,
        user_id: str | None = None,
        **given: Unpack[Filter],
    ) -> list[Memo]:
        """Return the knowledge about a query, best first; without a query, the newest first. `shared` None searches the
        user's and the tenant's. For the conditions see `Filter`."""
        self._check(CALLS["search_knowledge"], user_id)
        return await self._find(self._shelves(MemoKind.KNOWLEDGE, user_id, "", shared), query, limit, given)

    @CALLS("DELETE /memory/knowledge/{key:path}", Act.STEER, "delete_knowledge", key="deleted")
    async def delete_knowledge(self, key: Name, *, shared: bool = False, user_id: Id | None = None) -> bool:
        """Remove the text of a key. False for an unknown one."""
        shelf = self._shelf(MemoKind.KNOWLEDGE, user_id, shared=shared)
        return await self._drop(CALLS["delete_knowledge"], shelf, key)

    @CALLS("POST /memory/interactions", Act.STEER, "log_interaction", key="key", raises=(NotFound,))
    async def log_interaction(
        self,
        agent: Name,
        role: Title,
        content: Content,
        metadata: Mapping[str, Any] | None = None,
        *,
        user_id: Id | None = None,
    ) -> str:
        """Record a message between an agent and a user; `role` is its author. Return its key. The newest thousand are
        kept."""
        about = About(title=role, metadata=json_object("metadata", metadata or {}))
        key = self._services.clock.new_id()
        await self._keep(CALLS["log_interaction"], self._diary(agent, user_id), key, content, about)
        return key

    @CALLS.local(Act.SEE)
    async def get_recent_history(self, agent: str, *, limit: int = 20, user_id: str | None = None) -> list[Memo]:
        """Return the last messages between an agent and a user, the newest first."""
        self._check(CALLS["get_recent_history"], user_id)
        return await self._find((self._diary(agent, user_id),), "", limit, {})

    @CALLS.local(Act.SEE)
    async def search_interactions(
        self, agent: str, query: str, *, limit: int = 10, user_id: str | None = None
    ) -> list[Memo]:
        """Return messages between an agent and a user, best first."""
        self._check(CALLS["search_interactions"], user_id)
        return await self._find((self._diary(agent, user_id),), query, limit, {})

    @CALLS.local(Act.STEER)
    async def store_skill(
        self,
        name: str,
        text: str,
        *,
        when_to_use: str = "",
        agent: str = "",
        shared: bool = False,
        user_id: str | None = None,
    ) -> None:
        """Keep a prompt or a rule, in place of the former one of this name; with an `agent`, for that agent alone."""
        shelf = self._shelf(MemoKind.SKILL, user_id, agent, shared=shared)
        await self._keep(CALLS["store_skill"], shelf, name, text, About(title=when_to_use))

    @CALLS("POST /memory/skills/search", Act.SEE, "get_relevant_skills", is_safe=True, raises=(NotFound,))
    async def get_relevant_skills(
        self, context: Context, *, agent: AgentName = "", limit: LookupResult = 5, user_id: Id | None = None
    ) -> list[Memo]:
        """Return the prompts and rules for this context, best first: those for all agents, and those for the named
        one."""
        self._check(CALLS["get_relevant_skills"], user_id)
        return await self._find(self._shelves(MemoKind.SKILL, user_id, agent, None), context, limit, {})

    @CALLS("DELETE /memory/skills/{name:path}", Act.STEER, "delete_skill", key="deleted")
    async def delete_skill(
        self, name: Name, *, agent: AgentName = "", shared: bool = False, user_id: Id | None = None
    ) -> bool:
        """Remove a prompt or a rule. False when there was nothing."""
        return await self._drop(CALLS["delete_skill"], self._shelf(MemoKind.SKILL, user_id, agent, shared=shared), name)

    def _diary(self, agent: str, user_id: str | None) -> Shelf:
        must_be_text("agent", agent)
        return self._shelves(MemoKind.INTERACTION, user_id, agent, False)[0]

    def _shelves(self, kind: MemoKind, user_id: str | None, agent: str, shared: bool | None) -> tuple[Shelf, ...]:
        return shelves_of(self._person.tenant_id, self._user(user_id), kind, agent, shared=shared)

    def _shelf(self, kind: MemoKind, user_id: str | None, agent: str = "", *, shared: bool) -> Shelf:
        tenant_id = self._person.tenant_id
        if shared:
            return shared_shelf(tenant_id, kind, agent)
        return own_shelf(tenant_id, self._user(user_id), kind, agent)

    def _user(self, user_id: str | None) -> str:
        return self._person.user_id if user_id is None else user_id

    def _check(self, call: CallRow, user_id: str | None) -> None:
        must_be_outside()
        whose = self._user(user_id)
        owner = Owner(self._person.tenant_id, whose)
        check(self._person, call, owner, f"no memory of {whose!r} in tenant {self._person.tenant_id!r}")

    @asynccontextmanager
    async def _on_shelf(self, call: CallRow, shelf: Shelf, key: str) -> AsyncGenerator[AuditedChange]:
        async with changing(self._services, self._caller, call.name, key) as change:
            if shelf.is_shared:
                must_be_outside()
                check(self._person, SHARE_MEMORY, Owner(self._person.tenant_id), "")
            else:
                self._check(call, shelf.user_id)
            yield change

    async def _keep(self, call: CallRow, shelf: Shelf, key: str, content: str, about: About) -> None:
        services = self._services
        memo = make_memo(shelf, key, content, CLIENT, services.clock.now(), about)
        async with self._on_shelf(call, shelf, key) as change:
            await change.store.part(MEMOS).change([keep(memo, await embed(services, text_of(memo)))], memo.at)

    async def _find(self, shelves: tuple[Shelf, ...], text: str, limit: int, given: Filter) -> list[Memo]:
        return await find(self._services, make_query(shelves, text, limit, given), text)

    async def _drop(self, call: CallRow, shelf: Shelf, key: str) -> bool:
        memos, now = self._services.store.part(MEMOS), self._services.clock.now()
        async with self._on_shelf(call, shelf, key) as change:
            existed = await memos.memo(shelf, key, now) is not None
            await change.store.part(MEMOS).change([DropMemo(shelf, key)], now)
        return existed


def memos_of(client: Client) -> PersonMemos:
    """Return the calls of a client's person."""
    return PersonMemos(client.services, client.person, client.caller)
