"""The calls of a program outside, however the platform is reached: in this process, or over HTTP."""

from typing import Protocol

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.context_parts.tracker import TrackerCalls
from soorma_ai.features.dead_letters.calls import DeadLetterCalls
from soorma_ai.features.human_tasks.calls import InboxCalls
from soorma_ai.features.knowledge.calls import MemoCalls
from soorma_ai.features.plan_memory.calls import SessionCalls, WorkingMemoryCalls
from soorma_ai.features.tracking.calls import PlanReaderCalls


class MemoryCalls(WorkingMemoryCalls, MemoCalls, Protocol):
    """The working memory of plans, and long-term memory."""


class PlatformClient(KernelCalls, DeadLetterCalls, PlanReaderCalls, SessionCalls, Protocol):
    """Acts as one person of one tenant: what `platform.as_user(...)` and `AsyncClient(url)` have in common."""

    @property
    def memory(self) -> MemoryCalls:
        """The working memory of plans."""
        ...

    @property
    def tracker(self) -> TrackerCalls:
        """The calls that tell how far plans are."""
        ...

    @property
    def inbox(self) -> InboxCalls:
        """Calls about questions beside answering them."""
        ...
