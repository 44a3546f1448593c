"""Links by which one person answers one question, without any other way to say who they are.

What a link says is signed, not hidden: whoever has it can read for whom it is, and answer as them until it ends.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from soorma_ai.domain.people import Person
from soorma_ai.errors import ConfigError, Unauthenticated

_SHORTEST_SECRET = 32


@dataclass(frozen=True)
class Links:
    """`secret` has 32 characters or more; `base_url` is where the answers come in, as https://soorma.example.com."""

    secret: str = field(repr=False)
    base_url: str

    def __post_init__(self) -> None:
        if len(self.secret) < _SHORTEST_SECRET:
            raise ConfigError(
                f"the secret of links has {len(self.secret)} characters; {_SHORTEST_SECRET} are the least"
            )

    def link(self, wait_id: str, person: Person, until: datetime) -> str:
        return f"{self.base_url.rstrip('/')}/v1/answers/{self.token(wait_id, person, until)}"

    def token(self, wait_id: str, person: Person, until: datetime) -> str:
        """Raise ConfigError for the root, who is asked for no role: links are for people."""
        if person.roles is None:
            raise ConfigError("a link is for a person with roles, of which there may be none; the root needs no link")
        said = [wait_id, person.tenant_id, person.user_id, sorted(person.roles), int(until.timestamp())]
        text = _spell(json.dumps(said, separators=(",", ":")).encode())
        return f"{text}.{self._sign(text)}"

    def read(self, token: str, now: datetime) -> tuple[str, Person]:
        """Return the question and who answers it. Raise Unauthenticated for a token that is not ours, or has ended."""
        text, _, signature = token.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(text).encode()):
            raise Unauthenticated("this link is not one of ours; open it as it was sent")
        wait_id, tenant, user, roles, until = cast("tuple[str, str, str, list[str], int]", json.loads(_read(text)))
        if now >= datetime.fromtimestamp(until, UTC):
            raise Unauthenticated("this link has ended; ask for another, or answer in another way")
        return wait_id, Person(tenant, user, frozenset(roles))

    def _sign(self, text: str) -> str:
        return _spell(hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).digest())


def _spell(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise Unauthenticated("this link is broken; open it as it was sent") from error
