"""Calls that read plans, over HTTP. Written by `make clients`; do not edit."""

from soorma_ai.api.clients.messages import Page, get
from soorma_ai.api.clients.sender import Sender
from soorma_ai.context_parts.progress import Action, DelegationGroup, PlanNode, PlanPage, PlanProgress, TimelineEntry
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.history import SentPrompt
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.parameters import Id, Limit, Ordinal, Position, Short
from soorma_ai.kernel.domain.plans import Status


class PlanReaderRows:
    """Reads plans for people."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def prompt(self, plan_id: Id, decision: Ordinal | None = None) -> SentPrompt:
        """Return the messages to the model for a `decision` of a plan, counted from 1; by default the last one. They
        are rendered again from stored data, with a mark at every difference from the original. Raise NotFound."""
        return await self._caller.read(get("plans", plan_id, "prompt", decision=decision), SentPrompt)


class AsyncTracker:
    """Progress of plans. Every call raises NotFound for a plan invisible to its caller."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def plan_progress(self, plan_id: Id) -> PlanProgress:
        """Return the progress of a plan: the numbers of its requests by their status."""
        return await self._caller.read(get("tracker", "plans", plan_id), PlanProgress)

    async def actions(self, plan_id: Id) -> list[Action]:
        """Return each request of the plan, and those of its workers for parts of their tasks, in order."""
        return await self._caller.list(Page[Action], None, "tracker", "plans", plan_id, "actions")

    async def timeline(self, plan_id: Id) -> list[TimelineEntry]:
        """Return the lines of `soorma plans show`: the history of a plan, in the order of time."""
        return await self._caller.list(Page[TimelineEntry], None, "tracker", "plans", plan_id, "timeline")

    async def plans(
        self,
        *,
        status: Status | None = None,
        session_id: Id | None = None,
        search: Short = "",
        before: Position = 0,
        limit: Limit = 50,
    ) -> PlanPage:
        """Return plans, the newest first, with their spent amounts and their waits. `search` is a part of the id, or of
        the goal's, the planner's or the user's name; `before` is that of the page before. `status` may be 'active'. A
        page may be short, or empty, before the end."""
        return await self._caller.read(
            get("tracker", "plans", status=status, session_id=session_id, search=search, before=before, limit=limit),
            PlanPage,
        )

    async def plan_tree(self, plan_id: Id) -> PlanNode:
        """Return the plan and its descendants as a tree."""
        return await self._caller.read(get("tracker", "plans", plan_id, "tree"), PlanNode)

    async def session_plans(self, session_id: Id, *, limit: int = 50) -> list[PlanSummary]:
        """Return the plans of a session, newest first."""
        return await self._caller.list(Page[PlanSummary], limit, "tracker", "sessions", session_id, "plans")

    async def delegation_group(self, group_id: Id) -> DelegationGroup:
        """Return the requests of one `delegate_parallel` of a worker, even of an ended task."""
        return await self._caller.read(get("tracker", "groups", group_id), DelegationGroup)

    async def untaken(self, plan_id: Id | None = None, *, task_id: Id | None = None, limit: int = 50) -> list[Untaken]:
        """Return requests without a taker, oldest first: of all, of a plan's tree, or for parts of a task."""
        return await self._caller.list(Page[Untaken], limit, "tracker", "untaken", plan_id=plan_id, task_id=task_id)
