"""Stores that share a bus: what one announces, and where what is meant for another waits."""

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
    """Return the name in whose inbox waits what is to be carried to that store."""
    return MAILBOX + store_id


def store_of_mailbox(name: str) -> str | None:
    """Return the store whose mailbox this is; None: it is an agent's name."""
    return name.removeprefix(MAILBOX) if name.startswith(MAILBOX) else None


class Receipt(Record, frozen=True):
    """Ids of what a store has taken from another by now, and of what it will never take, each with its reason."""

    taken: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


class Confirmation(Record, frozen=True):
    """What became of an event that another store sent: it is taken, or refused for a reason."""

    store: str
    tenant_id: str
    event_id: str
    refused: str | None = None


class Home(Record, frozen=True):
    """A request as another store knows it: that store, and the request's id there."""

    store: str
    request_id: str


class AnnouncedAgent(Record, frozen=True):
    """An agent of another store, and for how long it had been silent when that was said."""

    registration: Registration
    silent: timedelta = timedelta(0)


class Announcement(Record, frozen=True):
    """Agents of a store, of one tenant (None: shared by all): some that live, and some that have left. `asks`: whoever
    hears it announces its own."""

    store: str
    tenant_id: str | None
    living: tuple[AnnouncedAgent, ...] = ()
    left: tuple[str, ...] = ()
    asks: bool = False
