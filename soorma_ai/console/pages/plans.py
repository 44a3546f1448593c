"""Plans: all of them, and one."""

from starlette.types import ASGIApp

from soorma_ai.console.visitor import PageRoute, Visitor, get


async def list_plans(visitor: Visitor) -> ASGIApp:
    return visitor.frame.page("plans.html", title="Plans", section="/plans", plans=await visitor.client.plans())


ROUTES: tuple[PageRoute, ...] = (get("/plans", list_plans),)
