"""Requests of MCP Events by the protocol's own client."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import NotificationParams, Request
from pydantic import ConfigDict, TypeAdapter

from soorma_ai.gateways.mcp.events.messages import EXTENSION

Json = dict[str, Any]
_ANY: TypeAdapter[Json] = TypeAdapter(Json)


async def call(client: Client, method: str, **params: Any) -> Json:
    request: Any = Request[Json, str](method=method, params=params)
    return await client.session.send_request(request, _ANY)


class _Frame(NotificationParams):
    model_config = ConfigDict(extra="allow")


class Frames(ClientExtension):
    """Extension of a client: keeps the notifications of its streams, as (kind, params)."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[str, Json]] = asyncio.Queue()

    def notifications(self) -> list[NotificationBinding[Any]]:
        return [self._binding(kind) for kind in ("active", "event", "heartbeat")]

    def _binding(self, kind: str) -> NotificationBinding[Any]:
        async def keep(params: _Frame) -> None:
            await self.queue.put((kind, params.model_dump(mode="json", by_alias=True)))

        return NotificationBinding(method=f"notifications/events/{kind}", params_type=_Frame, handler=keep)

    async def next(self, kind: str) -> Json:
        """Return the next notification of a kind; those of others are left out."""
        async with asyncio.timeout(20):
            while True:
                found, params = await self.queue.get()
                if found == kind:
                    return params


@asynccontextmanager
async def streaming(client: Client, **params: Any) -> AsyncGenerator[None]:
    reading = asyncio.create_task(call(client, "events/stream", **params))
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
