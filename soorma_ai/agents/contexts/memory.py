"""Memory of plans in handlers. Changes are recorded, and take effect together with all other effects."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.agents.contexts.memos import MemoClient
from soorma_ai.agents.contexts.task_in_hand import TaskInHand
from soorma_ai.context_parts.summaries import plan_summary, task_summary
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryKey,
    OpenSession,
    PlanSummary,
    SessionSummary,
    StoreMemory,
)
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import JsonObject, derived_id, json_object
from soorma_ai.kernel.rules.memory import json_value, number
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.views import plans as reading


class MemoryClient(MemoClient):
    """Memory in a handler: working memory of a plan, and long-term memory.

    Working memory belongs to a plan: to `plan_id`, else to the plan of the present delivery. It raises NotFound for a
    plan of another tenant.

    A handler sees its own changes. After a read and a change of a value, in any order, a concurrent change of it runs
    the handler again; `store`, `increment` and `append` alone never conflict.

    For long-term memory see `agents.contexts.memos`.
    """

    def __init__(self, handling: Handling, task: TaskInHand | None) -> None:
        super().__init__(handling)
        self._task = task

    async def store(self, key: str, value: Any, plan_id: str | None = None) -> bool:
        """Set a value, and return True."""
        self._handling.memory.change(StoreMemory(await self._at(key, plan_id), json_value(key, value)))
        return True

    async def retrieve(self, key: str, plan_id: str | None = None) -> Any:
        """Return a value; None for an unknown key. Later changes of the value are not stored by themselves."""
        return (await self._handling.memory.look(await self._at(key, plan_id))).value

    async def delete(self, key: str, plan_id: str | None = None) -> bool:
        """Return False when there was nothing."""
        at = await self._at(key, plan_id)
        existed = (await self._handling.memory.look(at)).exists
        if existed:
            self._handling.memory.change(DropMemory(at))
        return existed

    async def keys(self, plan_id: str | None = None) -> list[str]:
        return await self._handling.memory.keys(self._tenant_id, await self._own(plan_id))

    async def cleanup(self, plan_id: str | None = None) -> int:
        """Remove all keys of the plan; return their number."""
        return sum([await self.delete(key, plan_id) for key in await self.keys(plan_id)])

    async def increment(self, key: str, by: int | float = 1, plan_id: str | None = None) -> None:
        """Add to a number; a missing one counts as 0. A later `retrieve` returns the sum, and then conflicts are
        checked."""
        self._handling.memory.change(IncrementMemory(await self._at(key, plan_id), number(key, by)))

    async def append(self, key: str, value: Any, plan_id: str | None = None) -> None:
        """Append to a list; a missing one counts as empty."""
        self._handling.memory.change(AppendMemory(await self._at(key, plan_id), (json_value(key, value),)))

    async def get_task_context(self, task_id: str) -> JsonObject | None:
        """Return a running task, of this agent or of another; None when there is none in this tenant."""
        if self._task is not None and self._task.record.task_id == task_id:
            task = self._task
            return None if task.has_ended else task_summary(task.record, task.state, task.sub_tasks.values())
        agents = await self._handling.services.store.plans.agents_of_task(task_id)
        for agent in sorted(agents, key=lambda agent: agent != self._handling.agent):
            found = await self._find_task(agent, task_id)
            if found is not None:
                return found
        return None

    async def get_task_by_subtask(self, sub_task_id: str) -> JsonObject | None:
        """Return the requesting task of a sub-task; None for an ended one."""
        if self._task is not None and sub_task_id in self._task.sub_tasks:
            return await self.get_task_context(self._task.record.task_id)
        asked = await self._handling.services.store.plans.expectation(sub_task_id)
        if asked is None or asked.task_id is None or asked.tenant_id != self._tenant_id:
            return None
        return await self._find_task(asked.agent, asked.task_id)

    async def store_task_context(self, task_id: str, plan_id: str | None, context: Mapping[str, Any]) -> bool:
        """Store into the `state` of the present task. Raise LocalProtocolError for any other: only a task's own events
        change it, one after the other, so nothing is lost."""
        task = self._task
        if task is None or task.record.task_id != task_id or task.has_ended:
            raise LocalProtocolError(f"{task_id!r} is not the task in hand; a task's state is changed by its handlers")
        if plan_id not in (None, task.record.lineage.plan_id):
            raise LocalProtocolError(f"task {task_id} belongs to plan {task.record.lineage.plan_id}, not {plan_id!r}")
        task.state.update(json_object("the context of a task", context))
        return True

    save_task_context = store_task_context

    async def delete_task_context(self, task_id: str) -> bool:
        """Return False for an ended task: its row is gone. Raise LocalProtocolError for any other."""
        if await self.get_task_context(task_id) is None:
            return False
        raise LocalProtocolError(f"task {task_id} has not ended; complete() or fail() it, and its row goes")

    async def get_plan_context(self, plan_id: str) -> JsonObject | None:
        """The plan's row with its working memory as `state`; None when there is none in this tenant."""
        plan = await self._plan(plan_id)
        if plan is None:
            return None
        state: JsonObject = {key: await self.retrieve(key, plan_id) for key in await self.keys(plan_id)}
        return plan_summary(plan, state)

    async def get_plan_by_correlation(self, correlation_id: str) -> JsonObject | None:
        """Return the plan by the reply key of its goal, of one of its requests, or of a request of its workers."""
        store = self._handling.services.store
        asked = await store.plans.expectation(correlation_id)
        if asked is None or asked.tenant_id != self._tenant_id:
            plan = await store.plans.plan_answering(self._tenant_id, correlation_id)
            return await self.get_plan_context(plan.plan_id) if plan else None
        if asked.plan_id is not None:
            return await self.get_plan_context(asked.plan_id)
        request = await store.events.event(asked.id)
        return await self.get_plan_context(request.plan_id) if request and request.plan_id else None

    async def store_plan_context(self, plan_id: str, session_id: str | None, context: Mapping[str, Any]) -> bool:
        """Store each key in the working memory of the present plan. Raise LocalProtocolError for any other plan, and
        for a session of another plan."""
        if not self._handling.works_on(plan_id):
            raise LocalProtocolError(f"{plan_id!r} is not the plan in hand; store(key, value, plan_id) works for any")
        if session_id not in (None, self._handling.plan.lineage.session_id):
            raise LocalProtocolError(f"plan {plan_id} belongs to session {self._handling.plan.lineage.session_id!r}")
        for key, value in json_object("the context of a plan", context).items():
            await self.store(key, value, plan_id)
        return True

    async def create_plan(
        self,
        goal_event: str,
        goal_data: Mapping[str, Any],
        response_event: str | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
    ) -> PlanSummary:
        """Return the plan of the present goal; the goal's arrival has made it. Raises LocalProtocolError for any other
        goal: its plan is made at its arrival at its planner."""
        if self._handling.has_plan:
            plan = self._handling.plan
            is_its_goal = (goal_event, dict(goal_data)) == (plan.goal_event, plan.goal_data)
            is_answered = response_event in (None, plan.answer_event)
            belongs = session_id in (None, plan.lineage.session_id) and parent_plan_id in (None, plan.parent_plan_id)
            if is_its_goal and is_answered and belongs:
                return PlanSummary.of(plan)
        raise LocalProtocolError(
            f"the plan of {goal_event!r} is made when the goal comes to its planner: send it there with bus.request(), "
            "task.delegate() or a DELEGATE decision"
        )

    async def list_plans(
        self, status: PlanStatus | str | None = None, session_id: str | None = None, limit: int = 20
    ) -> list[PlanSummary]:
        """Return plans of the present user, newest first. `status` may be 'active', too: all running plans."""
        found = await reading.plans(self._handling.services, self._user, status, session_id, limit)
        return [PlanSummary.of(plan) for plan in found]

    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> SessionSummary:
        """Make a conversation for goals to be submitted in."""
        moment = self._handling.moment()
        session_id = derived_id("session", moment.event_id("session"))
        about = json_object("the metadata of a session", metadata or {})
        made = SessionSummary(session_id, 0, moment.now, moment.now, self._handling.lineage.user_id, name, about)
        self._handling.record(OpenSession(self._tenant_id, made))
        return made

    async def list_sessions(self, limit: int = 20) -> list[SessionSummary]:
        """Return conversations of the present user, by their last event, newest first; those of this handling last of
        all."""
        made = [one.session for one in self._handling.recorded if isinstance(one, OpenSession)]
        memory, user_id = self._handling.services.store.memory, self._user.user_id
        return [*await memory.sessions(self._tenant_id, limit, user_id=user_id), *made][:limit]

    @property
    def _tenant_id(self) -> str:
        return self._handling.event.tenant_id

    @property
    def _user(self) -> Person:
        """Return the person of these lists. By its id, an agent reaches every plan of its tenant."""
        return Person(self._tenant_id, self._handling.lineage.user_id, frozenset())

    async def _at(self, key: str, plan_id: str | None) -> MemoryKey:
        return MemoryKey(self._tenant_id, await self._own(plan_id), key)

    async def _own(self, plan_id: str | None) -> str:
        wanted = plan_id or self._handling.working_lineage.plan_id
        if wanted is None:
            raise LocalProtocolError(f"{self._handling.event.type!r} belongs to no plan; name one with plan_id=")
        if await self._plan(wanted) is None:
            raise NotFound(f"no plan {wanted} in tenant {self._tenant_id!r}")
        return wanted

    async def _plan(self, plan_id: str) -> PlanRecord | None:
        if self._handling.works_on(plan_id):
            return self._handling.plan
        try:
            return await reading.own_plan(self._handling.services, Person(self._tenant_id), plan_id)
        except NotFound:
            return None

    async def _find_task(self, agent: str, task_id: str) -> JsonObject | None:
        store = self._handling.services.store
        task = await store.plans.task(agent, task_id)
        if task is None or task.lineage.tenant_id != self._tenant_id:
            return None
        return task_summary(task, task.state, await store.plans.sub_tasks(agent, task_id))
