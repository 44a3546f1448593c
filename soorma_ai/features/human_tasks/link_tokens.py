"""Links for one person's answers, without any other proof of identity.

The content of a link is signed, not hidden: its holder can read its person, and answer as them until it ends.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.features.human_tasks.records import Link, LinkKind

_SHORTEST_SECRET = 32
_PAGES: dict[LinkKind, str] = {"question": "v1/answers", "plan": "queue", "inbox": "queue", "session": ""}


@dataclass(frozen=True)
class Links:
    """`secret` has 32 characters or more; `base_url` is where the answers come in, as https://soorma.example.com."""

    secret: str = field(repr=False)
    base_url: str = ""

    def __post_init__(self) -> None:
        if len(self.secret) < _SHORTEST_SECRET:
            raise ConfigError(
                f"the secret of links has {len(self.secret)} characters; {_SHORTEST_SECRET} are the least"
            )

    def url(self, link: Link) -> str:
        return f"{self.base_url.rstrip('/')}{self.path(link)}"

    def path(self, link: Link) -> str:
        """Return where a link is opened, below the address of the server."""
        return f"/{_PAGES[link.kind]}/{self.token(link)}"

    def token(self, link: Link) -> str:
        moments = (int(one.timestamp() * 1000) for one in (link.made_at, link.until))
        said = [link.kind, link.about, link.tenant_id, link.user_id, sorted(link.roles), *moments]
        text = _spell(json.dumps(said, separators=(",", ":")).encode())
        return f"{text}.{self._sign(text)}"

    def read(self, token: str, now: datetime) -> Link:
        """Raise Unauthenticated for a token that is not ours, or has ended."""
        text, _, signature = token.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(text).encode()):
            raise Unauthenticated("this link is not one of ours; open it as it was sent")
        said = cast("tuple[LinkKind, str, str, str, list[str], int, int]", json.loads(_read(text)))
        kind, about, tenant, user, roles, made, until = said
        link = Link(kind, about, tenant, user, frozenset(roles), _moment(made), _moment(until))
        if now >= link.until:
            raise Unauthenticated("this link has ended; ask for another, or answer in another way")
        return link

    def _sign(self, text: str) -> str:
        """The prefix keeps a secret that seals other things as well from sealing one as the other."""
        return _spell(hmac.new(self.secret.encode(), f"link {text}".encode(), hashlib.sha256).digest())


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _spell(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise Unauthenticated("this link is broken; open it as it was sent") from error
