"""A platform reached in three ways, and what is asked of it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from soorma_ai import Approval, AsyncClient, Platform, PlatformClient, Tool
from soorma_ai.server import app
from soorma_ai.server.serving import listen, serve, url_of

ROLES = ("manager",)
IN_PROCESS, IN_MEMORY, BY_SOCKET = "in process", "ASGI", "socket"
WAYS = (IN_PROCESS, IN_MEMORY, BY_SOCKET)
OVER_HTTP = (IN_MEMORY, BY_SOCKET)


@asynccontextmanager
async def served(platform: Platform) -> AsyncGenerator[str]:
    """The URL of a platform that is served while the block lasts."""
    stop, started = asyncio.Event(), asyncio.Event()
    listener = listen("127.0.0.1", 0, is_open=True)
    url = url_of(listener)
    serving = asyncio.create_task(serve(app(platform, roles=ROLES), listener, stop, started.set))
    try:
        await started.wait()
        yield url
    finally:
        stop.set()
        await serving


@asynccontextmanager
async def reached(platform: Platform, way: str, **options: Any) -> AsyncGenerator[PlatformClient]:
    """A client of a platform, by one of the `WAYS`, as `local`, who is operator and manager."""
    if way == IN_PROCESS:
        yield platform.as_user(tenant_id="default", user_id="local", roles={"operator", *ROLES})
    elif way == IN_MEMORY:
        transport = httpx.ASGITransport(app(platform, roles=ROLES), client=("127.0.0.1", 5000))
        async with AsyncClient("http://127.0.0.1:8700", transport=transport, **options) as client:
            yield client
    else:
        async with served(platform) as url, AsyncClient(url, **options) as client:
            yield client


def delivery(approval: Approval) -> Tool:
    """A tool whose goods a person lets go."""
    tool = Tool("delivery")

    @tool.on_invoke("goods.deliver.requested", approval=approval)
    async def deliver(request: Any, context: Any) -> dict[str, Any]:
        return {"delivered": True}

    return tool
