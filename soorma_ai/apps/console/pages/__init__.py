"""Pages by their subject. Each module, here or in a feature, has its ROUTES; the console gathers them."""

from soorma_ai.apps.console.pages import agents, overview, plans, requests
from soorma_ai.features.dead_letters import pages as dead_letters
from soorma_ai.features.human_tasks.pages import away, inbox, links
from soorma_ai.features.trials import pages as trials
from soorma_ai.surfaces.page_context import PageRoute

ROUTES: tuple[PageRoute, ...] = (
    *overview.ROUTES,
    *inbox.ROUTES,
    *away.ROUTES,
    *links.ROUTES,
    *plans.ROUTES,
    *requests.ROUTES,
    *agents.ROUTES,
    *dead_letters.ROUTES,
    *trials.ROUTES,
)
