"""Rows that a store is given and gives back."""

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
    """One handing-over of an event to an agent. `fence` grows with every claim; a stale one commits nothing.

    `started` is the fence under which a handler that must not run twice has begun, and nobody knows how far it
    came; 0 is none. `redriven` counts how often the delivery was brought back from the dead letters. `hold` is charged
    already, for the next call of its plan's model. `copies` of the event were handed to agents, this one among them.
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
    """Replacement of a reservation by what was used, with the answer that it was for, what of the offer that answer
    was given to, and the texts that its question was made of."""

    reserved: Charge
    actual: Charge
    entry: JournalEntry | None = None
    showing: Showing | None = None
    kept: tuple[PromptPart, ...] = ()


class Work(Struct, frozen=True):
    """The one transaction of a handling: how the delivery ends, all that it leads to, and what it cost.

    `following` stood right behind the delivery, were handled with it and end as it does, acknowledged. `in_vain` stood
    behind these and were handled for nothing: each stays where it is, and has been in hand, which is no attempt.
    `outcome`: digest of what an agent elsewhere said of the delivery.
    """

    delivery: Delivery
    disposition: Disposition
    effects: tuple[Effect, ...]
    bill: tuple[Settlement, ...] = ()
    following: tuple[Delivery, ...] = ()
    in_vain: tuple[Delivery, ...] = ()
    outcome: str | None = None


class Swept(Struct, frozen=True):
    """Finds of a sweep that would have hung: events that the bus took and did not bring, deliveries behind no other,
    live plans that nothing was coming for."""

    sent_again: int = 0
    unblocked: int = 0
    stranded: tuple[str, ...] = ()


class Place(Struct, frozen=True):
    """An item of a list, by its id, behind which a page begins; `is_back`: before which it ends."""

    id: str
    is_back: bool = False


class StoredEvent(Struct, frozen=True):
    """An event and its place in the log. `redriven` counts how often it was sent anew as a dead letter of nobody's, of
    one that is about to be sent."""

    seq: int
    event: EventEnvelope
    redriven: int = 0


class Brought(Struct, frozen=True):
    """An event that a bus brings. `is_own`: the bus carried it for this store, else somebody else has published it:
    another store, where there is a `sender`."""

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
    """An entry of the audit that is to stand in the transaction of a change, and whether it does by now."""

    entry: AuditEntry
    is_written: bool = False


class AuditRow(Struct, frozen=True):
    """Its `seq` grows from row to row, by which lists go on."""

    seq: int
    entry: AuditEntry


class AgentRow(Struct, frozen=True):
    agent: str
    tenant_id: str | None
    registration: Registration
    heartbeat_at: datetime
    live: bool


class Forgotten(Record, frozen=True):
    """Numbers of what was removed of a user; `is_done`: nothing was left. `keys` were revoked."""

    plans: int = 0
    events: int = 0
    memos: int = 0
    keys: int = 0
    is_done: bool = False


class Pruned(Record, frozen=True):
    """Numbers of what was removed. `kept` counts plans that were old enough, and stay because something of theirs is
    not done. `after` is where the next batch goes on; None: there is none."""

    plans: int = 0
    events: int = 0
    kept: int = 0
    after: str | None = None


class PartRows(Struct, frozen=True):
    """Rows of a part of a plan. `decisions_before` counts those of the parts before; `expectations` are those that are
    open, too."""

    decisions: tuple[JournalEntry, ...]
    decisions_before: int
    shown: Mapping[str, Showing]
    expectations: tuple[Expectation, ...]
    events: tuple[EventEnvelope, ...]


class EventHandling(Record, frozen=True):
    """One event that came to one agent. `has_begun`: its handling began at least once. `has_ended`: nothing more will
    be done about it; a task that waits for something, and a goal, have not ended with their handling."""

    event_id: str
    agent: str
    has_begun: bool
    has_ended: bool
    is_dead: bool
