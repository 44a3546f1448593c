"""Subjects of events: what permissions of NATS are given by, and what an event that comes in must agree with."""

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


def subjects_of(namespace: str, store_id: str | None = None) -> str:
    """Return the pattern of all subjects of a namespace, or of those of one store in it."""
    return f"{namespace}.>" if store_id is None else f"{namespace}.{token(store_id)}.>"
