"""Queue: inbox, leases, outbox, timers; and the free hands of agents."""

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
    """Free hands of this process's agents, for deliveries claimed at their arrival. Used on the loop's thread."""

    def take(self, agent: str, *, freed: bool = False) -> bool:
        """Reserve a hand of this agent; False when it has none free, or something older waits for one. `freed`: one
        becomes free by the same transaction."""
        ...

    def give_back(self, agent: str) -> None:
        """Free a reserved hand, left unused."""
        ...

    def start(self, delivery: Delivery) -> None:
        """Put a delivery, claimed on disk by now, into its reserved hand."""
        ...

    def note_queued(self, agent: str) -> None:
        """Note a delivery stored for a claim: until then, no later one is claimed at its arrival."""
        ...

    def note_claim(self, agent: str, found: int) -> None:
        """Note the number found by a claim for this agent, not on disk yet. Later events of the queue came after it."""
        ...


class Queue(Protocol):
    """Inbox, leases, outbox and timers. The lease of a plan's delivery, at its first attempt, reserves the plan's next
    call.

    After `Store.deliver`, every published event arrives in the same transaction, and one with a fault of its own is a
    dead letter.

    A delivery in hand for the first time may be handled together with those right behind it, LONGEST_RUN in all, under
    its lease. At the process's end, these count as having been in hand too.
    """

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        """Put events into the inboxes of their agents, and meet their expectations. Idempotent. A request published
        without a taker goes to a present one at once."""
        ...

    async def offer_untaken(self, after: int, limit: int, now: datetime) -> tuple[int | None, Arrival]:
        """Deliver up to `limit` requests published without a taker to their present takers. Return the place in the log
        to continue from (None: there are no more), and the outcome."""
        ...

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        """Take up to `limit` deliveries, one per owner, in order of arrival; they are on disk at the return.

        Leased ones among `held` are left out: after a step of the clock, a lease is over and its holder is not. Left
        out are also those in hand at several ends of the process; see `claim_poison_candidate`.
        """
        ...

    async def claim_poison_candidate(
        self, agents: Sequence[str], now: datetime, lease: timedelta, held: Sequence[int] = ()
    ) -> Delivery | None:
        """Claim one of the deliveries in hand at several ends of the process. They are taken one at a time: the cause
        of the end is counted alone, and its neighbours are not set aside with it."""
        ...

    async def behind(self, delivery: Delivery, limit: int) -> list[Delivery]:
        """Return up to `limit` deliveries in line right behind one in hand, in order, as if in hand for the first time:
        up to the first with an earlier attempt, or an unreadable event. They stay in line."""
        ...

    async def count_mail(self) -> dict[str, int]:
        """Return the number of events for other stores, by mailbox."""
        ...

    async def begin(self, delivery: Delivery) -> None:
        """Record the begin of a handler, before it runs, if it must not run twice. Raise LeaseLost."""
        ...

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give back unhandled deliveries: they may be claimed at once, and this attempt does not count. Their `hold` is
        freed."""
        ...

    async def renew(self, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
        """Prolong leases; return those still ours."""
        ...

    async def commit(self, work: Work, now: datetime) -> Arrival:
        """Commit all of the work or nothing, and return the events that arrived with it. Raise LeaseLost, also for one
        of `following` no longer behind the delivery, VersionConflict, LocalProtocolError, StoreUnavailable."""
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
        """Publish a client's events, with the expected reply and the opening of their session, if any; or events of a
        handler to be sent at once, of this `delivery`. A repeated event is not sent again. The same id with other
        content is a LocalProtocolError, and so is an expected reply to an event sent before without one. Raise
        VersionConflict for a session of another user by now, LeaseLost for a removed delivery, TransientError for a
        user about to be erased, and Overloaded for an event with these `keys` if very many like it are kept early for a
        wait."""
        ...

    async def send_once(self, changes: Sequence[Effect], now: datetime) -> bool:
        """Apply changes from outside. False, without any change, for an existing expectation of the first effect, open
        or closed."""
        ...

    async def unsent(self, limit: int) -> list[StoredEvent]:
        """Return the outbox: events not yet accepted by the bus."""
        ...

    async def mark_sent(self, seqs: Sequence[int], now: datetime) -> None:
        """Note the bus's acceptance; an event without an arrival is sent again by `sweep`."""
        ...

    async def set_aside(self, event: EventEnvelope, reason: str, now: datetime) -> None:
        """Keep an event without an arrival as a letter without an agent, and send it no more until its redrive."""
        ...

    async def fire(self, now: datetime, limit: int) -> int:
        """Publish due events. One transaction: the timer goes, its guard expires (see `Close`), its event is in the
        outbox."""
        ...

    async def keep_timers(self, beginning: str, timers: Sequence[Schedule]) -> None:
        """Make these the timers with ids of this beginning: existing ones keep their moment, and all others are
        removed."""
        ...

    async def count_pending(self, agent: str, owner: str) -> int:
        """Return the number of this owner's open deliveries, in line and in hand."""
        ...

    async def find_rest(self, agent: str, owner: str, now: datetime) -> Rest | None:
        """Return the end and the reason of a delay of the first delivery in this line; with its last reason during a
        new try."""
        ...

    async def backlog(self, at_most: int) -> int:
        """Return the number of open deliveries, of all agents and mailboxes, up to `at_most`."""
        ...

    async def backlogs(self, tenant_id: str, at_most: int) -> list[Backlog]:
        """Return the backlogs of agents, by name, of a tenant's events; up to this number of rows."""
        ...

    async def sweep(self, now: datetime) -> Swept:
        """Ensure that every live plan owns an unsent event, a delivery or an open expectation; wake plans without
        any."""
        ...

    async def next_due(self, agents: Sequence[str], after: datetime) -> datetime | None:
        """Return the earliest moment after `after` of a timer, or of a claimable delayed delivery of these agents."""
        ...
