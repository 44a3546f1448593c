"""Where the identity of a caller comes from."""

from typing import Protocol

from soorma_ai.domain.identity import Caller


class Authenticator(Protocol):
    async def authenticate(self, token: str) -> Caller:
        """Return who a bearer token stands for. Raise Unauthenticated for one that is unknown, expired or revoked."""
        ...
