"""Pages by their subject. Each module has its ROUTES; the site gathers them."""

from soorma_ai.console.pages import agents, plans
from soorma_ai.console.visitor import PageRoute

ROUTES: tuple[PageRoute, ...] = (*plans.ROUTES, *agents.ROUTES)
