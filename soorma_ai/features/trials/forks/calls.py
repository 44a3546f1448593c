"""Calls about forks. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.features.trials.forks.records import ForkedPlan
from soorma_ai.kernel.domain.parameters import Id, Note, Ordinal, Short


class ForkCalls(Protocol):
    """Forks: new plans that begin with the beginning of another."""

    async def fork(
        self,
        plan_id: Id,
        at: Ordinal,
        *,
        model: Short = "",
        note: Note = "",
        dry: bool = False,
        act: bool = False,
        key: Short = "",
    ) -> ForkedPlan: ...
