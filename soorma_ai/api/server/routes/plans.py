"""Plans: goals given to planners, what became of them, and how they are steered."""

from http import HTTPStatus
from typing import Literal

from pydantic import Field

from soorma_ai.api.paging import page_of
from soorma_ai.api.server.app_state import Surroundings
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
    Seconds,
    Stream,
    get,
    post,
)
from soorma_ai.api.server.routes.common import HeldAnswer, Made, Patience
from soorma_ai.api.server.routes.people import Outcome, tell
from soorma_ai.api.server.streams import follow_plan
from soorma_ai.errors import DeadlineExceeded, Held, PlanCancelled, PlanFailed
from soorma_ai.kernel.domain.history import SentPrompt
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.reports.trace import Trace
from soorma_ai.kernel.runtime.client.client import CANCELLED
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle
from soorma_ai.kernel.runtime.views.plans import ACTIVE

_OPEN, _ENDED = HTTPStatus.ACCEPTED, HTTPStatus.OK


class Goal(Form):
    """A goal for a planner. `approve` says that whoever sends it approves it, where people have to."""

    goal: Name
    data: JsonObject = Field(default_factory=dict)
    session_id: Id | None = None
    planner: Name | None = None
    approve: bool = False


class Submitted(Made):
    plan_id: str
    goal_id: str


class End(Made):
    """The end of a plan: completed with a `result`, or else for a `reason`; `failure` is the code of the error by which
    it failed."""

    plan_id: str
    status: Literal[PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED]
    result: Json = None
    reason: str | None = None
    failure: str | None = None


class NotEnded(Made):
    """`state` says in words what the plan waits for, or why it sleeps."""

    plan_id: str
    status: Literal["active"] = ACTIVE
    state: str


class OfPlan(Form):
    plan_id: Id


class DecisionOfPlan(OfPlan):
    """`decision` counts from 1; the last one where it is left out."""

    decision: int | None = Field(None, ge=1, le=2**31)


class EndOfPlan(OfPlan):
    wait: Seconds = 0


class EventsOfPlan(OfPlan):
    after: int | None = Field(None, ge=0, le=2**62)


class Plans(Paged):
    status: PlanStatus | Literal["active"] | None = None
    session_id: Id | None = None


class Reason(Form):
    reason: str = Field(CANCELLED, max_length=2_000)


class Cancelled(Made):
    """`cancelled` is false for a plan that had ended already."""

    cancelled: bool


class Resumption(Form):
    """Input with which the plan goes on."""

    data: JsonObject = Field(default_factory=dict)
    note: str = Field("", max_length=2_000)


class ResumptionOfAll(Form):
    """Without an `agent`, plans of all planners."""

    agent: str | None = None


class Resumed(Made):
    """Plans that go on."""

    plan_ids: tuple[str, ...]


async def submit(call: Call[Patience, Goal]) -> Answer:
    """Give a goal to its planner.

    With `wait`, the plan's end is the answer where it comes in time. 202 where a person has to approve the goal first.
    """
    sent = call.sent
    try:
        plan = await call.client.submit(
            sent.goal,
            sent.data,
            session_id=sent.session_id,
            idempotency_key=call.key,
            planner=sent.planner,
            approve=sent.approve,
        )
    except Held as held:
        return Answer(HeldAnswer.of(held), HTTPStatus.ACCEPTED)
    end = await _end(call.surroundings, plan, call.asked.wait) if call.asked.wait else None
    if end is not None:
        return Answer(end)
    made = Submitted.model_construct(plan_id=plan.plan_id, goal_id=plan.goal_id)
    return Answer(made, HTTPStatus.CREATED, {"location": f"/v1/plans/{plan.plan_id}"})


async def list_plans(call: Call[Plans, Nothing]) -> Answer:
    """List plans, the newest first. `active` are all that have not ended."""
    asked = call.asked
    return Answer(
        await page_of(
            lambda limit: call.client.plans(status=asked.status, session_id=asked.session_id, limit=limit),
            lambda plan: plan.plan_id,
            asked.after,
            asked.limit,
        )
    )


async def show_plan(call: Call[OfPlan, Nothing]) -> Answer:
    """Return all that is known of a plan: its steps, decisions, usage and what it waits for."""
    return Answer(await call.client.plan(call.asked.plan_id))


async def show_result(call: Call[EndOfPlan, Nothing]) -> Answer:
    """Return the end of a plan, or 202 while it has not ended. `wait` waits for it."""
    plan = await call.client.follow(call.asked.plan_id)
    end = await _end(call.surroundings, plan, call.asked.wait)
    if end is None:
        return Answer(NotEnded(plan_id=plan.plan_id, state=await plan.describe()), _OPEN)
    return Answer(end, _ENDED)


