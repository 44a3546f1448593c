"""Progress of plans, read from the rows and from the events on the bus."""

from collections import defaultdict
from collections.abc import Sequence

from soorma_ai.context_parts.progress import Action, DelegationGroup, PlanNode, PlanPage, PlanProgress, TimelineEntry
from soorma_ai.errors import NotFound
from soorma_ai.features.tracking import plan_views
from soorma_ai.features.tracking import progress as tracking
from soorma_ai.features.tracking.ports import PlanFilter
from soorma_ai.features.tracking.requests import find_details, list_requests
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.events import EventEnvelope, completion_of
from soorma_ai.kernel.domain.expectations import Expectation, Untaken
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.parameters import Id, Limit, Position, Short
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord, Status
from soorma_ai.kernel.ports import EventHandling
from soorma_ai.kernel.rules.authority import check, only_user
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views import plans as reading

CALLS = CallTable("tracker.")


class Tracker:
    """Progress of the plans visible to a person. Every call raises NotFound for an invisible one."""

    def __init__(self, services: Services, person: Person) -> None:
        self._services = services
        self._person = person
        self._tenant_id = person.tenant_id

    @CALLS("GET /tracker/plans/{plan_id}", Act.SEE, "track_plan")
    async def plan_progress(self, plan_id: Id) -> PlanProgress:
        """Return the progress of a plan: the numbers of its requests by their status."""
        plan = await self._plan(plan_id)
        return tracking.progress(plan, await self._actions(plan))

    @CALLS("GET /tracker/plans/{plan_id}/actions", Act.SEE, "track_actions", by=lambda one: one.action_id)
    async def actions(self, plan_id: Id) -> list[Action]:
        """Return each request of the plan, and those of its workers for parts of their tasks, in order."""
        return await self._actions(await self._plan(plan_id))

    @CALLS("GET /tracker/plans/{plan_id}/timeline", Act.SEE, "track_timeline", by=None)
    async def timeline(self, plan_id: Id) -> list[TimelineEntry]:
        """Return the lines of `soorma plans show`: the history of a plan, in the order of time."""
        return tracking.timeline(await plan_views.trace_of(self._services, self._person, plan_id))

    @CALLS("GET /tracker/plans", Act.SEE, "track_plans")
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
        wanted = PlanFilter(reading.statuses_of(status), session_id, search)
        return await plan_views.plan_page(self._services, self._person, wanted, before, limit)

    @CALLS("GET /tracker/plans/{plan_id}/tree", Act.SEE, "track_tree")
    async def plan_tree(self, plan_id: Id) -> PlanNode:
        """Return the plan and its descendants as a tree."""
        plan = await self._plan(plan_id)
        return tracking.tree(plan, await reading.tree_plans(self._services, self._tenant_id, plan.root_plan_id))

    @CALLS("GET /tracker/sessions/{session_id}/plans", Act.SEE, "track_session", by=lambda one: one.plan_id)
    async def session_plans(self, session_id: Id, *, limit: int = 50) -> list[PlanSummary]:
        """Return the plans of a session, newest first."""
        found = await reading.plans(self._services, self._person, None, session_id, limit)
        return [PlanSummary.of(plan) for plan in found]

    @CALLS("GET /tracker/groups/{group_id}", Act.SEE, "track_group")
    async def delegation_group(self, group_id: Id) -> DelegationGroup:
        """Return the requests of one `delegate_parallel` of a worker, even of an ended task."""
        missing = f"no group {group_id} in tenant {self._tenant_id!r}; delegate_parallel returns its id"
        members = await self._services.store.plans.group(group_id)
        if not members:
            raise NotFound(missing)
        for one in members:
            check(self._person, CALLS["delegation_group"], one, missing)
        requests = [e for one in members if (e := await self._services.store.events.event(one.id))]
        # Reports are in the tree that the requests belong to.
        root = next((request.root_plan_id for request in requests if request.root_plan_id), None)
        untaken = await self._untaken(task_id=members[0].task_id, limit=len(members))
        actions = await self._load_actions(requests, root, untaken)
        return tracking.group(group_id, members, actions)

    @CALLS("GET /tracker/untaken", Act.SEE, "track_untaken", by=lambda one: one.request_id)
    async def untaken(self, plan_id: Id | None = None, *, task_id: Id | None = None, limit: int = 50) -> list[Untaken]:
        """Return requests without a taker, oldest first: of all, of a plan's tree, or for parts of a task."""
        root = (await self._plan(plan_id)).root_plan_id if plan_id is not None else None
        return await self._untaken(root, task_id, limit)

    @CALLS("GET /tracker/requests", Act.SEE, "track_requests", by=lambda one: one.action_id)
    async def requests(self, *, limit: int = 50) -> list[Action]:
        """Return clients' requests without a reply, newest first: of this person, or of the tenant for its
        operators."""
        return (await list_requests(self._services, self._person, limit)).actions

    @CALLS("GET /tracker/requests/{request_id}", Act.SEE, "track_request")
    async def request(self, request_id: Id) -> Action:
        """Return the progress of a client's request, open or ended: status, agents and last report. Raise NotFound."""
        return (await find_details(self._services, self._person, request_id, CALLS["request"])).action

    async def _untaken(
        self, root_plan_id: str | None = None, task_id: str | None = None, limit: int = reading.MOST_UNTAKEN
    ) -> list[Untaken]:
        store, now = self._services.store, self._services.clock.now()
        return await store.events.untaken(
            self._tenant_id,
            now,
            limit=limit,
            root_plan_id=root_plan_id,
            task_id=task_id,
            user_id=only_user(self._person),
        )

    async def _plan(self, plan_id: str) -> PlanRecord:
        return await reading.own_plan(self._services, self._person, plan_id)

    async def _actions(self, plan: PlanRecord) -> list[Action]:
        requests = tracking.requests_of(plan.plan_id, await self._tree(plan.root_plan_id))
        return await self._load_actions(requests, plan.root_plan_id, await self._untaken(plan.root_plan_id))

    async def _tree(self, root_plan_id: str | None) -> list[EventEnvelope]:
        return await plan_views.tree_events(self._services, self._tenant_id, root_plan_id) if root_plan_id else []

    async def _load_actions(
        self, requests: Sequence[EventEnvelope], root_plan_id: str | None, untaken: Sequence[Untaken]
    ) -> list[Action]:
        store, waiting = self._services.store, {one.request_id: one for one in untaken}
        found = await store.plans.expectations_by_id([request.correlation_id or request.id for request in requests])
        expected = {one.id: one for one in found if one.tenant_id == self._tenant_id}
        handed: defaultdict[str, list[EventHandling]] = defaultdict(list)
        for one in await store.events.receivers_of([request.id for request in requests]):
            handed[one.event_id].append(one)
        # Read after the inbox: the event that ended a delivery is in the log then, so a failure is seen with its end.
        events = await self._tree(root_plan_id)
        replies, reports = await self._replies(requests, expected, events), tracking.reports_of(events)
        return [
            tracking.action(
                e,
                expected.get(e.correlation_id or e.id),
                replies.get(e.id),
                handed[e.id],
                reports.get(e.id),
                waiting.get(e.id),
            )
            for e in requests
        ]

    async def _replies(
        self, requests: Sequence[EventEnvelope], expected: dict[str, Expectation], events: Sequence[EventEnvelope]
    ) -> dict[str, EventEnvelope]:
        """Return the replies by request. A reply without lineage, outside of the tree, counts as well."""
        by_id = {event.id: event for event in events}
        by_key = tracking.replies_by_key(events)
        replies: dict[str, EventEnvelope | None] = {}
        for request in requests:
            met = expected.get(request.correlation_id or request.id)
            if met is None:
                name = request.response_event or completion_of(request.type)
                replies[request.id] = by_key.get((request.correlation_id or request.id, name))
            elif met.met_by is not None:
                replies[request.id] = by_id.get(met.met_by) or await self._services.store.events.event(met.met_by)
        return {request_id: reply for request_id, reply in replies.items() if reply is not None}
