"""Routes of the memory of plans and tasks, and of sessions."""

from http import HTTPStatus

from soorma_ai.api.answers import HeldAnswer, Value
from soorma_ai.api.operation import Answer, operations
from soorma_ai.api.paging import Page, page_of
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import Held, IllegalTransition, NotFound
from soorma_ai.features.plan_memory.service import CALLS, plan_memory_of
from soorma_ai.features.plan_memory.sessions import CALLS as SESSIONS
from soorma_ai.features.plan_memory.sessions import sessions_of
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.parameters import Fields, Id, Limit, Name
from soorma_ai.kernel.domain.plans import Status
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.runtime.client.client import PLANS

HANDLERS = CallTable()


class PlanFields(Fields, frozen=True):
    """Fields of a plan to create."""

    goal_event: Name
    goal_data: JsonObject | None = None
    response_event: Name | None = None
    session_id: Id | None = None
    parent_plan_id: Id | None = None


@HANDLERS(
    "POST /memory/plans",
    PLANS["submit"],
    "create_plan",
    answers={HTTPStatus.CREATED: PlanSummary, HTTPStatus.ACCEPTED: HeldAnswer},
    raises=(NotFound, IllegalTransition),
)
async def create_plan(call: Call, fields: PlanFields, idempotency_key: str | None = None) -> Answer:
    """Give a goal to its planner, as `POST /v1/plans`, and return its plan. 202 where a person has to approve it."""
    try:
        made = await plan_memory_of(call.client).create_plan(
            fields.goal_event,
            fields.goal_data or {},
            fields.response_event,
            fields.session_id,
            fields.parent_plan_id,
            idempotency_key=idempotency_key,
        )
    except Held as held:
        return Answer(HeldAnswer.of(held), HTTPStatus.ACCEPTED)
    return Answer(made, HTTPStatus.CREATED, {"location": f"/v1/plans/{made.plan_id}"})


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
