"""A shop with an example of every situation, and its pages."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console_kit import SECRET, ask, key_for, shop, site
from kit import the_wait, until

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.api.server.serve import listen, serve, url_of
from soorma_ai.gateways.user_agent import Links
from soorma_ai.surfaces.secret import link_secret
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish


@dataclass(frozen=True)
class Tour:
    """`token` is an operator's and a manager's, `nobodys` a token without open questions. `pages` are paths by name."""

    url: str
    token: str
    nobodys: str
    pages: dict[str, str]


def carrier() -> Tool:
    tool = Tool("carrier", description="Brings parcels.")

    @tool.on_invoke("parcel.bring.requested", description="Bring a parcel.")
    async def bring(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if request.data.get("to") == "nowhere":
            raise ValueError("there is no street of this name")
        return {"brought": True}

    return tool


def courier() -> ChoreographyPlanner:
    script = [publish("parcel.bring.requested", to="Lindenweg 4"), publish("parcel.bring.requested", to="nowhere")]
    reasoner = ScriptedReasoner([*script, complete({"brought": 1})], usd_per_token=0.0002)
    return ChoreographyPlanner("courier", goals=["parcels.sent"], reasoner=reasoner, title="Parcels of {order_id}")


@asynccontextmanager
async def served(platform: Platform, *, is_open: bool = False) -> AsyncGenerator[str]:
    """Yield the address of the console of a platform."""
    stop, has_begun = asyncio.Event(), asyncio.Event()
    listener = listen("127.0.0.1", 0, is_open=False)
    address = url_of(listener)
    serving = asyncio.create_task(serve(site(platform, is_open=is_open), listener, stop, has_begun.set))
    await has_begun.wait()
    try:
        yield address
    finally:
        stop.set()
        await serving


async def path_of_link(platform: Platform, kind: Any, about: str = "") -> str:
    """Return the path for maria's answer without a sign-in."""
    made = (await platform.inbox.make_link(kind, about, user_id="maria", roles={"manager"})).made
    return Links(link_secret(SECRET)).path(made.link).replace("/v1/", "/")


@asynccontextmanager
async def run_tour(folder: Path) -> AsyncGenerator[tuple[Platform, Tour]]:
    async with Platform(f"sqlite:///{folder / 'tour.db'}") as platform:
        await platform.start(*shop(), carrier(), courier())
        plan = await platform.submit("order.received", {"order_id": "4711"})
        await the_wait(platform)
        for data in ({"payee": "Paper & Sons", "amount": 2200.0, "order_id": "4712"}, {"order_id": "4713"}):
            await ask(platform, **data)
        sent = await platform.submit("parcels.sent", {"order_id": "4711"})
        await sent.result(timeout=60)
        await until(platform, platform.dead_letters)
        (letter,) = await platform.dead_letters()
        question = (await platform.waits())[0].wait_id
        queue = await path_of_link(platform, "inbox")
        pages = {
            "home": "/home",
            "inbox": "/inbox",
            "question": f"/inbox/{question}",
            "absence": "/away",
            "plans": "/plans",
            "plan": f"/plans/{sent.plan_id}",
            "waiting": f"/plans/{plan.plan_id}",
            "requests": "/requests",
            "request": f"/requests/{(await platform.tracker.requests())[-1].action_id}",
            "decision": f"/plans/{sent.plan_id}/decisions/1",
            "trials": "/trials",
            "trial": f"/trials/{sent.plan_id}",
            "agents": "/agents",
            "agent": "/agent?name=payments",
            "doubts": "/doubts",
            "letters": "/dead-letters",
            "letter": f"/dead-letters/{letter.letter_id}",
            "choreography": "/choreography",
            "nothing": "/plans?search=nothing",
            "error": "/plans/none",
            "question by a link": await path_of_link(platform, "question", question),
            "questions by a link": queue,
            "one of these": f"{queue}/{question}",
        }
        tokens = [await key_for(platform, "maria", "manager", "operator"), await key_for(platform, "nora")]
        async with served(platform) as url:
            yield platform, Tour(url, *tokens, pages)
