"""The queue: inbox, leases, outbox, timers; and the hands that take from it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from soorma_ai.kernel.domain.effects import Effect, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation
from soorma_ai.kernel.domain.memory import OpenSession
from soorma_ai.kernel.domain.plans import Rest
from soorma_ai.kernel.domain.registry import Backlog
from soorma_ai.kernel.ports.rows import Delivery, StoredEvent, Swept, Work


class Hands(Protocol):
    """Free hands of the agents of this process, for deliveries that are born claimed. Used on the loop's thread."""

    def take(self, agent: str, *, freed: bool = False) -> bool:
        """Reserve a hand of this agent; False when it has none free, or something older waits for one. `freed`: one
        becomes free by the same transaction."""
        ...

    def give_back(self, agent: str) -> None:
        """Free a hand: nothing came of what it was reserved for."""
        ...

    def start(self, delivery: Delivery) -> None:
        """Put what is claimed on disk by now into the hand that was reserved for it."""
        ...

    def note_claim(self, agent: str, found: int) -> None:
        """A claim for this agent has found so many, not on disk yet. What is queued from now on came later."""
        ...


class Queue(Protocol):
    """Inbox, leases, outbox and timers. What leases a plan's delivery for its first attempt holds the plan's next call.

    Once the store delivers (`Store.deliver`), what a method publishes arrives in the same transaction, and what cannot
    arrive for a fault of its own is a dead letter.

    A delivery that is in hand for the first time may be handled together with those right behind it, LONGEST_RUN in
    all, which its lease covers. So when the process ends, these count as having been in hand too.
    """

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        """Put events into the inbox of every agent they are for, and meet the expectations they meet. Idempotent. A
        request that nobody took when it was published, and somebody takes now, is handed over at once."""
        ...

    async def offer_untaken(self, after: int, limit: int, now: datetime) -> tuple[int | None, Arrival]:
        """Hand over up to `limit` requests that nobody took, and somebody takes now: the place in the log to go on from
        (None: there are no more), and what came of it."""
        ...

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        """Take up to `limit` deliveries, one per owner, in order of arrival; on disk when this returns.

        Not those of `held` that are leased, which the caller has in hand: when a clock steps, a lease is over and its
        holder is not.
        Not those that were in hand at several ends of the process; see `claim_poison_candidate`.
        """
        ...

    async def claim_poison_candidate(
        self, agents: Sequence[str], now: datetime, lease: timedelta, held: Sequence[int] = ()
    ) -> Delivery | None:
        """Claim one of those that were in hand at several ends of the process. Taken one at a time, so that what ends
        it is counted alone, and its neighbours are not set aside with it."""
        ...

    async def behind(self, delivery: Delivery, limit: int) -> list[Delivery]:
        """Return up to `limit` that stand in line right behind one in hand, in order, as they are when they are in hand
        for the first time: up to the first that has been in hand before, or cannot be read. They stay where they are.
        """
        ...

    async def count_mail(self) -> dict[str, int]:
        """Return the number of events that are kept for other stores, by mailbox."""
        ...

    async def begin(self, delivery: Delivery) -> None:
        """Write down, before it runs, that a handler begins that must not run twice. Raise LeaseLost."""
        ...

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give back what is in hand and not handled: it may be claimed at once, and this attempt does not count. Its
        `hold` is held no more."""
        ...

    async def renew(self, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
        """Prolong leases; returns those that are still ours."""
        ...

    async def commit(self, work: Work, now: datetime) -> Arrival:
        """Commit all of it or nothing, and return what arrived with it. Raise LeaseLost, also for one of `following`
        that does not stand behind the delivery any more, VersionConflict, LocalProtocolError, StoreUnavailable."""
        ...

    async def send(
        self,
        events: Sequence[EventEnvelope],
        expect: Expectation | None,
        now: datetime,
        *,
        session: OpenSession | None = None,
        delivery: Delivery | None = None,
        keys: Sequence[str] = (),
    ) -> Arrival:
        """A client's own publish, with the reply it expects and the session that it opens, if any; or what a handler
        tells at once, of this `delivery`. An event sent before is not sent again. The same id with other content is a
        LocalProtocolError, and so is an expected reply to an event that was sent before without one. Raise
        VersionConflict for a session that is another user's by now, LeaseLost for a delivery that was removed,
        TransientError for a user who is just being forgotten, and Overloaded for an event with these `keys` where very
        many like it are kept for a wait that is not open yet."""
        ...

    async def send_once(self, changes: Sequence[Effect], now: datetime) -> bool:
        """Apply what is asked from outside. False, and nothing changes, where the expectation that the first of these
        effects opens is there already, open or closed."""
        ...

    async def unsent(self, limit: int) -> list[StoredEvent]:
        """The outbox: what the bus has not taken yet."""
        ...

    async def mark_sent(self, seqs: Sequence[int], now: datetime) -> None:
        """The bus took them; what does not arrive either is sent again by `sweep`."""
        ...

    async def set_aside(self, event: EventEnvelope, reason: str, now: datetime) -> None:
        """Keep an event that cannot arrive as a letter to nobody, and send it no more until it is redriven."""
        ...

    async def fire(self, now: datetime, limit: int) -> int:
        """Publish what is due. One transaction: the timer goes, its guard expires (see `Close`), its event is in the
        outbox."""
        ...

    async def keep_timers(self, beginning: str, timers: Sequence[Schedule]) -> None:
        """Make these the timers whose ids begin so: what is scheduled already keeps its moment, and others go."""
        ...

    async def count_pending(self, agent: str, owner: str) -> int:
        """Number of this owner's deliveries that are not done: what waits in line, and what is in hand."""
        ...

    async def find_rest(self, agent: str, owner: str, now: datetime) -> Rest | None:
        """Return until when, and why, the delivery that stands first in this line is put off; with its last reason
        while it is tried again."""
        ...

    async def backlog(self, at_most: int) -> int:
        """Deliveries that are not done, of all agents and mailboxes; counted up to `at_most`."""
        ...

    async def backlogs(self, tenant_id: str, at_most: int) -> list[Backlog]:
        """Backlogs of agents, by name, of a tenant's events; of so many rows at most."""
        ...

    async def sweep(self, now: datetime) -> Swept:
        """Every live plan owns an unsent event, a delivery or an open expectation; what does not is set going."""
        ...

    async def next_due(self, agents: Sequence[str], after: datetime) -> datetime | None:
        """The earliest moment at which a timer fires, or after which one of these agents' delayed deliveries may be
        claimed; without those that might have been claimed at `after`."""
        ...
