"""The truth: what the shell needs of a store, by who needs it."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation, ExpectationKind, Untaken
from soorma_ai.kernel.domain.history import JoinProgress, JournalEntry, Step
from soorma_ai.kernel.domain.limits import Charge, Limits, Spent
from soorma_ai.kernel.domain.memory import MemoryKey, SessionSummary, StoredValue
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanInHand, PlanRecord, PlanStatus, PlanValue, StepMark
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.ports.identity import Audit
from soorma_ai.kernel.ports.part_keys import StoreKey
from soorma_ai.kernel.ports.queue import Hands, Queue
from soorma_ai.kernel.ports.registry import Registry
from soorma_ai.kernel.ports.rows import Delivery, EventHandling, EventPage, Note, Place, Settlement, StoredEvent

T = TypeVar("T")


class Plans(Protocol):
    """Plans, their history, decisions, budgets and what they wait for."""

    async def plan(self, plan_id: str) -> PlanRecord | None: ...

    async def plan_of_event(self, plan_id: str, event_id: str) -> tuple[PlanRecord, Expectation | None] | None:
        """The plan, and the expectation of it that this event closed, by meeting it or by its expiry."""
        ...

    async def in_hand(self, plan_id: str, root_plan_id: str) -> PlanInHand:
        """Return what belongs to a plan, all of one moment; its open expectations oldest first."""
        ...

    async def plan_status(self, plan_id: str) -> tuple[PlanStatus, str | None] | None:
        """Return a plan's status, and why it was asked to stop, if it was."""
        ...

    async def plans(
        self,
        *,
        tenant_id: str | None,
        status: PlanStatus | None,
        root_plan_id: str | None,
        limit: int,
        session_id: str | None = None,
        user_id: str | None = None,
    ) -> list[PlanRecord]:
        """Plans, newest first."""
        ...

    async def plan_answering(self, tenant_id: str, answer_key: str) -> PlanRecord | None:
        """The newest whose goal is answered under this reply key."""
        ...

    async def blocked_plans(
        self, limit: int, *, agent: str | None = None, tenant_id: str | None = None, user_id: str | None = None
    ) -> list[PlanRecord]:
        """Plans that rest until an operator resumes them, each with its `blocked`."""
        ...

    async def blocked_in_tree(self, root_plan_id: str, limit: int) -> list[PlanRecord]:
        """Return the `blocked_plans` of a plan's tree."""
        ...

    async def resume(self, plan_id: str, now: datetime) -> bool:
        """Hand over at once what a plan rests on until an operator resumes it. False where it does not rest so."""
        ...

    async def steps(self, plan_id: str, first: int = 0) -> list[Step]:
        """Steps in order, from the one of this number on."""
        ...

    async def steps_at(self, plan_id: str, ordinals: Collection[int]) -> list[Step]:
        """The plan's steps of these numbers, as far as there are such, in order."""
        ...

    async def plan_values(self, plan_id: str) -> list[PlanValue]:
        """Values that it remembers by keys."""
        ...

    async def find_marked(self, plan_id: str, fingerprints: Sequence[str]) -> dict[str, StepMark]:
        """The steps that carry one of these fingerprints, by fingerprint; without those that no step carries."""
        ...

    async def join_progress(self, plan_id: str, join_id: str) -> JoinProgress: ...

    async def branches_that_came(self, plan_id: str, join_id: str) -> list[Step]:
        """The steps of those that came in time, in order."""
        ...

    async def expectation(self, expectation_id: str) -> Expectation | None: ...

    async def find_met(self, owner: str, event_id: str) -> Expectation | None:
        """The expectation of this plan or task that this event closed, whether by meeting it or by its expiry."""
        ...

    async def task(self, agent: str, task_id: str) -> TaskRecord | None:
        """Return one that has not ended."""
        ...

    async def agents_of_task(self, task_id: str) -> list[str]:
        """Several workers may have taken one request."""
        ...

    async def sub_tasks(self, agent: str, task_id: str, first: int = 0, last: int | None = None) -> list[SubTaskInfo]:
        """Sub-tasks in the order in which they were asked, by which they are numbered from 0; those from `first` to
        `last`, both included, with None to the end."""
        ...

    async def sub_tasks_later(self, agent: str, task_id: str) -> Callable[[], list[SubTaskInfo]]:
        """Return what returns them all, on the spot: an author who looks at them cannot wait. What costs by their
        number is done by then only, as far as the store can be read without waiting."""
        ...

    async def task_expectations(self, agent: str, task_id: str) -> list[Expectation]:
        """Expectations that a task is waiting for."""
        ...

    async def expectations(
        self, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
    ) -> list[Expectation]: ...

    async def open_in_tree(self, root_plan_id: str) -> list[Expectation]:
        """Open expectations of a plan, its children and their tasks, oldest first."""
        ...

    async def was_answered(self, root_plan_id: str, answer_id: str) -> bool:
        """Tell whether an answer has counted in a tree, for whatever question of it."""
        ...

    async def questions(
        self,
        tenant_id: str,
        limit: int,
        *,
        user_id: str | None = None,
        roles: Collection[str] = (),
        kind: ExpectationKind | None = None,
        beyond: Place | None = None,
    ) -> list[Expectation]:
        """Open questions to people, the most urgent first: by their deadlines, those without one last. With a `user_id`
        those of this user, and those that name one of `roles` as who may answer, now or after an escalation. `beyond`
        one of them, which may be closed by now, those next to it; none beyond what is not there."""
        ...

    async def count_questions(self, tenant_id: str, *, user_id: str | None = None, roles: Collection[str] = ()) -> int:
        """Count all that `questions` lists."""
        ...

    async def ladders(self, tenant_id: str, user_id: str, roles: Collection[str], limit: int) -> list[Expectation]:
        """Open questions of other users which name one of `roles`, and which escalate, in no order."""
        ...

    async def count_held(self, tenant_id: str, user_id: str, at_most: int) -> int:
        """Requests that a person made as a client, and that wait for an approval; counted up to `at_most`. What an
        agent asks in the course of theirs is none of these."""
        ...

    async def questions_beginning(self, tenant_id: str, letters: str, limit: int) -> list[Expectation]:
        """Questions to people whose ids begin so: those that are open first."""
        ...

    async def group(self, group_id: str) -> list[Expectation]:
        """Requests that a task sent together, also when it has ended."""
        ...

    async def expectations_by_id(self, ids: Sequence[str]) -> list[Expectation]: ...

    async def answer(self, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
        """Close an open question by this answer, and publish `wake`. False, and nothing changes, when it is closed by
        now: of all who read it open, one answers it."""
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

    async def decisions(self, plan_id: str, first: int = 0, limit: int = ...) -> list[JournalEntry]:
        """The decisions of a plan in order, from the one of this number on, counted from 0."""
        ...

    async def count_decisions(self, plan_id: str) -> int: ...

    async def read_spent(self, root_plan_id: str) -> Spent: ...

    async def reserve(self, charge: Charge, limits: Limits, delivery: Delivery) -> None:
        """Reserve on disk before the call is sent. Raise LimitExceeded, and LeaseLost where the delivery that it is for
        was removed; then nothing is reserved."""
        ...

    async def find_shown(self, plan_id: str) -> dict[str, Showing]:
        """Return what models were shown in a plan, by the digests in its journal."""
        ...

    async def last_shown(self, plan_id: str, cause_id: str, prompt_id: str) -> Showing | None:
        """Return what a model was shown last in a plan by this prompt, before the handling of this event."""
        ...

    async def prompt_parts(self, tenant_id: str, plan_id: str, digests: Collection[str]) -> dict[str, str]:
        """Return texts of questions to models by their digests, those of this plan and those of all of its tenant."""
        ...

    async def settle(self, one: Settlement, delivery: Delivery) -> None:
        """Replace a reservation by what the call cost, and write the answer into the journal, together. Raise LeaseLost
        where the delivery that it was for was removed, as a user's are who is forgotten; then nothing is written."""
        ...


class Memory(Protocol):
    async def recall(self, at: MemoryKey) -> StoredValue: ...

    async def memory_keys(self, tenant_id: str, plan_id: str) -> list[str]: ...

    async def session(self, tenant_id: str, session_id: str) -> SessionSummary | None: ...

    async def sessions(self, tenant_id: str, limit: int, *, user_id: str | None = None) -> list[SessionSummary]:
        """The one that something happened in last first; with a `user_id` those of this user."""
        ...


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
        """Events in order of arrival; with `newest`, the last `limit` of them."""
        ...

    async def page(
        self,
        tenant_id: str,
        after: int,
        limit: int,
        *,
        root_plan_id: str | None = None,
        user_id: str | None = None,
        newest: bool = False,
    ) -> EventPage:
        """Events of a tree, of a user, or of the tenant. With `newest` those before the place `after`, in the other
        order, and from the end where it is 0. Of a user so many others are looked at in one go that a page
        costs the same however few are theirs."""
        ...

    async def event(self, event_id: str) -> EventEnvelope | None: ...

    async def events_beginning(self, tenant_id: str, letters: str, limit: int) -> list[EventEnvelope]:
        """Events of a tenant with ids of this beginning, by id."""
        ...

    async def tenants_of(self, event_ids: Sequence[str]) -> dict[str, str]:
        """Return whose these events are, of those that are in the log."""
        ...

    async def receivers_of(self, event_ids: Sequence[str]) -> list[EventHandling]:
        """Which agents these events came to, and how far each is with them."""
        ...

    async def untaken(
        self,
        tenant_id: str,
        now: datetime,
        *,
        limit: int,
        root_plan_id: str | None = None,
        task_id: str | None = None,
        user_id: str | None = None,
    ) -> list[Untaken]:
        """Requests that wait for an agent that takes them, oldest first: of a tree of plans, or for parts of a task;
        with a `user_id` those of this user."""
        ...


class Store(Protocol):
    """The truth. One file or one database; every method of its parts is one transaction."""

    queue: Queue
    plans: Plans
    memory: Memory
    registry: Registry
    events: EventLog
    audit: Audit

    @property
    def features(self) -> frozenset[str]:
        """Names of the features that keep something here."""
        ...

    def part(self, key: StoreKey[T]) -> T:
        """Return the part of a feature. Raise LocalProtocolError where that feature is off."""
        ...

    def find(self, key: StoreKey[T]) -> T | None:
        """Return the part of a feature; None where that feature is off."""
        ...

    async def name(self, fresh: str) -> str:
        """Return the name of this store among others, which it keeps; the first call gives it the name `fresh`."""
        ...

    def with_note(self, note: Note) -> "Store":
        """Return this store for one change: the first transaction of its parts that changes something writes the note's
        entry too, and says so in the note. One whose operation returns False has changed nothing."""
        ...

    def within(self, tenant_id: str) -> "Store":
        """Return this store as a tenant has it: where the database guards its rows, what its parts read and write is
        theirs, whatever the statements say. What works across tenants by its nature does so here too."""
        ...

    def notify(self, on_commit: Callable[[bool], None], on_arrival: Callable[[Arrival], None]) -> None:
        """Call these on the loop's thread: `on_commit` after every commit that wrote, with whether something is left to
        the relay; `on_arrival` with what arrived in a transaction, even if who asked for it waits no more. To be given
        before `open`."""
        ...

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        """Be the bus from now on: what is published arrives in the transaction that publishes it, leased to whoever has
        a free hand. Until then, and where another bus carries, it stands in the outbox."""
        ...

    async def open(self, now: datetime) -> None:
        """Raise ConfigError for what cannot be used (and says why), StoreUnavailable for what may come back."""
        ...

    async def close(self) -> None:
        """Let go of the file or the database. What is committed stays."""
        ...
