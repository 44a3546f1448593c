"""Calls of memory that outlives plans. Written by `make clients`; do not edit."""

from collections.abc import Mapping
from typing import Any, Protocol

from typing_extensions import Unpack

from soorma_ai.context_parts.memos import About, Filter, Memo
from soorma_ai.features.knowledge.records import AgentName, Content, Context, LookupResult, Title
from soorma_ai.kernel.domain.parameters import Id, Name


class MemoCalls(Protocol):
    """Long-term memory."""

    async def store_knowledge(
        self,
        content: str,
        *,
        key: str | None = None,
        shared: bool = False,
        user_id: str | None = None,
        **about: Unpack[About],
    ) -> str: ...

    async def get_knowledge(self, key: Name, *, shared: bool = False, user_id: Id | None = None) -> Memo | None: ...

    async def search_knowledge(
        self,
        query: str = "",
        *,
        limit: int = 10,
        shared: bool | None = None,
        user_id: str | None = None,
        **given: Unpack[Filter],
    ) -> list[Memo]: ...

    async def delete_knowledge(self, key: Name, *, shared: bool = False, user_id: Id | None = None) -> bool: ...

    async def log_interaction(
        self,
        agent: Name,
        role: Title,
        content: Content,
        metadata: Mapping[str, Any] | None = None,
        *,
        user_id: Id | None = None,
    ) -> str: ...

    async def get_recent_history(self, agent: str, *, limit: int = 20, user_id: str | None = None) -> list[Memo]: ...

    async def search_interactions(
        self, agent: str, query: str, *, limit: int = 10, user_id: str | None = None
    ) -> list[Memo]: ...

    async def store_skill(
        self,
        name: str,
        text: str,
        *,
        when_to_use: str = "",
        agent: str = "",
        shared: bool = False,
        user_id: str | None = None,
    ) -> None: ...

    async def get_relevant_skills(
        self, context: Context, *, agent: AgentName = "", limit: LookupResult = 5, user_id: Id | None = None
    ) -> list[Memo]: ...

    async def delete_skill(
        self, name: Name, *, agent: AgentName = "", shared: bool = False, user_id: Id | None = None
    ) -> bool: ...
