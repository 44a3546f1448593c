"""Memory of plans and tasks, and sessions. A write reserved to a plan's or a task's own events is a 409."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NoReturn

from soorma_ai.api.answers import Value
from soorma_ai.api.operation import Answer, operations
from soorma_ai.api.paging import Page, page_of
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import IllegalTransition, NotFound
from soorma_ai.features.plan_memory.service import CALLS, plan_memory_of
from soorma_ai.features.plan_memory.sessions import CALLS as SESSIONS
from soorma_ai.features.plan_memory.sessions import sessions_of
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.parameters import Id, Limit, Name
from soorma_ai.kernel.domain.plans import Status
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.runtime.client.client import PLANS

HANDLERS = CallTable()
_NEVER: Mapping[int, object] = {}
_REFUSED = (IllegalTransition,)
_TASK = "/memory/task-context"


@HANDLERS(
    f"POST {_TASK}",
    CALLS["get_task_context"],
    "store_task_context",
    answers=_NEVER,
    raises=(NotFound, IllegalTransition),
)
async def store_task_context(call: Call, task_id: Id, context: JsonObject, plan_id: Id | None = None) -> NoReturn:
    """Refuse: a task's state is changed by its own handlers only, so that nothing is lost."""
    await plan_memory_of(call.client).get_task_context(task_id)
    raise IllegalTransition(
        f"the state of task {task_id} is changed by its own events only, one after the other: "
        "set task.state in a handler of its worker"
    )


@HANDLERS(
    f"DELETE {_TASK}/{{task_id}}", CALLS["get_task_context"], "delete_task_context", key="deleted", raises=_REFUSED
)
async def delete_task_context(call: Call, task_id: Id) -> bool:
    """Refuse for a task that goes on: its row goes when it ends."""
    await plan_memory_of(call.client).get_task_context(task_id)
    raise IllegalTransition(
        f"task {task_id} has not ended; its worker completes or fails it, and its row goes with that"
    )


@HANDLERS("POST /memory/plans", PLANS["submit"], "create_plan", answers=_NEVER, raises=_REFUSED)
async def create_plan(
    call: Call,
    goal_event: Name,
    goal_data: JsonObject | None = None,
    response_event: Name | None = None,
    session_id: Id | None = None,
    parent_plan_id: Id | None = None,
) -> NoReturn:
    """Refuse: a plan is made by its goal, when that comes to its planner. `POST /v1/plans` submits one."""
    raise IllegalTransition(
        f"the plan of {goal_event!r} is made when the goal comes to its planner: POST /v1/plans submits it"
    )


@HANDLERS(
    "GET /memory/plans",
    PLANS["plans"],
    "list_plan_records",
    answers={HTTPStatus.OK: Page[PlanSummary]},
    raises=(NotFound,),
)
async def list_plan_records(
    call: Call, status: Status | None = None, session_id: Id | None = None, after: Id | None = None, limit: Limit = 50
) -> Answer:
    """List plans, the newest first, in few words."""

    async def load(most: int) -> list[PlanSummary]:
        found = await call.client.plans(status=status, session_id=session_id, limit=most)
        return [PlanSummary.of(plan) for plan in found]

    return Answer(await page_of(load, lambda plan: plan.plan_id, after, limit))


@HANDLERS("GET /working-memory/{plan_id}/{key:path}", CALLS["retrieve"], "retrieve")
async def retrieve(call: Call, plan_id: Id, key: Name) -> Value:
    """Return a value of a plan's working memory. Raise 404 for an unknown key."""
    value: Json = await plan_memory_of(call.client).retrieve(key, plan_id)
    if value is None and key not in await plan_memory_of(call.client).keys(plan_id):
        raise NotFound(f"plan {plan_id} remembers nothing as {key!r}")
    return Value(key, value)


OPERATIONS = (
    *operations(HANDLERS, "memory"),
    *operations(SESSIONS, "memory", lambda call: sessions_of(call.client)),
    *operations(CALLS, "memory", lambda call: plan_memory_of(call.client)),
)
