"""Pages by their subject. Each module has its ROUTES; the site gathers them."""

from soorma_ai.apps.console.pages import agents, dead_letters, inbox, plans
from soorma_ai.features.human_tasks.pages import away, links
from soorma_ai.surfaces.page_context import PageRoute

ROUTES: tuple[PageRoute, ...] = (
    *inbox.ROUTES,
    *away.ROUTES,
    *links.ROUTES,
    *plans.ROUTES,
    *agents.ROUTES,
    *dead_letters.ROUTES,
)
