"""The calls of a program outside, however the platform is reached: in this process, or over HTTP."""

from typing import Protocol

from soorma_ai.api.clients.calls import KernelCalls, WorkingMemoryCalls
from soorma_ai.features.human_tasks.calls import InboxCalls
from soorma_ai.features.knowledge.calls import MemoCalls


class MemoryCalls(WorkingMemoryCalls, MemoCalls, Protocol):
    """The working memory of plans, and long-term memory."""


class PlatformClient(KernelCalls, Protocol):
    """Acts as one person of one tenant: what `platform.as_user(...)` and `AsyncClient(url)` have in common."""

    @property
    def memory(self) -> MemoryCalls:
        """The working memory of plans."""
        ...

    @property
    def inbox(self) -> InboxCalls:
        """Calls about questions beside answering them."""
        ...
