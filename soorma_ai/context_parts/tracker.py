"""Calls of the tracker. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.context_parts.progress import Action, DelegationGroup, PlanNode, PlanPage, PlanProgress, TimelineEntry
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.parameters import Id, Limit, Position, Short
from soorma_ai.kernel.domain.plans import Status


class TrackerCalls(Protocol):
    """Progress of plans. Every call raises NotFound for a plan invisible to its caller."""

    async def plan_progress(self, plan_id: Id) -> PlanProgress: ...

    async def actions(self, plan_id: Id) -> list[Action]: ...

    async def timeline(self, plan_id: Id) -> list[TimelineEntry]: ...

    async def plans(
        self,
        *,
        status: Status | None = None,
        session_id: Id | None = None,
        search: Short = "",
        before: Position = 0,
        limit: Limit = 50,
    ) -> PlanPage: ...

    async def plan_tree(self, plan_id: Id) -> PlanNode: ...

    async def session_plans(self, session_id: Id, *, limit: int = 50) -> list[PlanSummary]: ...

    async def delegation_group(self, group_id: Id) -> DelegationGroup: ...

    async def untaken(
        self, plan_id: Id | None = None, *, task_id: Id | None = None, limit: int = 50
    ) -> list[Untaken]: ...
