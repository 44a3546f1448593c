"""The progress of plans. It is read only: agents report by events."""

from typing import Literal

from pydantic import Field

from soorma_ai.api.paging import cut, make_page, page_of
from soorma_ai.api.server.operation import (
    LONGEST_ID,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Limit,
    Nothing,
    Page,
    Paged,
    get,
)
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.tracking import Action, DelegationGroup, PlanNode, PlanPage, PlanProgress, TimelineEntry


class Plans(Form):
    """`search` is a part of the id, or of the goal's, the planner's or the user's name. `before` is that of the page
    before."""

    status: PlanStatus | Literal["active"] | None = None
    session_id: Id | None = None
    search: str = Field("", max_length=LONGEST_ID)
    before: int = Field(0, ge=0, le=2**62)
    limit: Limit = 50


class OfPlan(Form):
    plan_id: Id


class PartsOfPlan(Paged):
    plan_id: Id


class PlansOfSession(Paged):
    session_id: Id


class OfGroup(Form):
    group_id: Id


class NotTaken(Paged):
    plan_id: Id | None = None
    task_id: Id | None = None


async def track_plans(call: Call[Plans, Nothing]) -> Answer:
    """List plans, the newest first, with what they spent and wait for. A page may be short, or empty, before the
    end."""
    asked = call.asked
    return Answer(
        await call.client.tracker.plans(
            status=asked.status,
            session_id=asked.session_id,
            search=asked.search,
            before=asked.before,
            limit=asked.limit,
        )
    )


async def track_plan(call: Call[OfPlan, Nothing]) -> Answer:
    """Return how far a plan is: how many of its requests have ended, and how."""
    return Answer(await call.client.tracker.plan_progress(call.asked.plan_id))


async def track_actions(call: Call[PartsOfPlan, Nothing]) -> Answer:
    """List the requests of a plan, and those that its workers made for parts of their tasks, in order."""
    asked = call.asked
    found = await call.client.tracker.actions(asked.plan_id)
    return Answer(cut(found, lambda action: action.action_id, asked.after, asked.limit))


async def track_timeline(call: Call[PartsOfPlan, Nothing]) -> Answer:
    """List what happened in a plan, in the order of time."""
    asked = call.asked
    found = list(enumerate(await call.client.tracker.timeline(asked.plan_id)))
    page = cut(found, lambda numbered: str(numbered[0]), asked.after, asked.limit)
    return Answer(make_page([entry for _, entry in page.items], page.next))


async def track_tree(call: Call[OfPlan, Nothing]) -> Answer:
    """Return a plan, and those that it led to, as a tree."""
    return Answer(await call.client.tracker.plan_tree(call.asked.plan_id))


async def track_session(call: Call[PlansOfSession, Nothing]) -> Answer:
    """List the plans of a session, the newest first."""
    asked, tracker = call.asked, call.client.tracker
    return Answer(
        await page_of(
            lambda limit: tracker.session_plans(asked.session_id, limit=limit),
            lambda plan: plan.plan_id,
            asked.after,
            asked.limit,
        )
    )


async def track_group(call: Call[OfGroup, Nothing]) -> Answer:
    """Return what a worker asked for together, and what of that has come."""
    return Answer(await call.client.tracker.delegation_group(call.asked.group_id))


async def track_untaken(call: Call[NotTaken, Nothing]) -> Answer:
    """List requests that nobody takes yet, the oldest first: of all, of a plan's tree, or for parts of a task."""
    asked, tracker = call.asked, call.client.tracker
    return Answer(
        await page_of(
            lambda limit: tracker.untaken(asked.plan_id, task_id=asked.task_id, limit=limit),
            lambda one: one.request_id,
            asked.after,
            asked.limit,
        )
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    get("/v1/tracker/plans", track_plans, Plans, PlanPage),
    get("/v1/tracker/plans/{plan_id}", track_plan, OfPlan, PlanProgress, NOT_FOUND),
    get("/v1/tracker/plans/{plan_id}/actions", track_actions, PartsOfPlan, Page[Action], NOT_FOUND),
    get("/v1/tracker/plans/{plan_id}/timeline", track_timeline, PartsOfPlan, Page[TimelineEntry], NOT_FOUND),
    get("/v1/tracker/plans/{plan_id}/tree", track_tree, OfPlan, PlanNode, NOT_FOUND),
    get("/v1/tracker/sessions/{session_id}/plans", track_session, PlansOfSession, Page[PlanSummary], NOT_FOUND),
    get("/v1/tracker/groups/{group_id}", track_group, OfGroup, DelegationGroup, NOT_FOUND),
    get("/v1/tracker/untaken", track_untaken, NotTaken, Page[Untaken], NOT_FOUND),
)
