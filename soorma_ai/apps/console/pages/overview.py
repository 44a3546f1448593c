"""The front page: open questions, plans, trouble and cost."""

from collections.abc import Sequence
from datetime import timedelta

from markupsafe import Markup
from starlette.types import ASGIApp

from soorma_ai.api.server.tenant_stats import TenantStats
from soorma_ai.apps.console.overview import DAYS, Costs, costs_of_today, costs_of_week, week_of
from soorma_ai.errors import Forbidden
from soorma_ai.features.human_tasks.pages.inbox import read_queue
from soorma_ai.features.tracking.ports import PLAN_FIGURES, PLAN_LISTS, PlanFilter, StoredPlan
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus, Rest
from soorma_ai.kernel.rules.authority import only_user
from soorma_ai.surfaces.drawing.bars import draw_bars
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get

MOST_QUESTIONS = 5
MOST_COUNTED = 10_000
MOST_PRICED = 5_000  # plans, for the costs of their calls
MOST_BLOCKED = 5
MOST_BACKLOGS = 5
MOST_LOOKED_AT = 10  # active plans, for their rests
ACTIVE = PlanFilter((PlanStatus.PENDING, PlanStatus.RUNNING, PlanStatus.PAUSED))


async def show_overview(visitor: PageContext) -> ASGIApp:
    """Show figures of reads that are bounded, however much there is. A figure beyond its bound has a mark."""
    client, person = visitor.client, visitor.client.person
    store, whose = client.services.store, (person.tenant_id, only_user(person))
    queue = await read_queue(visitor)
    figures, now = store.part(PLAN_FIGURES), visitor.now.astimezone()
    calls = await figures.costs_of_calls(*whose, week_of(now), MOST_PRICED)
    newest = await store.part(PLAN_LISTS).plan_page(*whose, ACTIVE, 0, MOST_LOOKED_AT)
    blocked = await store.plans.blocked_plans(MOST_BLOCKED + 1, tenant_id=whose[0], user_id=whose[1])
    today, week = costs_of_today(calls.minutes, now), costs_of_week(calls.minutes, now)
    return visitor.frame.page(
        "overview.html",
        title="Home",
        section="/home",
        now=visitor.now,
        queue=queue,
        questions=queue.rows[:MOST_QUESTIONS],
        active=await figures.count_active(*whose, MOST_COUNTED),
        failed=await figures.count_failed(*whose, visitor.now - timedelta(days=DAYS), MOST_COUNTED),
        most_counted=MOST_COUNTED,
        blocked=blocked[:MOST_BLOCKED],
        more_blocked=len(blocked) > MOST_BLOCKED,
        resting=await _resting(visitor, newest.rows),
        standing=await _standing(visitor),
        most_backlogs=MOST_BACKLOGS,
        charts=(("Today", today, _chart(today, "today, by hour")), ("Last 7 days", week, _chart(week, "by day"))),
        is_whole=calls.is_whole,
        most_priced=MOST_PRICED,
    )


async def _resting(visitor: PageContext, rows: Sequence[StoredPlan]) -> list[tuple[PlanRecord, Rest]]:
    """Return the plans among these that rest because their model is away."""
    queue, now = visitor.client.services.store.queue, visitor.now
    plans = [one.plan for one in rows if one.plan.blocked is None]
    found = [(plan, await queue.find_rest(plan.agent, plan.plan_id, now)) for plan in plans]
    return [(plan, rest) for plan, rest in found if rest is not None]


def _chart(costs: Costs, by: str) -> Markup:
    return Markup(draw_bars(costs.bars, f"Cost of calls {by}: {costs.total}", costs.most)) if costs.most else Markup()


async def _standing(visitor: PageContext) -> TenantStats | None:
    """Return the queues of the tenant; None where the visitor may not see them."""
    try:
        standing, _ = await visitor.surroundings.counts.of(visitor.client.services, visitor.client.person)
    except Forbidden:
        return None
    return standing


ROUTES: tuple[PageRoute, ...] = (get("/home", show_overview),)
