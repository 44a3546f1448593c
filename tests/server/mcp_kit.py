"""The protocol's own client for a gateway over a socket."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from soorma_ai import Agent, Platform
from soorma_ai.api.server.serve import listen, serve, url_of
from soorma_ai.gateways.mcp import McpGateway
from soorma_ai.server import app

PATIENCE = 20.0


@asynccontextmanager
async def serve_mcp(platform: Platform, *agents: Agent, auth: Any = None, **options: Any) -> AsyncGenerator[str]:
    """Serve a platform with an open gateway, and yield its URL."""
    gateway = McpGateway(**options)
    await platform.start(gateway, *agents)
    listener, until, begun = listen("127.0.0.1", 0, is_open=auth is None), asyncio.Event(), asyncio.Event()
    application = app(platform, auth=auth, doors=[gateway], rate=None)
    serving = asyncio.create_task(serve(application, listener, until, begun.set))
    await asyncio.wait_for(begun.wait(), PATIENCE)
    try:
        yield url_of(listener)
    finally:
        until.set()
        await asyncio.wait_for(serving, PATIENCE)


@asynccontextmanager
async def connect_mcp(url: str, token: str, **options: Any) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http,
        Client(
            streamable_http_client(f"{url}/mcp", http_client=http), read_timeout_seconds=PATIENCE, **options
        ) as client,
    ):
        yield client
