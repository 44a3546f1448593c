"""Long-term memory in handlers: knowledge, the history of a conversation, prompts and rules.

It belongs to the present user, or, `shared`, to their whole tenant; another agent's diary is not read. A handler finds
its own changes; they are committed with its other effects.
"""

from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from soorma_ai.context_parts import MEMOS
from soorma_ai.context_parts.memos import About, Filter, HandlerMemos, Memo, MemoKind, MemoPlace
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.runtime.handling.handling import Handling


class MemoClient:
    """Long-term memory of the present delivery. With knowledge switched off, each call raises ConfigError."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    async def store_knowledge(
        self, content: str, *, key: str | None = None, shared: bool = False, **about: Unpack[About]
    ) -> str:
        """Keep a text, in place of the former one of this key, and return its key. For `about` see `About`."""
        return await self._memos.keep(MemoPlace(MemoKind.KNOWLEDGE, shared), key, content, about)

    async def get_knowledge(self, key: str, *, shared: bool = False) -> Memo | None:
        return await self._memos.get(MemoPlace(MemoKind.KNOWLEDGE, shared), key)

    async def search_knowledge(
        self, query: str = "", *, limit: int = 10, shared: bool | None = None, **given: Unpack[Filter]
    ) -> list[Memo]:
        """Return the memos about it, best first; without a query, the newest first. `shared` None looks through the
        user's and the tenant's. For the conditions see `Filter`."""
        return await self._memos.find(MemoKind.KNOWLEDGE, query, limit, given, shared=shared)

    async def delete_knowledge(self, key: str, *, shared: bool = False) -> bool:
        """Return False when there was nothing."""
        return await self._memos.drop(MemoPlace(MemoKind.KNOWLEDGE, shared), key)

    async def log_interaction(self, role: str, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Keep a line of the conversation between this agent and the user; `role` is its speaker. Return its key. The
        newest thousand are kept."""
        about = About(title=role, metadata=json_object("metadata", metadata or {}))
        diary = MemoPlace(MemoKind.INTERACTION, agent=self._handling.agent)
        return await self._memos.keep(diary, None, content, about)

    async def get_recent_history(self, limit: int = 20) -> list[Memo]:
        """Return the last lines of the conversation, the newest first."""
        return await self._memos.find(MemoKind.INTERACTION, "", limit, {})

    async def search_interactions(self, query: str, *, limit: int = 10) -> list[Memo]:
        return await self._memos.find(MemoKind.INTERACTION, query, limit, {})

    async def store_skill(
        self, name: str, text: str, *, when_to_use: str = "", shared: bool = False, agent: str = ""
    ) -> None:
        """Keep a prompt or a rule, in place of the former one of this name; with an `agent`, for that agent alone."""
        await self._memos.keep(MemoPlace(MemoKind.SKILL, shared, agent), name, text, About(title=when_to_use))

    async def get_relevant_skills(self, context: str, *, limit: int = 5) -> list[Memo]:
        """Return the prompts and rules for this context, best first: those for all agents, and those for this one."""
        return await self._memos.find(MemoKind.SKILL, context, limit, {})

    async def delete_skill(self, name: str, *, shared: bool = False, agent: str = "") -> bool:
        """Return False when there was nothing."""
        return await self._memos.drop(MemoPlace(MemoKind.SKILL, shared, agent), name)

    @property
    def _memos(self) -> HandlerMemos:
        return self._handling.part(MEMOS)
