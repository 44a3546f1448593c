"""Readers of links: those made here, and others."""

import re
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.records import Link

# Scheme, host and port, and none of the signs that mean more in a policy.
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?")


class ReadsLinks(Protocol):
    def read(self, token: str, now: datetime) -> Link:
        """Return the signed content of a token. Raise Unauthenticated."""
        ...


class LinkReader(Struct, frozen=True):
    """Reads links: those made here, still to be listed, and `others`. Pages of the sites `embed_in` may show their
    pages."""

    own: Links
    others: ReadsLinks | None
    embed_in: tuple[str, ...]

    def read(self, token: str, now: datetime) -> tuple[Link, bool]:
        """Return the content of a link, and whether it has to be listed. Raise Unauthenticated."""
        try:
            return self.own.read(token, now), True
        except Unauthenticated:
            if self.others is None:
                raise
        return self.others.read(token, now), False


def check_site(origin: str) -> str:
    """Return an origin as a policy names it. Raise ConfigError for anything else, which could loosen the policy."""
    if _ORIGIN.fullmatch(origin) is None:
        raise ConfigError(f"embed_in={origin!r} is no site: give its scheme and host, as https://shop.example")
    return origin
