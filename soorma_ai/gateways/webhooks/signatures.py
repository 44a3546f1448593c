"""Signatures of webhooks, by kind of sender. Each is an HMAC with SHA-256 over the received bytes.

With a signed moment, an old post is refused, so a recorded one cannot be replayed for long; within that time it is the
same delivery by its id.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, cast

from soorma_ai.agents.mounts import Post
from soorma_ai.errors import ConfigError, Unauthenticated

TOLERANCE = timedelta(minutes=5)

_PREFIX = "whsec_"
_SHORTEST_KEY = 16


class Verifier(Protocol):
    """Check of a post's signature by a shared secret."""

    def verify(self, post: Post, now: datetime) -> str:
        """Return the sender's id of the delivery, the same for every try. Raise Unauthenticated."""
        ...


@dataclass(frozen=True)
class StandardWebhooks:
    """Posts signed as standardwebhooks.com has it. `secret` begins with `whsec_`; several may be given while one takes
    the place of the other."""

    secret: str | tuple[str, ...] = field(repr=False)
    tolerance: timedelta = TOLERANCE

    def __post_init__(self) -> None:
        _ = self._keys

    @property
    def _keys(self) -> list[bytes]:
        return [key_of(one) for one in ((self.secret,) if isinstance(self.secret, str) else self.secret)]

    def sign(self, message_id: str, body: bytes, now: datetime) -> dict[str, str]:
        """Return the headers of the signature; one signature for each secret."""
        at = str(int(now.timestamp()))
        signed = [f"v1,{_base64(_mac(key, f'{message_id}.{at}.'.encode() + body))}" for key in self._keys]
        return {"webhook-id": message_id, "webhook-timestamp": at, "webhook-signature": " ".join(signed)}

    def verify(self, post: Post, now: datetime) -> str:
        message_id, at = post.header("webhook-id"), post.header("webhook-timestamp")
        _must_be_recent(at, now, self.tolerance)
        content = f"{message_id}.{at}.".encode() + post.body
        given = [
            part.removeprefix("v1,") for part in post.header("webhook-signature").split() if part.startswith("v1,")
        ]
        _must_fit(given, (_base64(_mac(key, content)) for key in self._keys))
        return message_id


@dataclass(frozen=True)
class GitHub:
    """Posts of GitHub. Its `X-GitHub-Delivery` is not signed, so a delivery is known by the digest of its signed body:
    the same body under another id is the same event, and another body under the same id is another event."""

    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        _must_be_long_enough(self.secret)

    def verify(self, post: Post, now: datetime) -> str:
        given = post.header("x-hub-signature-256").removeprefix("sha256=")
        _must_fit([given], [_mac(self.secret.encode(), post.body).hex()])
        return hashlib.sha256(post.body).hexdigest()


@dataclass(frozen=True)
class Stripe:
    """Posts of Stripe."""

    secret: str = field(repr=False)
    tolerance: timedelta = TOLERANCE

    def __post_init__(self) -> None:
        _must_be_long_enough(self.secret)

    def verify(self, post: Post, now: datetime) -> str:
        parts = [part.strip().partition("=") for part in post.header("stripe-signature").split(",")]
        at = next((value for name, _, value in parts if name == "t"), "")
        _must_be_recent(at, now, self.tolerance)
        given = [value for name, _, value in parts if name == "v1"]
        _must_fit(given, [_mac(self.secret.encode(), f"{at}.".encode() + post.body).hex()])
        return _id_in(post.body, "id")


@dataclass(frozen=True)
class Slack:
    """Posts of Slack: events, with an id, and commands, each post one of its own."""

    secret: str = field(repr=False)
    tolerance: timedelta = TOLERANCE

    def __post_init__(self) -> None:
        _must_be_long_enough(self.secret)

    def verify(self, post: Post, now: datetime) -> str:
        at = post.header("x-slack-request-timestamp")
        _must_be_recent(at, now, self.tolerance)
        given = post.header("x-slack-signature").removeprefix("v0=")
        _must_fit([given], [_mac(self.secret.encode(), f"v0:{at}:".encode() + post.body).hex()])
        return _id_in(post.body, "event_id")


def key_of(secret: str) -> bytes:
    """Return the key of a secret with `whsec_`. Raise ConfigError."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise ConfigError(f"the secret of a webhook is {_PREFIX} and a key in base64, which this is not") from error
    if not secret.startswith(_PREFIX) or len(key) < _SHORTEST_KEY:
        raise ConfigError(f"the secret of a webhook is {_PREFIX} and at least {_SHORTEST_KEY} bytes in base64")
    return key


def _must_be_long_enough(secret: str) -> None:
    if len(secret) < _SHORTEST_KEY:
        raise ConfigError(f"the secret of a hook has {len(secret)} characters; {_SHORTEST_KEY} are the least")


def _must_be_recent(at: str, now: datetime, tolerance: timedelta) -> None:
    """Raise Unauthenticated for an old or future moment, in seconds of Unix time."""
    seconds = int(at) if at.isascii() and at.isdigit() and len(at) < 12 else None
    if seconds is None:
        raise Unauthenticated("the timestamp is not in seconds")
    away = abs(now.timestamp() - seconds)
    if away > tolerance.total_seconds():
        raise Unauthenticated(
            f"the timestamp is {away:.0f} s away from now; {tolerance.total_seconds():.0f} are allowed"
        )


def _must_fit(given: Iterable[str], expected: Iterable[str]) -> None:
    wanted = [one.encode() for one in expected]
    fits = [hmac.compare_digest(one.encode(), other) for one in given for other in wanted]
    if not any(fits):
        raise Unauthenticated("the signature does not fit: the secret differs, or the body was changed")


def _id_in(body: bytes, name: str) -> str:
    """Return the id of a signed body; without one, the body's own name."""
    try:
        found: object = json.loads(body)
    except ValueError:
        found = None
    value = cast("dict[str, object]", found).get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) and value else hashlib.sha256(body).hexdigest()


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.new(key, content, hashlib.sha256).digest()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
