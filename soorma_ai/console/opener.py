"""Links, read: those that are made here, and others."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from soorma_ai.adapters.tokens.links import Links
from soorma_ai.domain.inbox import Link
from soorma_ai.errors import Unauthenticated


class ReadsLinks(Protocol):
    def read(self, token: str, now: datetime) -> Link:
        """Return what a token was signed to. Raise Unauthenticated."""
        ...


class Opener(Struct, frozen=True):
    """Reads links: those that are made here, which have to be listed still, and `others`. Pages of the sites `embed_in`
    may show what they open."""

    own: Links
    others: ReadsLinks | None
    embed_in: tuple[str, ...]

    def read(self, token: str, now: datetime) -> tuple[Link, bool]:
        """Return what a link opens, and whether it has to be listed. Raise Unauthenticated."""
        try:
            return self.own.read(token, now), True
        except Unauthenticated:
            if self.others is None:
                raise
        return self.others.read(token, now), False
