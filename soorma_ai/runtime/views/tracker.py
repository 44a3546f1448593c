"""How far plans are. It only reads: what it tells is in the rows and in the events that came over the bus."""

from collections import defaultdict
from collections.abc import Sequence

from soorma_ai.core.report import progress as tracking
from soorma_ai.domain.events import EventEnvelope, completion_of
from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.memory import PlanSummary
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.tracking import Action, DelegationGroup, Handed, PlanNode, PlanProgress, TimelineEntry
from soorma_ai.errors import NotFound
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.views import plans as reading


class Tracker:
    """Of one tenant. Every call raises NotFound for what belongs to another."""

    def __init__(self, services: Services, tenant_id: str) -> None:
        self._services = services
        self._tenant_id = tenant_id

    async def plan_progress(self, plan_id: str) -> PlanProgress:
        plan = await self._plan(plan_id)
        return tracking.progress(plan, await self._actions(plan))

    async def actions(self, plan_id: str) -> list[Action]:
        """Each request of the plan, and those that its workers made for parts of their tasks, in order."""
        return await self._actions(await self._plan(plan_id))

    async def timeline(self, plan_id: str) -> list[TimelineEntry]:
        """What `soorma plans show` tells, in the order of time."""
        return tracking.timeline(await reading.trace_of(self._services, self._tenant_id, plan_id))

    async def plan_tree(self, plan_id: str) -> PlanNode:
        """The plan, and those that it led to."""
        plan = await self._plan(plan_id)
        return tracking.tree(plan, await reading.tree_plans(self._services, self._tenant_id, plan.root_plan_id))

    async def session_plans(self, session_id: str, *, limit: int = 50) -> list[PlanSummary]:
        """Newest first."""
        found = await reading.plans(self._services, self._tenant_id, None, session_id, limit)
        return [PlanSummary.of(plan) for plan in found]

    async def delegation_group(self, group_id: str) -> DelegationGroup:
        """What a worker asked for with `delegate_parallel`, also when its task has ended."""
        members = [one for one in await self._services.store.group(group_id) if one.tenant_id == self._tenant_id]
        if not members:
            raise NotFound(f"no group {group_id} in tenant {self._tenant_id!r}; delegate_parallel returns its id")
        requests = [e for one in members if (e := await self._services.store.event(one.id))]
        # Reports are in the tree that the requests belong to.
        root = next((request.root_plan_id for request in requests if request.root_plan_id), None)
        actions = await self._told(requests, root)
        return tracking.group(group_id, members, actions)

    async def _plan(self, plan_id: str) -> PlanRecord:
        return await reading.own_plan(self._services, self._tenant_id, plan_id)

    async def _actions(self, plan: PlanRecord) -> list[Action]:
        requests = tracking.requests_of(plan.plan_id, await self._tree(plan.root_plan_id))
        return await self._told(requests, plan.root_plan_id)

    async def _tree(self, root_plan_id: str | None) -> list[EventEnvelope]:
        return await reading.tree_events(self._services, self._tenant_id, root_plan_id) if root_plan_id else []

    async def _told(self, requests: Sequence[EventEnvelope], root_plan_id: str | None) -> list[Action]:
        store = self._services.store
        found = await store.named_expectations([request.correlation_id or request.id for request in requests])
        expected = {one.id: one for one in found if one.tenant_id == self._tenant_id}
        handed: defaultdict[str, list[Handed]] = defaultdict(list)
        for one in await store.handed([request.id for request in requests]):
            handed[one.event_id].append(one)
        # After the inbox: what ended a delivery is in the log by then, so that a failure is seen with its end.
        events = await self._tree(root_plan_id)
        rows = tracking.Rows(
            expected, await self._replies(requests, expected, events), handed, tracking.reports_of(events)
        )
        return [tracking.action(request, rows) for request in requests]

    async def _replies(
        self, requests: Sequence[EventEnvelope], expected: dict[str, Expectation], events: Sequence[EventEnvelope]
    ) -> dict[str, EventEnvelope]:
        """What met an expectation need not belong to the tree: a reply without lineage counts as well."""
        by_id = {event.id: event for event in events}
        by_key = tracking.replies_by_key(events)
        replies: dict[str, EventEnvelope | None] = {}
        for request in requests:
            met = expected.get(request.correlation_id or request.id)
            if met is None:
                name = request.response_event or completion_of(request.type)
                replies[request.id] = by_key.get((request.correlation_id or request.id, name))
            elif met.met_by is not None:
                replies[request.id] = by_id.get(met.met_by) or await self._services.store.event(met.met_by)
        return {request_id: reply for request_id, reply in replies.items() if reply is not None}
