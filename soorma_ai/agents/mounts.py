"""Mounts: other protocols over HTTP, beside the platform's own, for authenticated callers."""

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
    """Call at a mount. `client` has the caller's calls; it is None on a public path. Within `follow(root_plan_id)` an
    event is set at every event of this tree of plans."""

    services: Services
    client: Client | None
    follow: Callable[[str], AbstractContextManager[asyncio.Event]]
    asks_for_token: bool


@runtime_checkable
class Door(Protocol):
    """ASGI application at some paths of a server. The server authenticates callers, reads the body up to its bound,
    drops slow readers, and ends open calls at its own end."""

    @property
    def paths(self) -> Collection[str]:
        """Return paths for callers with a token, as /a2a/tasks/{id}."""
        ...

    @property
    def public_paths(self) -> Collection[str]:
        """Return public paths."""
        ...

    async def serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None: ...
