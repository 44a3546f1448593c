"""Agents that a server mounts: doors, for other protocols of known callers, and inlets, for posts without a token."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import TokenSources
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Visit(Struct, frozen=True):
    """Call at a mount. `client` has the caller's calls; it is None on a public path. Within `follow(root_plan_id)` an
    event is set at every event of this tree of plans. `tokens` are the origins of tokens, None for calls without."""

    services: Services
    client: Client | None
    follow: Callable[[str], AbstractContextManager[asyncio.Event]]
    tokens: TokenSources | None = None


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


class Post(Struct, frozen=True):
    """HTTP post at an inlet. Names of `headers` are in lower case; `in_path` are the named parts of the path."""

    headers: Mapping[str, str]
    body: bytes
    in_path: Mapping[str, str] = field(default_factory=dict[str, str])

    def header(self, name: str) -> str:
        """Return a header. Raise Unauthenticated for a missing one."""
        found = self.headers.get(name)
        if not found:
            raise Unauthenticated(f"the header {name} is missing")
        return found


@runtime_checkable
class Inlet(Protocol):
    @property
    def path(self) -> str:
        """Return the path for posts, as /v1/hooks/bank or /v1/answers/{token}."""
        ...

    async def take(self, post: Post) -> JsonObject:
        """Take a post, and return the answer for its sender. Raise Unauthenticated for an unknown sender."""
        ...
