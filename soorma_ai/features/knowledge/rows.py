"""Calls of memory that outlives plans, over HTTP. Written by `make clients`; do not edit."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.api.clients.address import PathTail
from soorma_ai.api.clients.messages import Page, delete, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.context_parts.memos import Memo
from soorma_ai.features.knowledge.records import AgentName, Content, Context, LookupResult, Title
from soorma_ai.kernel.domain.parameters import Id, Name
from soorma_ai.kernel.domain.values import json_object


class MemoRows:
    """Long-term memory."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def delete_knowledge(self, key: Name, *, shared: bool = False, user_id: Id | None = None) -> bool:
        """Remove the text of a key. False for an unknown one."""
        return await self._caller.read_key(
            delete("memory", "knowledge", PathTail(key), shared=shared, user_id=user_id), "deleted", bool
        )

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
        return await self._caller.read_key(
            post(
                "memory",
                "interactions",
                body={
                    "agent": agent,
                    "role": role,
                    "content": content,
                    "metadata": json_object("metadata", metadata or {}),
                    "user_id": user_id,
                },
            ),
            "key",
            str,
        )

    async def get_relevant_skills(
        self, context: Context, *, agent: AgentName = "", limit: LookupResult = 5, user_id: Id | None = None
    ) -> list[Memo]:
        """Return the prompts and rules for this context, best first: those for all agents, and those for the named
        one."""
        return (
            await self._caller.read(
                post(
                    "memory",
                    "skills",
                    "search",
                    body={"query": context, "agent": agent, "limit": limit, "user_id": user_id},
                    is_safe=True,
                ),
                Page[Memo],
            )
        ).items

    async def delete_skill(
        self, name: Name, *, agent: AgentName = "", shared: bool = False, user_id: Id | None = None
    ) -> bool:
        """Remove a prompt or a rule. False when there was nothing."""
        return await self._caller.read_key(
            delete("memory", "skills", PathTail(name), agent=agent, shared=shared, user_id=user_id), "deleted", bool
        )
