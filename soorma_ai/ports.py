"""The seams: what the shell needs from the outside, as small as its callers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from soorma_ai.domain.effects import Disposition, Effect
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.limits import Charge, Limits, Spent
from soorma_ai.domain.plans import JournalEntry, PlanRecord, PlanStatus, Step
from soorma_ai.domain.registry import RegisteredEvent, Registration
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.domain.waits import Answer, AnswerOutcome, Expectation, Person


class Clock(Protocol):
    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def new_id(self) -> str:
        """A fresh random id; the only source of ids that are not derived."""
        ...


class Bus(Protocol):
    """Carries, at least once. It may drop nothing that it took, and may double, delay and reorder."""

    async def publish(self, events: Sequence[EventEnvelope]) -> None:
        """Returns when the bus has taken them all. Raises BusUnavailable."""
        ...

    async def subscribe(self, receive: Callable[[Sequence[EventEnvelope]], Awaitable[None]]) -> None:
        """`receive` returning is the ack; raising means: bring these again."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Delivery:
    """One handing-over of an event to an agent. `fence` grows with every claim; a stale one commits nothing."""

    seq: int
    agent: str
    owner: str
    event: EventEnvelope
    attempt: int
    fence: int


@dataclass(frozen=True)
class Work:
    """The one transaction of a handling: how the delivery ends, and all that it leads to."""

    delivery: Delivery
    disposition: Disposition
    effects: tuple[Effect, ...]


@dataclass(frozen=True)
class Stray:
    """An event that an expectation did not take: too early, too late, once too often, off its schema,
    or fitting several, of which the oldest took it."""

    event_id: str
    event_type: str
    reason: Literal["early", "late", "surplus", "ambiguous", "invalid"]
    expectation_id: str | None


@dataclass(frozen=True)
class Arrival:
    """What became of events that came in: agents with new work, client requests answered, strays."""

    agents: frozenset[str]
    answered: frozenset[str]
    strays: tuple[Stray, ...]


@dataclass(frozen=True)
class DeadLetterRow:
    seq: int
    agent: str
    event: EventEnvelope
    reason: str
    attempts: int
    at: datetime


@dataclass(frozen=True)
class StoredEvent:
    seq: int
    event: EventEnvelope


@dataclass(frozen=True)
class AgentRow:
    agent: str
    tenant_id: str | None
    registration: Registration
    heartbeat_at: datetime
    live: bool


