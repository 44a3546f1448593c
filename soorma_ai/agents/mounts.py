"""Agents that a server mounts: doors, for other protocols of known callers, and inlets, for posts without a token."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.values import JsonObject
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


class Post(Struct, frozen=True):
    """What was posted. Names of `headers` are in lower case; `in_path` are the parts of the path that have names."""

    headers: Mapping[str, str]
    body: bytes
    in_path: Mapping[str, str] = field(default_factory=dict[str, str])

    def header(self, name: str) -> str:
        """Return a header. Raise Unauthenticated where it is missing."""
        found = self.headers.get(name)
        if not found:
            raise Unauthenticated(f"the header {name} is missing")
        return found


@runtime_checkable
class Inlet(Protocol):
    @property
    def path(self) -> str:
        """The path to which is posted, as /v1/hooks/bank or /v1/answers/{token}."""
        ...

    async def take(self, post: Post) -> JsonObject:
        """Take what was posted, and return what its sender is told. Raise Unauthenticated for who is not known."""
        ...
