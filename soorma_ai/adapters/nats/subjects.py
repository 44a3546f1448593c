"""Subjects of events: NATS permissions are given by them, and an incoming event must agree with its own."""

import hashlib
from urllib.parse import quote, unquote

from soorma_ai.kernel.domain.events import EventEnvelope

# A server ends the connection for a line over 4,096 bytes, on which the address of the reply stands too.
LONGEST_SUBJECT = 3_000

# What no name is quoted to, so that it stands for the empty one, which no token may be.
_EMPTY = "%"
_SHARED = "%%"
_TOKENS_BETWEEN = 6
# In the place of a store's id, which is a UUID.
REGISTRY = "registry"


def token(name: str) -> str:
    """Return the name as one token of a subject: letters, digits, `-`, `_` and `~` as they are, all else quoted as in
    URLs, by its bytes in UTF-8. No two names have the same one."""
    return quote(name, safe="", errors="surrogatepass").replace(".", "%2E") or _EMPTY


def subject_of(namespace: str, store_id: str, event: EventEnvelope) -> str:
    """Return `namespace.store.tenant.topic.type`."""
    return ".".join((namespace, *map(token, (store_id, event.tenant_id, event.topic, event.type))))


def subject_between(namespace: str, store_id: str, event: EventEnvelope, sender: str) -> str:
    """Return the subject of an event from a store to another: that of the event there, and behind it the sender, so a
    permission can bound the sender."""
    return f"{subject_of(namespace, store_id, event)}.{token(sender)}"


def sender_of(subject: str) -> str | None:
    """Return the store that has sent it, None where that is not said."""
    parts = subject.split(".")
    if len(parts) != _TOKENS_BETWEEN:
        return None
    return "" if parts[5] == _EMPTY else unquote(parts[5], errors="surrogatepass")


def registry_subject(namespace: str, store_id: str, tenant_id: str | None) -> str:
    """Return the subject for a store's announcements of agents, a tenant's or the shared ones."""
    return f"{namespace}.{REGISTRY}.{token(store_id)}.{_SHARED if tenant_id is None else token(tenant_id)}"


def message_id(subject: str, body: bytes, redriven: int) -> str:
    """Return the id for the server's detection of duplicates. It is made of the whole event and its subject, with store
    and tenant: the same id is another event in another place, and a foreign client cannot use the id up before,
    although no permission bounds its headers. A redriven event is sent once more."""
    return f"{redriven}.{_digest(subject, body)}"


def is_named_so(message_id: str, subject: str, body: bytes) -> bool:
    """Tell whether a message was named by us, however often it was redriven."""
    return message_id.partition(".")[2] == _digest(subject, body)


def subjects_of(namespace: str, store_id: str | None = None) -> str:
    """Return the pattern of all subjects of a namespace, or of those of one store in it."""
    return f"{namespace}.>" if store_id is None else f"{namespace}.{token(store_id)}.>"


def _digest(subject: str, body: bytes) -> str:
    return hashlib.sha256(subject.encode() + b"\n" + body).hexdigest()