class Queue(Protocol):
    """Inbox, leases, outbox and timers."""

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        """Put events into the inbox of every agent they are for, and meet the expectations they meet. Idempotent."""
        ...

    async def claim(self, agent: str, now: datetime, lease: timedelta, limit: int) -> list[Delivery]:
        """Take up to `limit` deliveries, one per owner, in order of arrival; on disk when this returns."""
        ...

    async def renew(self, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
        """Prolong leases; returns those that are still ours."""
        ...

    async def commit(self, work: Work, now: datetime) -> None:
        """All of it or nothing. Raises LeaseLost, VersionConflict, LocalProtocolError, StoreUnavailable."""
        ...

    async def send(self, events: Sequence[EventEnvelope], expect: Expectation | None, now: datetime) -> None:
        """A client's own publish, with the reply it expects, if any. An event sent before is not sent again;
        the same id with other content is a LocalProtocolError."""
        ...

    async def unsent(self, limit: int) -> list[StoredEvent]: ...

    async def sent(self, seqs: Sequence[int]) -> None: ...

    async def fire(self, now: datetime, limit: int) -> int:
        """Publish what is due. One transaction: the timer goes, its guard expires, its event is in the outbox."""
        ...

    async def pending(self, agent: str, owner: str) -> int:
        """Deliveries of this owner that are not done: what waits in line, and what is in hand."""
        ...

    async def next_due(self, agents: Sequence[str]) -> datetime | None:
        """The earliest moment at which a timer or a delayed delivery wants attention."""
        ...


class Plans(Protocol):
    """Plans, their history, decisions, budgets and what they wait for."""

    async def plan(self, plan_id: str) -> PlanRecord | None: ...

    async def plans(
        self, *, tenant_id: str | None, status: PlanStatus | None, root_plan_id: str | None, limit: int
    ) -> list[PlanRecord]:
        """Newest first."""
        ...

    async def steps(self, plan_id: str, limit: int | None = None) -> list[Step]:
        """In order; with `limit`, the last ones."""
        ...

    async def repeats(self, plan_id: str, fingerprint: str) -> int: ...

    async def expectation(self, expectation_id: str) -> Expectation | None: ...

    async def met_by(self, plan_id: str, event_id: str) -> Expectation | None:
        """The expectation of this plan that this event closed, whether by meeting it or by its expiry."""
        ...

    async def expectations(
        self, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
    ) -> list[Expectation]: ...

    async def answer(self, wait_id: str, answer: Answer, person: Person, now: datetime) -> AnswerOutcome:
        """Judge and record in one transaction: the first valid answer wins. Raises NotFound."""
        ...

    async def cancel(self, plan_id: str, reason: str, now: datetime) -> bool:
        """Ask a plan to stop; False when it has ended. Raises NotFound.

        A plan that is still being begun is cancelled as soon as it is: whoever began it without knowing gets a
        VersionConflict.
        """
        ...

    async def cancellation(self, plan_id: str) -> str | None:
        """Why a plan that is not begun yet must stop."""
        ...

    async def goal_of(self, plan_id: str) -> tuple[str, EventEnvelope] | None:
        """The planner and the goal of a plan, from the goal's arrival on, which is before the plan is begun."""
        ...

    async def journal(self, agent: str, cause_id: str) -> list[JournalEntry]: ...

    async def decisions(self, plan_id: str) -> list[JournalEntry]: ...

    async def spent(self, root_plan_id: str) -> Spent: ...

    async def reserve(self, charge: Charge, limits: Limits) -> None:
        """On disk before the call is sent. Raises LimitExceeded, and then nothing is reserved."""
        ...

    async def settle(self, reserved: Charge, actual: Charge, entry: JournalEntry | None) -> None:
        """Replace the reservation by what it cost, and write the answer into the journal, together."""
        ...


class Registry(Protocol):
    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        """Raises ConfigError when a version is registered with another content."""
        ...

    async def heartbeat(self, agents: Sequence[str], now: datetime) -> None: ...

    async def leave(self, agents: Sequence[str]) -> None:
        """No longer live; what comes for them is kept."""
        ...

    async def live_events(self, tenant_id: str, now: datetime) -> list[RegisteredEvent]: ...

    async def known_events(self, tenant_id: str) -> list[RegisteredEvent]:
        """Those of agents that are gone too."""
        ...

    async def agents(self, now: datetime) -> list[AgentRow]: ...


class EventLog(Protocol):
    async def events(
        self,
        *,
        after: int = 0,
        tenant_id: str | None = None,
        root_plan_id: str | None = None,
        limit: int = 500,
        newest: bool = False,
    ) -> list[StoredEvent]:
        """In order of arrival; with `newest`, the last `limit` of them."""
        ...

    async def event(self, event_id: str) -> EventEnvelope | None: ...

    async def dead_letters(self, tenant_id: str | None, limit: int) -> list[DeadLetterRow]: ...


class Store(Queue, Plans, Registry, EventLog, Protocol):
    """The truth. One file or one database; every method is one transaction."""

    def notify(self, on_commit: Callable[[], None]) -> None:
        """Call this on the loop's thread after every commit that wrote. To be given before `open`."""
        ...

    async def open(self, now: datetime) -> None:
        """Raises ConfigError for what cannot be used (and says why), StoreUnavailable for what may come back."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Question:
    """One call of a model. `schema` is the closed decision schema; the answer is judged elsewhere, against it."""

    messages: tuple[Message, ...]
    schema: JsonObject


@dataclass(frozen=True)
class ModelAnswer:
    """`text` is what the model said. `value` is the JSON found in it, or None and `fault` says why not.

    `cost_usd` None means: the price of this model is not known.
    """

    text: str
    value: Json
    fault: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: float


class Reasoner(Protocol):
    """A model behind one retry owner: transport faults are retried in here, usable answers are judged outside."""

    @property
    def model(self) -> str: ...

    @property
    def max_output_tokens(self) -> int: ...

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars, by the dearest model it may call; None when a price is not known."""
        ...

    def check(self) -> None:
        """Raises ConfigError for what can be known before the first call: no library, no key, no such model."""
        ...

    async def ask(self, question: Question) -> ModelAnswer:
        """Raises ModelRefused, ContentFiltered, ModelUnavailable, RateLimited, ConfigError."""
        ...


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt, by its blocks. The version is a label for people; the hash is the truth about the template."""

    prompt_id: str
    version: str
    hash: str
    parts: Mapping[str, str]


class Prompts(Protocol):
    def render(self, prompt_id: str, inputs: Mapping[str, object]) -> Prompt:
        """Raises ConfigError for an unknown prompt, or inputs that are not those it declares."""
        ...
