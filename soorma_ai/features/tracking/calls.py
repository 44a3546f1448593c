"""Calls that read plans. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.history import SentPrompt
from soorma_ai.kernel.domain.parameters import Id, Ordinal


class PlanReaderCalls(Protocol):
    """Reads plans for people."""

    async def prompt(self, plan_id: Id, decision: Ordinal | None = None) -> SentPrompt: ...

    async def trace(self, plan_id: Id) -> Trace: ...
