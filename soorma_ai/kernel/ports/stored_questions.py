"""Reads of stored questions to models."""

from collections.abc import Collection
from typing import Protocol

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.plan_state import PlanState


class StoredQuestions(Protocol):
    """Part of `Plans` about questions to models. It changes nothing."""

    async def journal(self, agent: str, cause_id: str) -> list[JournalEntry]: ...

    async def decisions(self, plan_id: str, first: int = 0, limit: int = ...) -> list[JournalEntry]: ...

    async def count_decisions(self, plan_id: str) -> int: ...

    async def prompt_parts(self, tenant_id: str, plan_id: str, digests: Collection[str]) -> dict[str, str]: ...

    async def find_shown(self, plan_id: str) -> dict[str, Showing]: ...

    async def steps(self, plan_id: str, first: int = 0) -> list[Step]: ...

    async def expectation(self, expectation_id: str) -> Expectation | None: ...

    async def state(self, plan_id: str, event_id: str = "") -> PlanState | None: ...

    async def branches_that_came(self, plan_id: str, join_id: str) -> list[Step]: ...