async def stream_plan(call: Call[EventsOfPlan, Nothing]) -> Answer | Stream:
    """Send the events of a plan and its children, from its goal on, as they come.

    Each is a CloudEvent, with its place in the log as its id. The last event, named `end`, says how the plan ended. 204
    tells who asks for what is behind the end to come no more.
    """
    asked, client = call.asked, call.client
    await client.follow(asked.plan_id)
    after = (asked.after if call.last_event_id is None else call.last_event_id) or 0
    if after:
        standing = await client.services.store.plans.standing(asked.plan_id)
        page = await client.events(after=after, limit=1, plan_id=asked.plan_id)
        if standing is not None and standing[0].is_final and page.is_end and not page.events:
            return Answer(None, HTTPStatus.NO_CONTENT)
    return Stream(follow_plan(client, call.surroundings, asked.plan_id, after))


async def show_prompt(call: Call[DecisionOfPlan, Nothing]) -> Answer:
    """Return what a model was sent for a decision of a plan, made again; `faults` say where it is not what was sent."""
    return Answer(await call.client.prompt(call.asked.plan_id, call.asked.decision))


async def show_trace(call: Call[OfPlan, Nothing]) -> Answer:
    """Return why everything in a plan happened: who did what because of what, and when."""
    return Answer(await call.client.trace(call.asked.plan_id))


async def cancel_plan(call: Call[OfPlan, Reason]) -> Answer:
    """Ask a plan to stop, with all that it led to."""
    return Answer(Cancelled(cancelled=await call.client.cancel(call.asked.plan_id, call.sent.reason)))


async def resume_plan(call: Call[OfPlan, Resumption]) -> Answer:
    """Let a plan go on that was paused until somebody resumes it, or that needs an operator, with all of its tree that
    does."""
    return tell(await call.client.resume(call.asked.plan_id, call.sent.data, note=call.sent.note))


async def resume_plans(call: Call[Nothing, ResumptionOfAll]) -> Answer:
    """Let all plans go on that need an operator, or those of one planner."""
    return Answer(Resumed(plan_ids=tuple(await call.client.resume_all(agent=call.sent.agent))))


async def _end(surroundings: Surroundings, plan: PlanHandle, wait: float) -> End | None:
    """Return how a plan ended, None where it has not after so many seconds."""
    try:
        result = await surroundings.wait_for(plan.result(timeout=wait), wait)
    except DeadlineExceeded:
        return None
    except PlanFailed as failed:
        status = PlanStatus.CANCELLED if isinstance(failed, PlanCancelled) else PlanStatus.FAILED
        failure = failed.code if status is PlanStatus.FAILED else None
        return End(plan_id=plan.plan_id, status=status, reason=failed.reason, failure=failure)
    return End(plan_id=plan.plan_id, status=PlanStatus.COMPLETED, result=result)


_SUBMITTED = {HTTPStatus.CREATED: Submitted, HTTPStatus.OK: End, HTTPStatus.ACCEPTED: HeldAnswer}

OPERATIONS: tuple[AnyOperation, ...] = (
    post("/v1/plans", submit, Patience, Goal, _SUBMITTED, NOT_FOUND, CONFLICT, takes_key=True),
    get("/v1/plans", list_plans, Plans, Page[PlanRecord], NOT_FOUND),
    get("/v1/plans/{plan_id}", show_plan, OfPlan, PlanDetails, NOT_FOUND),
    get("/v1/plans/{plan_id}/result", show_result, EndOfPlan, End, NOT_FOUND, also={_OPEN: NotEnded}),
    get(
        "/v1/plans/{plan_id}/events",
        stream_plan,
        EventsOfPlan,
        str,
        NOT_FOUND,
        also={HTTPStatus.NO_CONTENT: None},
        streams=True,
    ),
    get("/v1/plans/{plan_id}/prompt", show_prompt, DecisionOfPlan, SentPrompt, NOT_FOUND),
    get("/v1/plans/{plan_id}/trace", show_trace, OfPlan, Trace, NOT_FOUND),
    post("/v1/plans/{plan_id}/cancel", cancel_plan, OfPlan, Reason, {_ENDED: Cancelled}, NOT_FOUND, CONFLICT),
    post("/v1/resumptions", resume_plans, Nothing, ResumptionOfAll, {_ENDED: Resumed}),
    post(
        "/v1/plans/{plan_id}/resume",
        resume_plan,
        OfPlan,
        Resumption,
        {_ENDED: Outcome},
        NOT_FOUND,
        CONFLICT,
        HTTPStatus.GONE,
    ),
)
