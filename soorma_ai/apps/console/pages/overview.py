"""The front page: open questions, plans, trouble and cost."""

from collections.abc import Sequence

from markupsafe import Markup
from starlette.types import ASGIApp

from soorma_ai.api.server.tenant_stats import TenantStats
from soorma_ai.apps.console.overview import Costs, active_plans, costs_of_today, costs_of_week, week_is_whole
from soorma_ai.errors import Forbidden
from soorma_ai.features.human_tasks.pages.inbox import read_queue
from soorma_ai.features.tracking.ports import PLAN_LISTS, PlanFilter, StoredPlan
from soorma_ai.features.tracking.service import reader_of
from soorma_ai.kernel.domain.plans import PlanRecord, Rest
from soorma_ai.kernel.rules.authority import only_user
from soorma_ai.surfaces.drawing.bars import draw_bars
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get

MOST_QUESTIONS = 5
MOST_ACTIVE = 50
MOST_PRICED = 200
MOST_BLOCKED = 5
MOST_BACKLOGS = 5
MOST_LOOKED_AT = 10  # active plans, for their rests


async def show_overview(visitor: PageContext) -> ASGIApp:
    """Show figures of reads that are bounded, however much there is: a figure beyond its bound is left out."""
    client, person = visitor.client, visitor.client.person
    store, user_id = client.services.store.plans, only_user(person)
    queue = await read_queue(visitor)
    active = active_plans(await reader_of(client).tracker.plans(status="active", limit=MOST_ACTIVE))
    lists = client.services.store.part(PLAN_LISTS)
    newest = await lists.plan_page(person.tenant_id, user_id, PlanFilter(), 0, MOST_PRICED)
    blocked = await store.blocked_plans(MOST_BLOCKED + 1, tenant_id=person.tenant_id, user_id=user_id)
    now = visitor.now.astimezone()
    today, week = costs_of_today(newest.rows, now), costs_of_week(newest.rows, now)
    return visitor.frame.page(
        "overview.html",
        title="Home",
        section="/home",
        now=visitor.now,
        queue=queue,
        questions=queue.rows[:MOST_QUESTIONS],
        active=active,
        most_active=MOST_ACTIVE,
        blocked=blocked[:MOST_BLOCKED],
        more_blocked=len(blocked) > MOST_BLOCKED,
        resting=await _resting(visitor, newest.rows),
        standing=await _standing(visitor),
        most_backlogs=MOST_BACKLOGS,
        today=today,
        week=week,
        charts=(("Today", today, _chart(today, "today, by hour")), ("Last 7 days", week, _chart(week, "by day"))),
        is_whole=week_is_whole(newest.rows, now, is_end=newest.is_end),
        most_priced=MOST_PRICED,
    )


async def _resting(visitor: PageContext, rows: Sequence[StoredPlan]) -> list[tuple[PlanRecord, Rest]]:
    """Return the newest active plans that rest because their model is away, of as many as are looked at."""
    queue, now = visitor.client.services.store.queue, visitor.now
    active = [one.plan for one in rows if not one.plan.status.is_final and one.plan.blocked is None]
    found = [(plan, await queue.find_rest(plan.agent, plan.plan_id, now)) for plan in active[:MOST_LOOKED_AT]]
    return [(plan, rest) for plan, rest in found if rest is not None]


def _chart(costs: Costs, by: str) -> Markup:
    return Markup(draw_bars(costs.bars, f"Cost of plans {by}: {costs.total}", costs.most)) if costs.most else Markup()


async def _standing(visitor: PageContext) -> TenantStats | None:
    """Return the queues of the tenant; None where the visitor may not see them."""
    try:
        standing, _ = await visitor.surroundings.counts.of(visitor.client.services, visitor.client.person)
    except Forbidden:
        return None
    return standing


ROUTES: tuple[PageRoute, ...] = (get("/home", show_overview),)
