"""Pages by their subject. Each module has its ROUTES; the site gathers them."""

from soorma_ai.console.pages import agents, away, inbox, letters, links, plans
from soorma_ai.console.visitor import PageRoute

ROUTES: tuple[PageRoute, ...] = (
    *inbox.ROUTES,
    *away.ROUTES,
    *links.ROUTES,
    *plans.ROUTES,
    *agents.ROUTES,
    *letters.ROUTES,
)
