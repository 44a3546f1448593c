"""The memory of plans and tasks, and sessions. What only a plan's or a task's own events may write is a 409."""

from http import HTTPStatus
from typing import Literal

from pydantic import Field

from soorma_ai.api.paging import page_of
from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Name,
    Nothing,
    Page,
    Paged,
    delete,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made
from soorma_ai.errors import IllegalTransition, NotFound
from soorma_ai.kernel.domain.memory import PlanSummary, SessionSummary
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import Json, JsonObject


class TaskContext(Form):
    task_id: Id
    plan_id: Id | None = None
    context: JsonObject


class OfTask(Form):
    task_id: Id


class OfSubTask(Form):
    sub_task_id: Id


class PlanContext(Form):
    plan_id: Id
    session_id: Id | None = None
    context: JsonObject


class OfPlan(Form):
    plan_id: Id


class ByCorrelation(Form):
    correlation_id: Id


class NewPlan(Form):
    goal_event: Name
    goal_data: JsonObject = Field(default_factory=dict)
    response_event: Name | None = None
    session_id: Id | None = None
    parent_plan_id: Id | None = None


class Plans(Paged):
    status: PlanStatus | Literal["active"] | None = None
    session_id: Id | None = None


class NewSession(Form):
    """A session with a name. One of that `session_id` which exists is returned as it is."""

    name: Name | None = None
    metadata: JsonObject = Field(default_factory=dict)
    session_id: Id | None = None


class Entry(Form):
    key: Name
    value: Json


class OfKey(Form):
    plan_id: Id
    key: Name


class Stored(Made):
    stored: bool = True


class Deleted(Made):
    """`deleted` is false where there was nothing."""

    deleted: bool


class Value(Made):
    key: str
    value: Json


class Keys(Made):
    keys: list[str]


async def store_task_context(call: Call[Nothing, TaskContext]) -> Answer:
    """Refuse: a task's state is changed by its own handlers only, so that nothing is lost."""
    await call.client.memory.get_task_context(call.sent.task_id)
    raise IllegalTransition(
        f"the state of task {call.sent.task_id} is changed by its own events only, one after the other: "
        "set task.state in a handler of its worker"
    )


async def get_task_context(call: Call[OfTask, Nothing]) -> Answer:
    """Return a task that has not ended."""
    return Answer(await call.client.memory.get_task_context(call.asked.task_id))


async def delete_task_context(call: Call[OfTask, Nothing]) -> Answer:
    """Refuse for a task that goes on: its row goes when it ends."""
    await call.client.memory.get_task_context(call.asked.task_id)
    raise IllegalTransition(
        f"task {call.asked.task_id} has not ended; its worker completes or fails it, and its row goes with that"
    )


async def get_task_by_subtask(call: Call[OfSubTask, Nothing]) -> Answer:
    """Return the task that asked for a sub-task, while it has not ended."""
    return Answer(await call.client.memory.get_task_by_subtask(call.asked.sub_task_id))


async def store_plan_context(call: Call[Nothing, PlanContext]) -> Answer:
    """Store each key of the context in the plan's working memory: all of them, or none."""
    sent = call.sent
    await call.client.memory.store_plan_context(sent.plan_id, sent.session_id, sent.context)
    return Answer(Stored())


async def get_plan_context(call: Call[OfPlan, Nothing]) -> Answer:
    """Return a plan's row, with its working memory as `state`."""
    return Answer(await call.client.memory.get_plan_context(call.asked.plan_id))


async def get_plan_by_correlation(call: Call[ByCorrelation, Nothing]) -> Answer:
    """Return the context of a plan by the reply key of anything that it or its workers asked, or of its goal."""
    return Answer(await call.client.memory.get_plan_by_correlation(call.asked.correlation_id))


async def create_plan(call: Call[Nothing, NewPlan]) -> Answer:
    """Refuse: a plan is made by its goal, when that comes to its planner. `POST /v1/plans` submits one."""
    raise IllegalTransition(
        f"the plan of {call.sent.goal_event!r} is made when the goal comes to its planner: POST /v1/plans submits it"
    )


async def list_plan_records(call: Call[Plans, Nothing]) -> Answer:
    """List plans, the newest first, in few words."""
    asked, client = call.asked, call.client

    async def load(limit: int) -> list[PlanSummary]:
        found = await client.plans(status=asked.status, session_id=asked.session_id, limit=limit)
        return [PlanSummary.of(plan) for plan in found]

    return Answer(await page_of(load, lambda plan: plan.plan_id, asked.after, asked.limit))


