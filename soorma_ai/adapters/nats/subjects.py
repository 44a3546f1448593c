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


def subject_of(namespace: str, event: EventEnvelope) -> str:
    """Return `namespace.tenant.topic.type`."""
    return ".".join((namespace, token(event.tenant_id), token(event.topic), token(event.type)))


def subjects_of(namespace: str) -> str:
    """Return the pattern of all subjects of a namespace."""
    return f"{namespace}.>"
