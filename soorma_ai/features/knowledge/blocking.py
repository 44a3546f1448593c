"""Calls of memory that outlives plans, to block. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.features.knowledge.client import AsyncMemos

BlockingMemosKind = TypeVar("BlockingMemosKind", bound=AsyncMemos, covariant=True)


class BlockingMemos(Blocking[BlockingMemosKind]):
    """Long-term memory."""

    store_knowledge = blocking(AsyncMemos.store_knowledge)
    get_knowledge = blocking(AsyncMemos.get_knowledge)
    search_knowledge = blocking(AsyncMemos.search_knowledge)
    delete_knowledge = blocking(AsyncMemos.delete_knowledge)
    log_interaction = blocking(AsyncMemos.log_interaction)
    get_recent_history = blocking(AsyncMemos.get_recent_history)
    search_interactions = blocking(AsyncMemos.search_interactions)
    store_skill = blocking(AsyncMemos.store_skill)
    get_relevant_skills = blocking(AsyncMemos.get_relevant_skills)
    delete_skill = blocking(AsyncMemos.delete_skill)
