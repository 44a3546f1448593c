"""Protocol of a platform's client, in this process or over HTTP."""

from typing import Protocol

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.context_parts.tracker import TrackerCalls
from soorma_ai.features.dead_letters.calls import DeadLetterCalls
from soorma_ai.features.human_tasks.calls import InboxCalls
from soorma_ai.features.knowledge.calls import MemoCalls
from soorma_ai.features.plan_memory.calls import SessionCalls, WorkingMemoryCalls
from soorma_ai.features.tracking.calls import PlanReaderCalls
from soorma_ai.features.trials.calls import TrialCalls
from soorma_ai.features.trials.cases.calls import CaseCalls
from soorma_ai.features.trials.forks.calls import ForkCalls
from soorma_ai.features.trials.retirement.calls import ModelCalls


class MemoryCalls(WorkingMemoryCalls, MemoCalls, Protocol):
    """Working memory of plans, and long-term memory."""


class PlatformClient(
    KernelCalls, CaseCalls, DeadLetterCalls, ForkCalls, ModelCalls, PlanReaderCalls, SessionCalls, TrialCalls, Protocol
):
    """Calls of one person of one tenant: the common part of `platform.as_user(...)` and `AsyncClient(url)`."""

    @property
    def memory(self) -> MemoryCalls:
        """Working memory of plans, and long-term memory."""
        ...

    @property
    def tracker(self) -> TrackerCalls:
        """The calls that tell how far plans are."""
        ...

    @property
    def inbox(self) -> InboxCalls:
        """Calls about questions, beside `answer`."""
        ...
