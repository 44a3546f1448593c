"""Stores on a shared bus: their announcements, and the mailboxes of events for other stores."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec import field

from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import Registration

MAILBOX = "store:"
# What a store tells another of what it has taken, and what it tells of a request of its own that no store has taken.
RECEIPT = "store.receipt"
REQUEST_UNKNOWN = "request.unknown"


def mailbox_of(store_id: str) -> str:
    """Return the inbox name of a store's mailbox: events wait there for the transport to that store."""
    return MAILBOX + store_id


def store_of_mailbox(name: str) -> str | None:
    """Return the store of this mailbox; None: it is an agent's name."""
    return name.removeprefix(MAILBOX) if name.startswith(MAILBOX) else None


class Receipt(Record, frozen=True):
    """Ids accepted by a store from another, and ids refused for good, each with its reason."""

    taken: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


class Confirmation(Record, frozen=True):
    """Outcome of another store's event: accepted, or refused for a reason."""

    store: str
    tenant_id: str
    event_id: str
    refused: str | None = None


class Home(Record, frozen=True):
    """Request, as known to another store: that store, and the request's id there."""

    store: str
    request_id: str


class AnnouncedAgent(Record, frozen=True):
    """Agent of another store, and its silence up to the announcement."""

    registration: Registration
    silent: timedelta = timedelta(0)


class Announcement(Record, frozen=True):
    """Agents of a store, of one tenant (None: shared by all): some live ones, and some that have left. `asks`: each
    receiver announces its own."""

    store: str
    tenant_id: str | None
    living: tuple[AnnouncedAgent, ...] = ()
    left: tuple[str, ...] = ()
    asks: bool = False
