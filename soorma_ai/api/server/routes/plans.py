"""Plans: goals for planners, their outcome, and their steering."""

from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from soorma_ai.api.answers import End, HeldAnswer, NotEnded, Outcome, Submitted
from soorma_ai.api.operation import Answer, Stream, operations
from soorma_ai.api.server.app_state import AppState, Call
from soorma_ai.api.server.routes.people import tell
from soorma_ai.api.server.streams import follow_plan
from soorma_ai.errors import DeadlineExceeded, Held, IllegalTransition, NotFound, PlanCancelled, PlanFailed
from soorma_ai.kernel.domain.call_options import SubmitOptions
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.parameters import Fields, Id, Name, Note, Patience
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.client.client import PLANS
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle


class GoalFields(Fields, frozen=True):
    """Fields of a goal."""

    goal: Name
    data: JsonObject | None = None
    session_id: Id | None = None
    planner: Name | None = None
    approve: bool = False
    response_event: Name | None = None
    parent_plan_id: Id | None = None


HANDLERS = CallTable()
_OK, _OPEN = HTTPStatus.OK, HTTPStatus.ACCEPTED


@HANDLERS(
    "POST /plans",
    PLANS["submit"],
    "submit",
    answers={HTTPStatus.CREATED: Submitted, _OK: End, _OPEN: HeldAnswer},
    raises=(NotFound, IllegalTransition),
    form="Goal",
)
async def submit(call: Call, fields: GoalFields, wait: Patience = 0, idempotency_key: str | None = None) -> Answer:
    """Give a goal to its planner.

    With `wait`, an end of the plan in this time is the answer. 202 for a goal in need of an approval. `approve`: the
    sender approves it.
    """
    options: SubmitOptions = {
        "session_id": fields.session_id,
        "planner": fields.planner,
        "approve": fields.approve,
        "response_event": fields.response_event,
        "parent_plan_id": fields.parent_plan_id,
        "idempotency_key": idempotency_key,
    }
    try:
        plan = await call.client.submit(fields.goal, fields.data or {}, **options)
    except Held as held:
        return Answer(HeldAnswer.of(held), _OPEN)
    end = await _end(call.surroundings, plan, wait) if wait else None
    if end is not None:
        return Answer(end)
    made = Submitted(plan_id=plan.plan_id, goal_id=plan.goal_id)
    return Answer(made, HTTPStatus.CREATED, {"location": f"/v1/plans/{plan.plan_id}"})


@HANDLERS("GET /plans/{plan_id}/result", PLANS["follow"], "show_result", answers={_OK: End, _OPEN: NotEnded})
async def show_result(call: Call, plan_id: Id, wait: Patience = 0) -> Answer:
    """Return the end of a plan, or 202 while it has not ended. `wait` waits for it."""
    plan = await call.client.follow(plan_id)
    end = await _end(call.surroundings, plan, wait)
    if end is None:
        return Answer(NotEnded(plan_id=plan.plan_id, goal_id=plan.goal_id, state=await plan.describe()), _OPEN)
    return Answer(end)


@HANDLERS(
    "GET /plans/{plan_id}/events", PLANS["follow"], "stream_plan", answers={_OK: str, HTTPStatus.NO_CONTENT: None}
)
async def stream_plan(
    call: Call,
    plan_id: Id,
    after: Annotated[int, Field(ge=0, le=2**62)] | None = None,
    named: bool = False,
    last_event_id: int | None = None,
) -> Answer | Stream:
    """Send the events of a plan and its children, from its goal on, as they arrive.

    Each is a CloudEvent, with its place in the log as its id. The last event, named `end`, tells the plan's end. After
    it, 204 tells a client to stop asking. With `named`, the type of each event is its `event:` name.
    """
    client = call.client
    await client.follow(plan_id)
    begin = (after if last_event_id is None else last_event_id) or 0
    if begin:
        standing = await client.services.store.plans.plan_status(plan_id)
        page = await client.events(after=begin, limit=1, plan_id=plan_id)
        if standing is not None and standing[0].is_final and page.is_end and not page.events:
            return Answer(None, HTTPStatus.NO_CONTENT)
    return Stream(follow_plan(client, call.surroundings, plan_id, begin, named=named))


@HANDLERS(
    "POST /plans/{plan_id}/resume",
    PLANS["resume"],
    "resume_plan",
    answers={_OK: Outcome},
    raises=(IllegalTransition, HTTPStatus.GONE),
)
async def resume_plan(call: Call, plan_id: Id, data: JsonObject | None = None, note: Note = "") -> Answer:
    """Resume a paused plan with this input; or a plan in need of an operator, together with all such plans of its
    tree."""
    return tell(await call.client.resume(plan_id, data or {}, note=note))


async def _end(surroundings: AppState, plan: PlanHandle, wait: float) -> End | None:
    """Return the end of a plan; None without one after these seconds."""
    try:
        result = await surroundings.wait_for(plan.result(timeout=wait), wait)
    except DeadlineExceeded:
        return None
    except PlanFailed as failed:
        status = PlanStatus.CANCELLED if isinstance(failed, PlanCancelled) else PlanStatus.FAILED
        failure = failed.code if status is PlanStatus.FAILED else None
        return End(plan_id=plan.plan_id, goal_id=plan.goal_id, status=status, reason=failed.reason, failure=failure)
    return End(plan_id=plan.plan_id, goal_id=plan.goal_id, status=PlanStatus.COMPLETED, result=result)


OPERATIONS = (*operations(HANDLERS, "plans"), *operations(PLANS, "plans", lambda call: call.client))
