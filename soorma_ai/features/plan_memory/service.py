"""Memory of plans and tasks outside of handlers: each call acts at once."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec.structs import replace

from soorma_ai.context_parts.summaries import plan_summary, task_summary
from soorma_ai.errors import IllegalTransition, LocalProtocolError, NotFound, VersionConflict
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY
from soorma_ai.features.plan_memory.sessions import sessions_of
from soorma_ai.kernel.domain.calls import Act, CallRow, CallTable
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    MemoryKey,
    PlanSummary,
    SessionSummary,
    StoreMemory,
)
from soorma_ai.kernel.domain.parameters import Id, Name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanStatus, Status
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.domain.values import Json, JsonObject, json_object
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.authority import check
from soorma_ai.kernel.rules.memory import json_value, number
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views import plans as reading
from soorma_ai.kernel.runtime.views.audit import changing

CALLS = CallTable("memory.")
_ENDED = (IllegalTransition,)


class PlanMemory:
    """Working memory of the plans and tasks of a person. Every call raises NotFound for those of others, and a change
    Forbidden without the right to steer them."""

    def __init__(self, services: Services, person: Person, caller: Caller | None = None) -> None:
        self._services = services
        self._person = person
        self._caller = caller

    @CALLS.local(Act.SEE)
    async def retrieve(self, key: str, plan_id: str) -> Any:
        """Return a value; None for an unknown key."""
        return (await self._services.store.memory.recall(await self._at(CALLS["retrieve"], key, plan_id))).value

    @CALLS("GET /working-memory/{plan_id}", Act.SEE, "list_keys", key="keys")
    async def keys(self, plan_id: Id) -> list[str]:
        """List the keys of a plan's working memory."""
        await reading.own_plan(self._services, self._person, plan_id, CALLS["keys"])
        return await self._services.store.memory.memory_keys(self._person.tenant_id, plan_id)

    @CALLS("POST /working-memory/{plan_id}", Act.STEER, "store", key="stored", raises=_ENDED)
    async def store(self, key: Name, value: Any, plan_id: Id) -> bool:
        """Set a value in a plan's working memory, and return True."""
        async with self._changing(CALLS["store"], key, plan_id) as (at, store):
            await self._do(store, StoreMemory(at, json_value(key, value)))
        return True

    @CALLS.local(Act.STEER)
    async def increment(self, key: str, by: int | float, plan_id: str) -> None:
        """Add to a number; a missing one counts as 0."""
        async with self._changing(CALLS["increment"], key, plan_id) as (at, store):
            await self._do(store, IncrementMemory(at, number(key, by)))

    @CALLS.local(Act.STEER)
    async def append(self, key: str, value: Any, plan_id: str) -> None:
        """Add to a list; a missing one counts as empty."""
        async with self._changing(CALLS["append"], key, plan_id) as (at, store):
            await self._do(store, AppendMemory(at, (json_value(key, value),)))

    @CALLS("DELETE /working-memory/{plan_id}/{key:path}", Act.STEER, "delete_key", key="deleted", raises=_ENDED)
    async def delete(self, key: Name, plan_id: Id) -> bool:
        """Remove a value from a plan's working memory. False for an unknown key."""
        async with self._changing(CALLS["delete"], key, plan_id) as (at, store):
            return await self._remove(at, store)

    @CALLS.local(Act.STEER)
    async def cleanup(self, plan_id: str) -> int:
        """Remove all keys of the plan, and return their number."""
        async with self._changing(CALLS["cleanup"], "", plan_id) as (at, store):
            keys = await self._services.store.memory.memory_keys(at.tenant_id, plan_id)
            return sum([await self._remove(replace(at, key=key), store) for key in keys])

    @CALLS.local(Act.SEE)
    async def everything(self, plan_id: str) -> dict[str, Json]:
        """Return all keys of the plan with their values."""
        return {key: await self.retrieve(key, plan_id) for key in await self.keys(plan_id)}

    async def _at(self, call: CallRow, key: str, plan_id: str) -> MemoryKey:
        await reading.own_plan(self._services, self._person, plan_id, call)
        return MemoryKey(self._person.tenant_id, plan_id, key)

    @asynccontextmanager
    async def _changing(self, call: CallRow, key: str, plan_id: str) -> AsyncGenerator[tuple[MemoryKey, Store]]:
        async with changing(self._services, self._caller, call.name, f"{plan_id} {key}") as change:
            yield await self._at(call, key, plan_id), change.store

    async def _remove(self, at: MemoryKey, store: Store) -> bool:
        while (found := await self._services.store.memory.recall(at)).exists:
            try:
                await self._do(store, DropMemory(at, found.version))
            except VersionConflict:
                continue
            return True
        return False

    @CALLS("GET /memory/plan-context/{plan_id}", Act.SEE, "get_plan_context")
    async def get_plan_context(self, plan_id: Id) -> JsonObject:
        """Return the plan's row with its working memory as `state`."""
        plan = await reading.own_plan(self._services, self._person, plan_id, CALLS["get_plan_context"])
        return plan_summary(plan, await self.everything(plan.plan_id))

    @CALLS("GET /memory/plan-context/by-correlation/{correlation_id}", Act.SEE, "get_plan_by_correlation")
    async def get_plan_by_correlation(self, correlation_id: Id) -> JsonObject:
        """Return the context of a plan by the reply key of its goal, of one of its requests, or of a request of its
        workers."""
        store, tenant_id = self._services.store, self._person.tenant_id
        missing = f"no plan of tenant {tenant_id!r} asked or is answered under {correlation_id!r}"
        asked = await store.plans.expectation(correlation_id)
        if asked is None or asked.tenant_id != tenant_id:
            plan = await store.plans.plan_answering(tenant_id, correlation_id)
            plan_id = plan.plan_id if plan else None
        elif asked.plan_id is not None:
            plan_id = asked.plan_id
        else:
            request = await store.events.event(asked.id)
            plan_id = request.plan_id if request else None
        plan = await store.plans.plan(plan_id) if plan_id is not None else None
        if plan is None:
            raise NotFound(missing)
        check(self._person, CALLS["get_plan_by_correlation"], plan.owner, missing)
        return await self.get_plan_context(plan.plan_id)

    @CALLS("POST /memory/plan-context", Act.STEER, "store_plan_context", key="stored", raises=(NotFound, *_ENDED))
    async def store_plan_context(self, plan_id: Id, session_id: Id | None, context: Mapping[str, Any]) -> bool:
        """Store each key in the plan's working memory, all of them or none, and return True. Raise LocalProtocolError
        for another session than the plan's."""
        must_be_outside()
        call, services = CALLS["store_plan_context"], self._services
        async with changing(services, self._caller, call.name, plan_id) as change:
            plan = await reading.own_plan(services, self._person, plan_id, call)
            if session_id not in (None, plan.lineage.session_id):
                raise LocalProtocolError(f"plan {plan_id} belongs to session {plan.lineage.session_id!r}")
            given, tenant_id = json_object("the context of a plan", context), self._person.tenant_id
            changes = [StoreMemory(MemoryKey(tenant_id, plan_id, key), json_value(key, given[key])) for key in given]
            await change.store.part(PLAN_MEMORY).memorize(changes, services.clock.now())
        return True

    @CALLS("GET /memory/task-context/{task_id}", Act.SEE, "get_task_context")
    async def get_task_context(self, task_id: Id) -> JsonObject:
        """Return a running task. Raise NotFound."""
        missing = f"no task {task_id} of tenant {self._person.tenant_id!r} goes on"
        for agent in sorted(await self._services.store.plans.agents_of_task(task_id)):
            if found := await self._find_task(CALLS["get_task_context"], agent, task_id, missing):
                return found
        raise NotFound(missing)

    @CALLS("GET /memory/task-context/by-subtask/{sub_task_id}", Act.SEE, "get_task_by_subtask")
    async def get_task_by_subtask(self, sub_task_id: Id) -> JsonObject:
        """Return the running task with this sub-task. Raise NotFound."""
        missing = f"no task of tenant {self._person.tenant_id!r} that goes on asked for {sub_task_id}"
        asked = await self._services.store.plans.expectation(sub_task_id)
        task_id = asked.task_id if asked is not None else None
        if asked is not None and task_id is not None:
            found = await self._find_task(CALLS["get_task_by_subtask"], asked.agent, task_id, missing)
            if found:
                return found
        raise NotFound(missing)

    @CALLS("POST /memory/task-context", Act.STEER, "store_task_context", key="stored", raises=(NotFound, *_ENDED))
    async def store_task_context(self, task_id: Id, plan_id: Id | None, context: Mapping[str, Any]) -> bool:
        """Store each key in the `state` of an open task, and return True. A handler with that task in hand runs again,
        on the new state. Raise LocalProtocolError for another plan than the task's."""
        must_be_outside()
        call, given = CALLS["store_task_context"], json_object("the context of a task", context)
        async with changing(self._services, self._caller, call.name, task_id) as change:
            while True:
                task = await self._own_task(call, task_id)
                if plan_id not in (None, task.lineage.plan_id):
                    raise LocalProtocolError(f"task {task_id} belongs to plan {task.lineage.plan_id}, not {plan_id!r}")
                changed = replace(task, state={**task.state, **given}, version=task.version + 1)
                with suppress(VersionConflict):
                    await change.store.plans.save_task(changed, task.version)
                    return True

    @CALLS("DELETE /memory/task-context/{task_id}", Act.STEER, "delete_task_context", key="deleted", raises=_ENDED)
    async def delete_task_context(self, task_id: Id) -> bool:
        """Return False for a task that has ended: its row went with it. Raise IllegalTransition for an open one: its
        worker ends it."""
        must_be_outside()
        call, request = CALLS["delete_task_context"], await self._services.store.events.event(task_id)
        missing = f"no task {task_id} of tenant {self._person.tenant_id!r}"
        if request is None:
            raise NotFound(missing)
        check(self._person, call, request.lineage, missing)
        if not (agents := await self._services.store.plans.agents_of_task(task_id)):
            return False
        raise IllegalTransition(
            f"task {task_id} has not ended; {', '.join(agents)} completes or fails it, and its row goes with that"
        )

    async def _own_task(self, call: CallRow, task_id: str) -> TaskRecord:
        missing = f"no task {task_id} of tenant {self._person.tenant_id!r} goes on"
        for agent in sorted(await self._services.store.plans.agents_of_task(task_id)):
            task = await self._services.store.plans.task(agent, task_id)
            if task is not None:
                check(self._person, call, task.lineage, missing)
                return task
        raise NotFound(missing)

    @CALLS.local(Act.BEGIN)
    async def create_plan(
        self,
        goal_event: str,
        goal_data: Mapping[str, Any],
        response_event: str | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> PlanSummary:
        """Submit a goal, and return its plan, which is pending until its planner has the goal. Raise as `submit`."""
        submitted = await self._client().submit(
            goal_event,
            goal_data,
            response_event=response_event,
            session_id=session_id,
            parent_plan_id=parent_plan_id,
            idempotency_key=idempotency_key,
        )
        store = self._services.store
        if (plan := await store.plans.plan(submitted.plan_id)) is not None:
            return PlanSummary.of(plan)
        goal = await store.events.event(submitted.goal_id)
        at, session_id = (goal.time, goal.session_id) if goal else (self._services.clock.now(), session_id)
        return PlanSummary(submitted.plan_id, goal_event, PlanStatus.PENDING, session_id, at, at)

    @CALLS.local(Act.SEE)
    async def list_plans(
        self, status: Status | None = None, session_id: str | None = None, limit: int = 20
    ) -> list[PlanSummary]:
        """Return plans in few words, the newest first; see `plans` of the client."""
        found = await self._client().plans(status=status, session_id=session_id, limit=limit)
        return [PlanSummary.of(plan) for plan in found]

    @CALLS.local(Act.BEGIN)
    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> SessionSummary:
        """Make a session with a name; see `create_session` of the client."""
        return await sessions_of(self._client()).create_session(name, metadata)

    @CALLS.local(Act.SEE)
    async def list_sessions(self, limit: int = 20) -> list[SessionSummary]:
        """Return conversations, the one with the latest event first; see `sessions` of the client."""
        return await sessions_of(self._client()).sessions(limit=limit)

    def _client(self) -> Client:
        made = Client(self._services, self._person)
        made.caller = self._caller
        return made

    async def _find_task(self, call: CallRow, agent: str, task_id: str, missing: str) -> JsonObject | None:
        store = self._services.store
        task = await store.plans.task(agent, task_id)
        if task is None:
            return None
        check(self._person, call, task.lineage, missing)
        return task_summary(task, task.state, await store.plans.sub_tasks(agent, task_id))

    async def _do(self, store: Store, change: MemoryChange) -> None:
        must_be_outside()
        await store.part(PLAN_MEMORY).memorize([change], self._services.clock.now())


def plan_memory_of(client: OperatorCalls) -> PlanMemory:
    """Return the calls of a client's person."""
    return PlanMemory(client.services, client.person, client.caller)