async def create_session(call: Call[Nothing, NewSession]) -> Answer:
    """Make a session, a conversation that goals are submitted in."""
    sent = call.sent
    made = await call.client.create_session(sent.name, sent.metadata, session_id=sent.session_id)
    return Answer(made, HTTPStatus.CREATED)


async def list_sessions(call: Call[Paged, Nothing]) -> Answer:
    """List sessions, the one in which something happened last first."""
    asked = call.asked
    return Answer(
        await page_of(
            lambda limit: call.client.sessions(limit=limit), lambda one: one.session_id, asked.after, asked.limit
        )
    )


async def store(call: Call[OfPlan, Entry]) -> Answer:
    """Set a value in a plan's working memory."""
    await call.client.memory.store(call.sent.key, call.sent.value, call.asked.plan_id)
    return Answer(Stored())


async def retrieve(call: Call[OfKey, Nothing]) -> Answer:
    """Return a value of a plan's working memory. Raise 404 for what is not there."""
    key, plan_id = call.asked.key, call.asked.plan_id
    value: Json = await call.client.memory.retrieve(key, plan_id)
    if value is None and key not in await call.client.memory.keys(plan_id):
        raise NotFound(f"plan {plan_id} remembers nothing as {key!r}")
    return Answer(Value.model_construct(key=key, value=value))


async def delete_key(call: Call[OfKey, Nothing]) -> Answer:
    """Remove a value from a plan's working memory."""
    return Answer(Deleted(deleted=await call.client.memory.delete(call.asked.key, call.asked.plan_id)))


async def list_keys(call: Call[OfPlan, Nothing]) -> Answer:
    """List the keys of a plan's working memory."""
    return Answer(Keys(keys=await call.client.memory.keys(call.asked.plan_id)))


_OK = HTTPStatus.OK
_MEMORY, _WORKING = "/v1/memory", "/v1/working-memory/{plan_id}"

OPERATIONS: tuple[AnyOperation, ...] = (
    post(f"{_MEMORY}/task-context", store_task_context, Nothing, TaskContext, {}, NOT_FOUND, CONFLICT),
    get(f"{_MEMORY}/task-context/{{task_id}}", get_task_context, OfTask, JsonObject, NOT_FOUND),
    delete(f"{_MEMORY}/task-context/{{task_id}}", delete_task_context, OfTask, Deleted, NOT_FOUND, CONFLICT),
    get(f"{_MEMORY}/task-context/by-subtask/{{sub_task_id}}", get_task_by_subtask, OfSubTask, JsonObject, NOT_FOUND),
    post(f"{_MEMORY}/plan-context", store_plan_context, Nothing, PlanContext, {_OK: Stored}, NOT_FOUND, CONFLICT),
    get(f"{_MEMORY}/plan-context/{{plan_id}}", get_plan_context, OfPlan, JsonObject, NOT_FOUND),
    get(
        f"{_MEMORY}/plan-context/by-correlation/{{correlation_id}}",
        get_plan_by_correlation,
        ByCorrelation,
        JsonObject,
        NOT_FOUND,
    ),
    post(f"{_MEMORY}/plans", create_plan, Nothing, NewPlan, {}, CONFLICT),
    get(f"{_MEMORY}/plans", list_plan_records, Plans, Page[PlanSummary], NOT_FOUND),
    post(
        f"{_MEMORY}/sessions",
        create_session,
        Nothing,
        NewSession,
        {HTTPStatus.CREATED: SessionSummary},
        NOT_FOUND,
        CONFLICT,
    ),
    get(f"{_MEMORY}/sessions", list_sessions, Paged, Page[SessionSummary], NOT_FOUND),
    post(_WORKING, store, OfPlan, Entry, {_OK: Stored}, NOT_FOUND, CONFLICT),
    get(_WORKING, list_keys, OfPlan, Keys, NOT_FOUND),
    get(f"{_WORKING}/{{key:path}}", retrieve, OfKey, Value, NOT_FOUND),
    delete(f"{_WORKING}/{{key:path}}", delete_key, OfKey, Deleted, NOT_FOUND, CONFLICT),
)
