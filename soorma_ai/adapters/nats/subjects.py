"""Subjects of events: what permissions of NATS are given by, and what an event that comes in must agree with."""

import hashlib
from urllib.parse import quote

from soorma_ai.domain.events import EventEnvelope

# A server ends the connection for a line over 4,096 bytes, on which the address of the reply stands too.
LONGEST_SUBJECT = 3_000

# What no name is quoted to, so that it stands for the empty one, which no token may be.
_EMPTY = "%"


def token(name: str) -> str:
    """Return the name as one token of a subject: letters, digits, `-`, `_` and `~` as they are, all else quoted as in
    URLs, by its bytes in UTF-8. No two names have the same one."""
    return quote(name, safe="", errors="surrogatepass").replace(".", "%2E") or _EMPTY


def subject_of(namespace: str, store_id: str, event: EventEnvelope) -> str:
    """Return `namespace.store.tenant.topic.type`."""
    return ".".join((namespace, *map(token, (store_id, event.tenant_id, event.topic, event.type))))


def message_id(subject: str, body: bytes, redriven: int) -> str:
    """Return the name by which a server knows what is sent twice. It is made of the whole event and its subject, where
    store and tenant stand: the same id is another event elsewhere, and nobody can use the name up before, whose
    headers no permission bounds. What is redriven is sent once more."""
    return f"{redriven}.{_digest(subject, body)}"


def is_named_so(message_id: str, subject: str, body: bytes) -> bool:
    """Tell whether a message was named by us, however often it was redriven."""
    return message_id.partition(".")[2] == _digest(subject, body)


def subjects_of(namespace: str, store_id: str | None = None) -> str:
    """Return the pattern of all subjects of a namespace, or of those of one store in it."""
    return f"{namespace}.>" if store_id is None else f"{namespace}.{token(store_id)}.>"


def _digest(subject: str, body: bytes) -> str:
    return hashlib.sha256(subject.encode() + b"\n" + body).hexdigest()
