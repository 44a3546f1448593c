"""Rows of a store, as its arguments and results."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.effects import Disposition, Effect
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JournalEntry, PromptPart
from soorma_ai.kernel.domain.identity import AuditEntry
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import Registration

# Deliveries of one owner that one transaction may end.
LONGEST_RUN = 32
# Numbers of loans, so that a row keeps one beside a checksum of the process.


class Delivery(Struct, frozen=True):
    """Delivery of an event to an agent. `fence` grows with every claim; a stale one commits nothing.

    `started` is the fence at the begin of a handler that must not run twice, with unknown progress; 0 is none.
    `redriven` counts the returns from the dead letters. `hold` is charged already, for the next call of its plan's
    model. `copies` of the event went to agents, this one among them.
    """

    seq: int
    agent: str
    owner: str
    event: EventEnvelope
    attempt: int
    fence: int
    started: int = 0
    redriven: int = 0
    hold: Charge | None = None
    copies: int = 1


class Settlement(Struct, frozen=True):
    """Settlement of a reservation with the actual usage, with the answer, the shown part of the offer, and the texts of
    the question."""

    reserved: Charge
    actual: Charge
    entry: JournalEntry | None = None
    showing: Showing | None = None
    kept: tuple[PromptPart, ...] = ()


class Work(Struct, frozen=True):
    """Transaction of a handling: the end of the delivery, all its effects, and its cost.

    `following` stood right behind the delivery, were handled with it and end likewise, acknowledged. `in_vain` stood
    behind these and were handled for nothing: each stays in place, and has been in hand, without an attempt. `outcome`:
    digest of a remote agent's report about the delivery.
    """

    delivery: Delivery
    disposition: Disposition
    effects: tuple[Effect, ...]
    bill: tuple[Settlement, ...] = ()
    following: tuple[Delivery, ...] = ()
    in_vain: tuple[Delivery, ...] = ()
    outcome: str | None = None


class Swept(Struct, frozen=True):
    """Finds of a sweep, otherwise stuck: events accepted and not brought by the bus, deliveries without one before
    them, live plans with nothing to come."""

    sent_again: int = 0
    unblocked: int = 0
    stranded: tuple[str, ...] = ()


class Place(Struct, frozen=True):
    """Place of a page in a list, by the id of an item: behind it, or with `is_back` before it."""

    id: str
    is_back: bool = False


class StoredEvent(Struct, frozen=True):
    """Event and its place in the log. `redriven` counts the redrives of an event to be sent, as a dead letter without
    an agent."""

    seq: int
    event: EventEnvelope
    redriven: int = 0


class Brought(Struct, frozen=True):
    """Event from a bus. `is_own`: carried for this store, else published by another: by another store, if there is a
    `sender`."""

    event: EventEnvelope
    is_own: bool = True
    sender: str | None = None


class EventPage(Struct, frozen=True):
    """Events in order of arrival, or in the other one. The next page begins behind `after`; `is_end`: there was no more
    when it was read."""

    events: tuple[StoredEvent, ...]
    after: int
    is_end: bool


class Note(Struct):
    """Audit entry for the transaction of a change, and whether it is written by now."""

    entry: AuditEntry
    is_written: bool = False


class AuditRow(Struct, frozen=True):
    """Row of the audit log. `seq` grows from row to row, as the place of a page."""

    seq: int
    entry: AuditEntry


class AgentRow(Struct, frozen=True):
    agent: str
    tenant_id: str | None
    registration: Registration
    heartbeat_at: datetime
    live: bool


class Forgotten(Record, frozen=True):
    """Numbers of a user's removed rows; `is_done`: nothing was left. `keys` were revoked."""

    plans: int = 0
    events: int = 0
    memos: int = 0
    keys: int = 0
    is_done: bool = False


class Pruned(Record, frozen=True):
    """Numbers of removed rows. `kept` counts old plans kept because of unfinished work. `after` is the place of the
    next batch; None: there is none."""

    plans: int = 0
    events: int = 0
    kept: int = 0
    after: str | None = None


class PartRows(Struct, frozen=True):
    """Rows of a part of a plan. `decisions_before` counts those of earlier parts; `expectations` includes open ones."""

    decisions: tuple[JournalEntry, ...]
    decisions_before: int
    shown: Mapping[str, Showing]
    expectations: tuple[Expectation, ...]
    events: tuple[EventEnvelope, ...]


class EventHandling(Record, frozen=True):
    """Event at one agent. `has_begun`: its handling began at least once. `has_ended`: nothing more will be done about
    it; a waiting task, and a goal, do not end with their handling."""

    event_id: str
    agent: str
    has_begun: bool
    has_ended: bool
    is_dead: bool
