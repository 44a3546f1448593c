"""Doors: other protocols that are spoken over HTTP, beside our own, for callers whom the server has let in."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Visit(Struct, frozen=True):
    """One call at a door. `client` has the calls of who calls; it is None on a path that everybody may read. Within
    `follow(root_plan_id)` an event is set whenever something came for that tree of plans."""

    services: Services
    client: Client | None
    follow: Callable[[str], AbstractContextManager[asyncio.Event]]
    asks_for_token: bool


@runtime_checkable
class Door(Protocol):
    """An ASGI application at some paths of a server. The server says who calls, reads the body up to its bound, leaves
    who reads nothing, and ends what still goes on when it ends itself."""

    @property
    def paths(self) -> Collection[str]:
        """Paths for who has a token, as /a2a/tasks/{id}."""
        ...

    @property
    def public_paths(self) -> Collection[str]:
        """Paths that everybody may read."""
        ...

    async def serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None: ...
