"""Lookups of a remote agent during a delivery: data of the user or the tree of plans of the delivery, and data open to
all of the tenant."""

from collections.abc import Iterable
from typing import assert_never

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.remote.records import Neighbour, PlacedEvent, Read, Reading
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, Lineage
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.memory import MemoryKey
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.runtime.handling.handling import Services

MOST_EVENTS = 500


async def readings_for(services: Services, delivery: Delivery) -> "Lookups":
    """Return the lookups of a delivery. Its owner is that of its task: a task's delivery does not name it."""
    task = await services.store.plans.task(delivery.agent, delivery.owner)
    event = delivery.event
    nobodys = Lineage(tenant_id=event.tenant_id, user_id=NO_USER)
    own = task.lineage if task else nobodys if event.source == SYSTEM else event.lineage
    return Lookups(services, delivery, own)


class Lookups:
    def __init__(self, services: Services, delivery: Delivery, own: Lineage) -> None:
        self._services = services
        self._store = services.store
        self._delivery = delivery
        self._own = own

    async def read(self, read: Read) -> object:
        """Return the result of a lookup, of its type in `ANSWERS`; distant data count as missing."""
        match read.what:
            case (
                Reading.STANDING
                | Reading.PLAN
                | Reading.GOAL_OF
                | Reading.PLANS
                | Reading.PLAN_ANSWERING
                | Reading.RECALL
                | Reading.MEMORY_KEYS
                | Reading.SESSIONS
            ):
                return await self._of_plans(read)
            case Reading.EXPECTATION | Reading.NAMED_EXPECTATIONS | Reading.GROUP | Reading.MET_BY:
                return await self._expectations(read)
            case Reading.TASK | Reading.AGENTS_OF_TASK | Reading.SUB_TASKS | Reading.TASK_EXPECTATIONS:
                return await self._of_tasks(read)
            case Reading.EVENT | Reading.EVENTS | Reading.HANDED | Reading.UNTAKEN | Reading.PENDING:
                return await self._of_events(read)
            case Reading.DEFINITIONS | Reading.KNOWN_EVENTS | Reading.LIVE_EVENTS | Reading.AGENTS:
                return await self._registry(read)
            case _:
                assert_never(read.what)

    async def _of_plans(self, read: Read) -> object:
        plans, memory, own = self._store.plans, self._store.memory, self._own
        match read.what:
            case Reading.STANDING:
                return await plans.plan_status(read.id) if await self._plan(read.id) else None
            case Reading.PLAN:
                return await self._plan(read.id)
            case Reading.GOAL_OF:
                found = await plans.goal_of(read.id)
                return found if found and self._is_near(found[1].lineage) else None
            case Reading.PLANS:
                return await self._plans(read)
            case Reading.PLAN_ANSWERING:
                found = await plans.plan_answering(own.tenant_id, read.id)
                return found if found and self._is_near(found.lineage) else None
            case Reading.SESSIONS:
                has_user = own.user_id != NO_USER
                return await memory.sessions(own.tenant_id, read.limit, user_id=own.user_id) if has_user else []
            case Reading.RECALL:
                await self._must_see(read.id)
                return await memory.recall(MemoryKey(own.tenant_id, read.id, read.key))
            case _:
                await self._must_see(read.id)
                return await memory.memory_keys(own.tenant_id, read.id)

    async def _plans(self, read: Read) -> list[PlanRecord]:
        """Plans of a tree, or of the user."""
        if read.status not in (None, *PlanStatus):
            raise LocalProtocolError(f"{read.status!r} is no status of a plan; there are {', '.join(PlanStatus)}")
        is_tree = read.root_plan_id is not None
        sees = await self._sees_tree(read.root_plan_id) if is_tree else self._own.user_id != NO_USER
        if not sees:
            return []
        return await self._store.plans.plans(
            tenant_id=self._own.tenant_id,
            status=PlanStatus(read.status) if read.status else None,
            root_plan_id=read.root_plan_id,
            limit=read.limit,
            session_id=read.session_id,
            user_id=None if is_tree else self._own.user_id,
        )

    async def _expectations(self, read: Read) -> object:
        plans = self._store.plans
        match read.what:
            case Reading.EXPECTATION:
                found = await plans.expectation(read.id)
                return next(iter(self._near([found] if found else [])), None)
            case Reading.NAMED_EXPECTATIONS:
                return self._near(await plans.expectations_by_id(read.ids))
            case Reading.GROUP:
                return self._near(await plans.group(read.id))
            case _:
                return await plans.find_met(self._delivery.owner, read.id)

    async def _of_tasks(self, read: Read) -> object:
        plans = self._store.plans
        match read.what:
            case Reading.TASK:
                return await self._task(read.agent, read.id)
            case Reading.AGENTS_OF_TASK:
                agents = await plans.agents_of_task(read.id)
                return [agent for agent in agents if await self._task(agent, read.id)]
            case Reading.SUB_TASKS:
                is_near = await self._task(read.agent, read.id) is not None
                return await plans.sub_tasks(read.agent, read.id, read.first, read.last) if is_near else []
            case _:
                return await plans.task_expectations(self._delivery.agent, self._delivery.owner)

    async def _of_events(self, read: Read) -> object:
        events, own = self._store.events, self._own
        match read.what:
            case Reading.EVENT:
                return await self._event(read.id)
            case Reading.EVENTS:
                if not await self._sees_tree(read.root_plan_id):
                    return []
                most, tenant_id = min(read.limit, MOST_EVENTS), own.tenant_id
                rows = await events.events(
                    after=read.after, tenant_id=tenant_id, root_plan_id=read.root_plan_id, limit=most
                )
                return [PlacedEvent(row.seq, row.event) for row in rows]
            case Reading.HANDED:
                return await events.receivers_of([event_id for event_id in read.ids if await self._event(event_id)])
            case Reading.UNTAKEN:
                if own.user_id == NO_USER and not await self._sees_tree(read.root_plan_id):
                    return []
                return await events.untaken(
                    own.tenant_id,
                    self._services.clock.now(),
                    limit=read.limit,
                    root_plan_id=read.root_plan_id,
                    task_id=read.id or None,
                    user_id=None if await self._sees_tree(read.root_plan_id) else own.user_id,
                )
            case _:
                return await self._store.queue.count_pending(self._delivery.agent, self._delivery.owner)

    async def _registry(self, read: Read) -> object:
        registry, now, tenant_id = self._store.registry, self._services.clock.now(), self._own.tenant_id
        match read.what:
            case Reading.DEFINITIONS:
                return await registry.definitions(tenant_id, read.id)
            case Reading.KNOWN_EVENTS:
                return list(await registry.all_events(tenant_id))
            case Reading.LIVE_EVENTS:
                await self._services.presence.confirm(registry, now)
                return list(await registry.live_events(tenant_id, now))
            case _:
                rows = [row for row in await registry.agents(now) if row.tenant_id in (None, tenant_id)]
                return [Neighbour(row.registration, row.live) for row in rows]

    def _is_near(self, lineage: Lineage) -> bool:
        return self._is_of(lineage.tenant_id, lineage.user_id, lineage.root_plan_id)

    def _is_of(self, tenant_id: str, user_id: str, root_plan_id: str | None) -> bool:
        """Tell whether something belongs to the user, or the tree of plans, that the delivery is for."""
        own = self._own
        is_users = user_id == own.user_id and user_id != NO_USER
        is_of_tree = root_plan_id is not None and root_plan_id == own.root_plan_id
        return tenant_id == own.tenant_id and (is_users or is_of_tree)

    def _near(self, found: Iterable[Expectation]) -> list[Expectation]:
        """Return the near ones, or those opened by this agent."""
        tenant_id, agent = self._own.tenant_id, self._delivery.agent
        return [
            one
            for one in found
            if self._is_of(one.tenant_id, one.user_id, one.root_plan_id)
            or (one.tenant_id, one.agent) == (tenant_id, agent)
        ]

    async def _plan(self, plan_id: str) -> PlanRecord | None:
        found = await self._store.plans.plan(plan_id)
        return found if found and self._is_near(found.lineage) else None

    async def _must_see(self, plan_id: str) -> None:
        goal = await self._store.plans.goal_of(plan_id) if await self._plan(plan_id) is None else None
        if goal is not None and self._is_near(goal[1].lineage):
            return
        if await self._plan(plan_id) is None:
            raise NotFound(f"no plan {plan_id} for who handles this delivery")

    async def _sees_tree(self, root_plan_id: str | None) -> bool:
        if root_plan_id is None:
            return False
        return root_plan_id == self._own.root_plan_id or await self._plan(root_plan_id) is not None

    async def _task(self, agent: str, task_id: str) -> TaskRecord | None:
        found = await self._store.plans.task(agent, task_id)
        is_own = (agent, task_id) == (self._delivery.agent, self._delivery.owner)
        return found if found and (is_own or self._is_near(found.lineage)) else None

    async def _event(self, event_id: str) -> EventEnvelope | None:
        """Return an event of the user or the tree, or the closing event of this delivery."""
        found = await self._store.events.event(event_id)
        is_cause = event_id == self._delivery.event.causation_id
        if found is None or found.tenant_id != self._own.tenant_id:
            return None
        return found if is_cause or self._is_near(found.lineage) else None
