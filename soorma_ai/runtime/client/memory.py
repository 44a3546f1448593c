"""Working memory from outside of every handler, where a call acts at once."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.core.memory import json_value, number
from soorma_ai.core.report.summaries import plan_summary, task_summary
from soorma_ai.domain.memory import AppendMemory, DropMemory, IncrementMemory, MemoryChange, MemoryKey, StoreMemory
from soorma_ai.domain.values import Json, JsonObject, json_object
from soorma_ai.errors import LocalProtocolError, NotFound, VersionConflict
from soorma_ai.runtime.handling.handling import Services, must_be_outside
from soorma_ai.runtime.views import plans as reading


class PlanMemory:
    """The working memory of plans of one tenant; every call raises NotFound for a plan of another."""

    def __init__(self, services: Services, tenant_id: str) -> None:
        self._services = services
        self._tenant_id = tenant_id

    async def retrieve(self, key: str, plan_id: str) -> Any:
        """Return a value, None for what is not there."""
        return (await self._services.store.memory.recall(await self._at(key, plan_id))).value

    async def keys(self, plan_id: str) -> list[str]:
        await reading.own_plan(self._services, self._tenant_id, plan_id)
        return await self._services.store.memory.memory_keys(self._tenant_id, plan_id)

    async def store(self, key: str, value: Any, plan_id: str) -> None:
        await self._do(StoreMemory(await self._at(key, plan_id), json_value(key, value)))

    async def increment(self, key: str, by: int | float, plan_id: str) -> None:
        """Add to a number; what is not there counts as 0."""
        await self._do(IncrementMemory(await self._at(key, plan_id), number(key, by)))

    async def append(self, key: str, value: Any, plan_id: str) -> None:
        """Add to a list; what is not there counts as an empty one."""
        await self._do(AppendMemory(await self._at(key, plan_id), (json_value(key, value),)))

    async def delete(self, key: str, plan_id: str) -> bool:
        """Remove a value. False when there was nothing."""
        at = await self._at(key, plan_id)
        while (found := await self._services.store.memory.recall(at)).exists:
            try:
                await self._do(DropMemory(at, found.version))
            except VersionConflict:
                continue
            return True
        return False

    async def cleanup(self, plan_id: str) -> int:
        """Remove everything of the plan, and return how many keys that were."""
        return sum([await self.delete(key, plan_id) for key in await self.keys(plan_id)])

    async def everything(self, plan_id: str) -> dict[str, Json]:
        return {key: await self.retrieve(key, plan_id) for key in await self.keys(plan_id)}

    async def get_plan_context(self, plan_id: str) -> JsonObject:
        """Return the plan's row with its working memory as `state`."""
        plan = await reading.own_plan(self._services, self._tenant_id, plan_id)
        return plan_summary(plan, await self.everything(plan.plan_id))

    async def get_plan_by_correlation(self, correlation_id: str) -> JsonObject:
        """Return the context of a plan by the reply key of anything that it or one of its workers asked, or of its
        goal."""
        store = self._services.store
        asked = await store.plans.expectation(correlation_id)
        if asked is None or asked.tenant_id != self._tenant_id:
            plan = await store.plans.plan_answering(self._tenant_id, correlation_id)
            plan_id = plan.plan_id if plan else None
        elif asked.plan_id is not None:
            plan_id = asked.plan_id
        else:
            request = await store.events.event(asked.id)
            plan_id = request.plan_id if request else None
        if plan_id is None:
            raise NotFound(f"no plan of tenant {self._tenant_id!r} asked or is answered under {correlation_id!r}")
        return await self.get_plan_context(plan_id)

    async def store_plan_context(self, plan_id: str, session_id: str | None, context: Mapping[str, Any]) -> None:
        """Store each key in the plan's working memory, all of them or none. Raise LocalProtocolError for a session that
        the plan does not belong to."""
        must_be_outside()
        plan = await reading.own_plan(self._services, self._tenant_id, plan_id)
        if session_id not in (None, plan.lineage.session_id):
            raise LocalProtocolError(f"plan {plan_id} belongs to session {plan.lineage.session_id!r}")
        given = json_object("the context of a plan", context)
        changes = [StoreMemory(MemoryKey(self._tenant_id, plan_id, key), json_value(key, given[key])) for key in given]
        await self._services.store.memory.memorize(changes, self._services.clock.now())

    async def get_task_context(self, task_id: str) -> JsonObject:
        """Return a task that has not ended. Raise NotFound."""
        for agent in sorted(await self._services.store.plans.agents_of_task(task_id)):
            if found := await self._find_task(agent, task_id):
                return found
        raise NotFound(f"no task {task_id} of tenant {self._tenant_id!r} goes on")

    async def get_task_by_subtask(self, sub_task_id: str) -> JsonObject:
        """Return the task that asked for it, while it has not ended. Raise NotFound."""
        asked = await self._services.store.plans.expectation(sub_task_id)
        if (
            asked is not None
            and asked.task_id is not None
            and (found := await self._find_task(asked.agent, asked.task_id))
        ):
            return found
        raise NotFound(f"no task of tenant {self._tenant_id!r} that goes on asked for {sub_task_id}")

    async def _find_task(self, agent: str, task_id: str) -> JsonObject | None:
        store = self._services.store
        task = await store.plans.task(agent, task_id)
        if task is None or task.lineage.tenant_id != self._tenant_id:
            return None
        return task_summary(task, task.state, await store.plans.sub_tasks(agent, task_id))

    async def _at(self, key: str, plan_id: str) -> MemoryKey:
        await reading.own_plan(self._services, self._tenant_id, plan_id)
        return MemoryKey(self._tenant_id, plan_id, key)

    async def _do(self, change: MemoryChange) -> None:
        must_be_outside()
        await self._services.store.memory.memorize([change], self._services.clock.now())
