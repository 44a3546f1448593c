"""Inlets for posts without a token: the sender is known by the post itself."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.values import JsonObject


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
