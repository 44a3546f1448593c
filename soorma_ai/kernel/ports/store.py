"""Port of the store, in parts by their callers."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from typing_extensions import Unpack

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation, Untaken
from soorma_ai.kernel.domain.history import JournalEntry, PromptPart, Step
from soorma_ai.kernel.domain.limits import Charge, Limits, Spent
from soorma_ai.kernel.domain.memory import MemoryKey, SessionSummary, StoredValue
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus, PlanValue
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.ports.conditions import LogConditions, PlanConditions, QuestionConditions, UntakenConditions
from soorma_ai.kernel.ports.identity import Audit
from soorma_ai.kernel.ports.part_keys import StoreKey
from soorma_ai.kernel.ports.queue import Hands, Queue
from soorma_ai.kernel.ports.registry import Registry
from soorma_ai.kernel.ports.rows import Delivery, EventHandling, EventPage, Note, Settlement, StoredEvent

T = TypeVar("T")


class Plans(Protocol):
    """Plans, their history, decisions, budgets and waits."""

    async def plan(self, plan_id: str) -> PlanRecord | None: ...

    async def state(self, plan_id: str, event_id: str = "") -> PlanState | None:
        """Return the state of a plan, all of one moment; `met` has the expectation closed by this event."""
        ...

    async def plan_status(self, plan_id: str) -> tuple[PlanStatus, str | None] | None:
        """Return a plan's status, and why it was asked to stop, if it was."""
        ...

    async def plans(
        self, *, tenant_id: str | None, limit: int, user_id: str | None = None, **conditions: Unpack[PlanConditions]
    ) -> list[PlanRecord]:
        """Plans, newest first."""
        ...

    async def plan_answering(self, tenant_id: str, answer_key: str) -> PlanRecord | None:
        """Return the newest plan with this reply key for its goal's answer."""
        ...

    async def blocked_plans(
        self, limit: int, *, agent: str | None = None, tenant_id: str | None = None, user_id: str | None = None
    ) -> list[PlanRecord]:
        """Return plans at rest until an operator's action, each with its `blocked`."""
        ...

    async def blocked_in_tree(self, root_plan_id: str, limit: int) -> list[PlanRecord]:
        """Return the `blocked_plans` of a plan's tree."""
        ...

    async def resume(self, plan_id: str, now: datetime) -> bool:
        """Deliver the events of a plan at rest at once. False for a plan not at rest."""
        ...

    async def steps(self, plan_id: str, first: int = 0) -> list[Step]:
        """Steps in order, from the one of this number on."""
        ...

    async def steps_at(self, plan_id: str, ordinals: Collection[int]) -> list[Step]:
        """The plan's steps of these numbers, as far as there are such, in order."""
        ...

    async def plan_values(self, plan_id: str) -> list[PlanValue]:
        """Return its values by key."""
        ...

    async def branches_that_came(self, plan_id: str, join_id: str) -> list[Step]:
        """Return the steps of the branches in time, in order."""
        ...

    async def expectation(self, expectation_id: str) -> Expectation | None: ...

    async def find_met(self, owner: str, event_id: str) -> Expectation | None:
        """Return the expectation of this plan or task closed by this event, met or expired."""
        ...

    async def task(self, agent: str, task_id: str) -> TaskRecord | None:
        """Return a running task."""
        ...

    async def save_task(self, task: TaskRecord, expected_version: int) -> None:
        """Write the row of a task from outside of its handlers. Raise VersionConflict for another stored version."""
        ...

    async def agents_of_task(self, task_id: str) -> list[str]:
        """Several workers may have taken one request."""
        ...

    async def sub_tasks(self, agent: str, task_id: str, first: int = 0, last: int | None = None) -> list[SubTaskInfo]:
        """Return sub-tasks in the order of asking, with numbers from 0: those from `first` to `last`, both included,
        with None to the end."""
        ...

    async def sub_tasks_later(self, agent: str, task_id: str) -> Callable[[], list[SubTaskInfo]]:
        """Return a function for all sub-tasks, to be called on the spot: an author's access to them cannot wait. Costs
        in their number arise in this call only, as far as the store can be read without waiting."""
        ...

    async def task_expectations(self, agent: str, task_id: str) -> list[Expectation]:
        """Return the expectations of a task."""
        ...

    async def expectations(
        self, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
    ) -> list[Expectation]: ...

    async def open_in_tree(self, root_plan_id: str) -> list[Expectation]:
        """Open expectations of a plan, its children and their tasks, oldest first."""
        ...

    async def was_answered(self, root_plan_id: str, answer_id: str) -> bool:
        """Tell whether an answer has counted in a tree, for any question of it."""
        ...

    async def task_was_answered(self, task_id: str, answer_id: str) -> bool:
        """Tell whether an answer has counted for a question of this task."""
        ...

    async def questions(
        self, tenant_id: str, limit: int, *, user_id: str | None = None, **conditions: Unpack[QuestionConditions]
    ) -> list[Expectation]:
        """Open questions to people, the most urgent first: by their deadlines, those without one last. With a `user_id`
        those of this user, and of their roles."""
        ...

    async def count_questions(self, tenant_id: str, *, user_id: str | None = None, roles: Collection[str] = ()) -> int:
        """Count all results of `questions`."""
        ...

    async def ladders(self, tenant_id: str, user_id: str, roles: Collection[str], limit: int) -> list[Expectation]:
        """Return open questions of other users to one of `roles`, with an escalation, in no order."""
        ...

    async def count_held(self, tenant_id: str, user_id: str, at_most: int) -> int:
        """Count a person's requests as a client in need of an approval, up to `at_most`. Requests of agents in the
        course of these do not count."""
        ...

    async def questions_beginning(self, tenant_id: str, letters: str, limit: int) -> list[Expectation]:
        """Return questions to people with ids of this beginning: open ones first."""
        ...

    async def group(self, group_id: str) -> list[Expectation]:
        """Return the requests sent together by a task, ended or not."""
        ...

    async def expectations_by_id(self, ids: Sequence[str]) -> list[Expectation]: ...

    async def answer(self, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
        """Close an open question by this answer, and publish `wake`. False, without any change, for a closed one: of
        all readers of the open question, one answers it."""
        ...

    async def cancel(self, plan_id: str, reason: str, now: datetime) -> bool:
        """Ask a plan to stop; False for an ended one. Raises NotFound.

        A plan about to begin is cancelled at its beginning: a concurrent beginning gets a VersionConflict.
        """
        ...

    async def cancellation(self, plan_id: str) -> str | None:
        """Return the reason of a cancellation before a plan's beginning."""
        ...

    async def goal_of(self, plan_id: str) -> tuple[str, EventEnvelope] | None:
        """Return the planner and the goal of a plan, from the goal's arrival on, before the plan's beginning."""
        ...

    async def journal(self, agent: str, cause_id: str) -> list[JournalEntry]: ...

    async def decisions(self, plan_id: str, first: int = 0, limit: int = ...) -> list[JournalEntry]:
        """The decisions of a plan in order, from the one of this number on, counted from 0."""
        ...

    async def count_decisions(self, plan_id: str) -> int: ...

    async def read_spent(self, root_plan_id: str) -> Spent: ...

    async def reserve(self, charge: Charge, limits: Limits, delivery: Delivery) -> None:
        """Reserve on disk before the call is sent. Raise LimitExceeded, and LeaseLost for a removed delivery; then
        nothing is reserved."""
        ...

    async def find_shown(self, plan_id: str) -> dict[str, Showing]:
        """Return the shown parts of offers in a plan, by the digests in its journal."""
        ...

    async def last_shown(self, plan_id: str, cause_id: str, prompt_id: str) -> Showing | None:
        """Return the offer last shown to a model in a plan by this prompt, before the handling of this event."""
        ...

    async def requests_used(self, tenant_id: str) -> tuple[str, ...]:
        """Return the requests among the latest 2,000 events of a tenant, most used first."""
        ...

    async def prompt_parts(self, tenant_id: str, plan_id: str, digests: Collection[str]) -> dict[str, str]:
        """Return texts of questions to models by their digests, those of this plan and those of all of its tenant."""
        ...

    async def keep_part(self, part: PromptPart, now: datetime) -> None:
        """Keep a text under its digest, in the place of an older one."""
        ...

    async def settle(self, one: Settlement, delivery: Delivery) -> None:
        """Settle a reservation with the call's actual cost, and write the answer into the journal, together. Raise
        LeaseLost for a removed delivery, as after the erasure of its user; then nothing is written."""
        ...


class Memory(Protocol):
    async def recall(self, at: MemoryKey) -> StoredValue: ...

    async def memory_keys(self, tenant_id: str, plan_id: str) -> list[str]: ...

    async def session(self, tenant_id: str, session_id: str) -> SessionSummary | None: ...

    async def sessions(self, tenant_id: str, limit: int, *, user_id: str | None = None) -> list[SessionSummary]:
        """Return sessions by their last event, newest first; with a `user_id` those of this user."""
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
        self, tenant_id: str, after: int, limit: int, *, user_id: str | None = None, **conditions: Unpack[LogConditions]
    ) -> EventPage:
        """Events of a tree, of a user, or of the tenant, behind the place `after`. A page of a user costs the same
        however few are theirs."""
        ...

    async def event(self, event_id: str) -> EventEnvelope | None: ...

    async def events_beginning(self, tenant_id: str, letters: str, limit: int) -> list[EventEnvelope]:
        """Events of a tenant with ids of this beginning, by id."""
        ...

    async def tenants_of(self, event_ids: Sequence[str]) -> dict[str, str]:
        """Return the tenants of these events, as far as they are in the log."""
        ...

    async def receivers_of(self, event_ids: Sequence[str]) -> list[EventHandling]:
        """Return the agents with these events, and their progress with each."""
        ...

    async def untaken(
        self,
        tenant_id: str,
        now: datetime,
        *,
        limit: int,
        user_id: str | None = None,
        **conditions: Unpack[UntakenConditions],
    ) -> list[Untaken]:
        """Return requests without a taker, oldest first: of a tree of plans, or for parts of a task; with a `user_id`
        those of this user."""
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
        """Return the names of the features with data in this store."""
        ...

    def part(self, key: StoreKey[T]) -> T:
        """Return the part of a feature. Raise LocalProtocolError for an inactive feature."""
        ...

    def find(self, key: StoreKey[T]) -> T | None:
        """Return the part of a feature; None for an inactive one."""
        ...

    async def name(self, fresh: str) -> str:
        """Return the permanent name of this store among others; the first call makes it `fresh`."""
        ...

    def with_note(self, note: Note) -> "Store":
        """Return this store for one change: the first transaction with a change writes the note's entry too, and marks
        the note. An operation with the result False has changed nothing."""
        ...

    def within(self, tenant_id: str) -> "Store":
        """Return this store in the scope of a tenant: in a database with row-level security, its parts read and write
        this tenant's rows only, in any statement. Operations across tenants by nature still do so."""
        ...

    def notify(self, on_commit: Callable[[bool], None], on_arrival: Callable[[Arrival], None]) -> None:
        """Call these on the loop's thread: `on_commit` after every commit with writes, with whether something is left
        to the relay; `on_arrival` with the arrivals of a transaction, even after the end of its caller. To be given
        before `open`."""
        ...

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        """Act as the bus from now on: a published event arrives in its own transaction, leased to a free hand if there
        is one. Until then, and with another bus, it stands in the outbox."""
        ...

    async def open(self, now: datetime) -> None:
        """Open the file or the database. Raise ConfigError for an unusable one, with the reason, StoreUnavailable for a
        temporary fault."""
        ...

    async def close(self) -> None:
        """Close the file or the database. Committed data stay."""
        ...
