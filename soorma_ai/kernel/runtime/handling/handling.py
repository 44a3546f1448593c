"""The context of one delivery: working copies, and the effects recorded so far. Nothing has happened yet."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from itertools import count
from math import inf
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.decisions import PlannerDecision
from soorma_ai.kernel.domain.effects import Disposition, DropValue, Effect, Expect, PlanChange, SavePlan, SaveValue
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.limits import MAX_BACKLOG, Charge, Limits, Payer
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.ports import Clock, Delivery, Prompts, Reasoner, Settlement, Store, VectorSource
from soorma_ai.kernel.ports.part_keys import ContextKey
from soorma_ai.kernel.ports.shadows import Shadow
from soorma_ai.kernel.rules.delivery.disposition import Tries
from soorma_ai.kernel.rules.delivery.doubts import doubt_id
from soorma_ai.kernel.rules.fold import fold, fold_effect
from soorma_ai.kernel.rules.plans.forks import stay_in_fork
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.waits.opening import ORDINALS_APART, Moment
from soorma_ai.kernel.runtime.handling.charges import Charges
from soorma_ai.kernel.runtime.handling.process.circuits import Circuits
from soorma_ai.kernel.runtime.handling.process.histories import Histories
from soorma_ai.kernel.runtime.handling.process.long_calls import LongCalls
from soorma_ai.kernel.runtime.handling.process.models import Models
from soorma_ai.kernel.runtime.handling.process.most_used import MostUsed
from soorma_ai.kernel.runtime.handling.process.signals import Presence, Signals
from soorma_ai.kernel.runtime.handling.requests import request_type
from soorma_ai.kernel.runtime.handling.working_copies.memory import MemoryInHand
from soorma_ai.kernel.runtime.handling.working_copies.plan_values import PlanValues
from soorma_ai.kernel.runtime.handling.working_copies.recorded import Changes, RecordedEffects
from soorma_ai.kernel.runtime.handling.working_copies.sub_tasks import SubTasks

T = TypeVar("T")


# Returns the reasoner in the place of another for a tenant.
ChooseModel = Callable[["Services", str, Reasoner], Awaitable[Reasoner]]


class Observer(Protocol):
    """Observer of commits. It sees the effects before their transaction, since a receiver needs the trace context in
    its event. It reports after the commit, since nothing of a rolled-back handling happened. It raises nothing."""

    def prepare(self, handling: "Handling", effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        """Return the effects with the trace context in their events and expectations."""
        return effects

    def committed(
        self, handling: "Handling", disposition: Disposition, effects: Sequence[Effect], bill: Sequence[Settlement]
    ) -> None:
        """Report a committed handling, with all answers of models."""


class Services(Struct, frozen=True):
    """Ways to the outside. At most `max_backlog` wait; a store that `is_remote` checks; `limits`: outside of plans.
    `shadows` are those of the planners of this process."""

    store: Store
    clock: Clock
    prompts: Prompts
    signals: Signals
    presence: Presence = field(default_factory=Presence)
    circuits: Circuits = field(default_factory=Circuits)
    most_used: MostUsed = field(default_factory=MostUsed)
    histories: Histories = field(default_factory=Histories)
    max_backlog: int = MAX_BACKLOG
    limits: Limits = Limits()
    models: Models = field(default_factory=Models)
    long_calls: LongCalls = field(default_factory=LongCalls)
    choose_model: ChooseModel | None = None
    shadows: dict[str, Shadow] = field(default_factory=dict[str, Shadow])
    embedding: VectorSource | None = None
    parts: Mapping[ContextKey[Any], Callable[["Handling"], Any]] = {}
    is_remote: bool = False
    observers: tuple[Observer, ...] = ()


class NotFirst(Exception):
    """Something has to be the first of its run, and is not: it is handled again when it is."""


class Handling:
    """Handling of a delivery. `deliveries` are those ended by its transaction, in order: the first is leased, the last
    is the present one. Some behind them, `in_vain`, were handled too, and will be again."""

    def __init__(self, delivery: Delivery, services: Services, bill: Charges) -> None:
        self.delivery, self.event, self.agent, self.bill = delivery, delivery.event, delivery.agent, bill
        self.begun = inf  # by the monotonic clock
        self.deliveries: tuple[Delivery, ...] = (delivery,)
        self.in_vain: tuple[Delivery, ...] = ()
        self.is_put_off = self._touched = False
        if (store := services.store.within(delivery.event.tenant_id)) is not services.store:
            services = replace(services, store=store)
        self.services = services
        self._request_types: dict[str, EventDefinition | None] = {}
        self._begun_under, self._calls = delivery.started, 0
        self._closed_with: Changes | None = None
        self.taken_up: str | None = None
        self.tries, self._recorded = Tries(), RecordedEffects()
        self._ordinals = count(self.delivery.redriven * ORDINALS_APART)
        # Handling again finds the answers of a model by the order of its calls, so one question follows the other.
        self.asking = asyncio.Lock()
        # The plan as it is stored, and with all that is recorded.
        self._stored: PlanState | None = None
        self._state: PlanState | None = None
        self._unfolded: list[Effect] = []  # recorded since the last read of the state
        self._values: PlanValues | None = None
        self._memory = MemoryInHand(services.store.memory)
        self.trigger: Trigger | None = None
        self.decided: PlannerDecision | None = None  # by a model, for the author's handler
        self.closed: tuple[Expectation, EventEnvelope] | None = None
        self.met: dict[str, Expectation] = {}  # by the delivered event, of all deliveries so far
        self.task: TaskRecord | None = None
        self.sub_tasks: SubTasks | None = None

    def close(self) -> None:
        """End the context: the effects so far count, and no further ones can be recorded."""
        self._closed_with = self._changes()

    def discard(self) -> None:
        """End the context, and nothing of it counts."""
        self._closed_with, self._recorded = Changes(), RecordedEffects()

    def anew(self) -> "Handling":
        """Return a new handling of the same delivery, with its outcome if known; the rest of a run was in vain."""
        again = Handling(self.deliveries[0], self.services, self.bill)
        again._begun_under, again.taken_up, again.begun = self._begun_under, self.taken_up, self.begun
        again.in_vain = (*self.deliveries[1:], *self.in_vain)
        return again

    def turn_to(self, delivery: Delivery) -> "Handling":
        """Return the handling of the next delivery in line, on the result of this closed one."""
        assert self._closed_with is not None
        turn, changes = Handling(delivery, self.services, self.bill), self._closed_with
        turn.deliveries, turn.begun, turn.met = (*self.deliveries, delivery), self.begun, self.met
        turn._recorded = RecordedEffects((*self._recorded.all, *changes.values))
        if self._state is not None:
            turn._stored, turn._state = self._stored, fold(self.state, changes.values)
        turn._touched, turn._memory = bool(changes.plan), self._memory.copy()
        if self.task is not None and self.sub_tasks is not None:
            turn.task, changed = self._recorded.task_after(self.task)
            turn.sub_tasks = self.sub_tasks.after(turn.task, changed)
        return turn

    def part(self, key: ContextKey[T]) -> T:
        """Return a part of the context. Raise ConfigError where its feature is off."""
        make = self.services.parts.get(key)
        if make is None:
            raise ConfigError(f"{key.name} is off here: switch its feature {key.feature!r} on, or do without")
        return make(self)

    def must_be_first(self) -> None:
        """Raise NotFirst behind others of a run: the next action is to be committed at once, or done once."""
        if len(self.deliveries) > 1:
            self.is_put_off = True  # whoever takes the error for its own
            raise NotFirst(f"{self.event.type!r} is handled by itself, when it comes first")

    @property
    def is_closed(self) -> bool:
        return self._closed_with is not None

    def must_be_open(self) -> None:
        if self._closed_with is not None:
            raise LocalProtocolError(
                f"the handler of {self.event.type!r} has ended, and its context with it; await what it began in it, "
                "or publish from outside with platform.publish()"
            )

    @property
    def memory(self) -> MemoryInHand:
        self.must_be_open()
        return self._memory

    def checkpoint(self) -> Callable[[], None]:
        """Return a function to undo all later effects."""
        recorded, touched = len(self._recorded.own), self._touched
        state = self.state if self.has_plan else None
        values, memory = self._values.copy() if self._values else None, self._memory.copy()

        def roll_back() -> None:
            self._recorded.undo(recorded)
            self._state, self._touched, self._unfolded = state, touched, []
            self._values, self._memory = values, memory

        return roll_back

    @property
    def lineage(self) -> Lineage:
        """Return the lineage of the delivery's receiver. A wake-up names its receiver, and nothing else."""
        return self.event.lineage if self.event.source != SYSTEM else self.working_lineage

    @property
    def working_lineage(self) -> Lineage:
        """Return the lineage of the present plan or task; an incoming event has no say about it."""
        owner = self._state.plan if self._state else self.task
        return owner.lineage if owner else self.event.lineage

    @property
    def task_id(self) -> str | None:
        return self.task.task_id if self.task else None

    def works_on(self, plan_id: str) -> bool:
        return self._state is not None and self._state.plan.plan_id == plan_id

    @property
    def is_in_doubt(self) -> bool:
        """Tell whether a handler that must not run twice has begun, now or earlier, and its outcome is not known."""
        return self._begun_under > 0

    @property
    def doubt_id(self) -> str:
        """The question to people about it."""
        return doubt_id(self.agent, self.event.id, self._begun_under)

    async def begin(self) -> None:
        """Write down that a handler begins that must not run twice."""
        self.must_be_open()
        await self.services.store.queue.begin(self.delivery)
        self._begun_under = self.delivery.fence

    def resolve(self) -> None:
        """Note that its outcome is known by now."""
        self._begun_under = 0

    @property
    def is_again(self) -> bool:
        """Tell whether this delivery was in hand before, with any outcome."""
        return self.delivery.fence > 1

    @property
    def rests(self) -> int:
        """Number of times that this delivery was put back without an attempt."""
        return max(0, self.delivery.fence - self.delivery.attempt)

    @property
    def idempotency_key(self) -> str:
        """Return a key for outside effects, the same for every attempt at this delivery, redriven or not."""
        return f"{self.agent}:{self.event.id}"

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Effects that one transaction has to apply; the plan's row first, so that a lost race shows at once."""
        changes = self._closed_with or self._changes()
        effects = (*changes.plan, *self._recorded.all, *changes.memory, *changes.values)
        return effects if self._state is None else stay_in_fork(self._state.plan, effects)

    def _changes(self) -> Changes:
        memory = self._memory.changes
        if self._state is None:
            return Changes(memory=memory)
        plan, stored = self._state.plan, self._stored.plan.version if self._stored else None
        values = self._values.changes(plan.plan_id) if self._values else ()
        if not (self._touched or values):
            return Changes(memory=memory)
        version = 0 if stored is None else stored + 1
        return Changes((SavePlan(replace(plan, version=version), stored),), memory, values)

    @property
    def recorded(self) -> tuple[Effect, ...]:
        """Effects of this delivery alone."""
        return tuple(self._recorded.own)

    @property
    def steps_recorded(self) -> list[Step]:
        return self._recorded.steps

    def record(self, *effects: Effect) -> None:
        """Record effects. Values of a plan go into its working copy, with its changes computed at the end."""
        self.must_be_open()
        is_remote = self.services.is_remote
        for effect in effects:
            match effect:
                case SaveValue() | DropValue():
                    self.values.apply(effect)
                case _:
                    self._recorded.add(effect, is_remote=is_remote)
                    if self._state is not None:
                        self._unfolded.append(effect)

    def rewrite(self, effects: Iterable[Effect]) -> None:
        """Replace the recorded effects of this delivery; the context has ended."""
        self._recorded.rewrite(effects)

    def moment(self) -> Moment:
        self.must_be_open()
        return Moment(self.event, self.agent, self.services.clock.now(), self._ordinals)

    def next_call(self) -> int:
        """Return the ordinal of a model call in this handling; nothing is committed before its question."""
        self.must_be_open()
        self.must_be_first()
        self._calls += 1
        return self._calls - 1

    @property
    def has_asked(self) -> bool:
        """Tell whether a model was asked, or its answer found."""
        return self._calls > 0

    def expect_call(self, payer: Payer, charge: Charge) -> None:
        """Remember with the present plan, if it is the payer, the reservation for its next call."""
        if self._state is not None and self.works_on(payer.plan_id):
            self._state = replace(self._state, plan=replace(self._state.plan, next_call=charge))

    @property
    def state(self) -> PlanState:
        """Return the state of the present plan, with the effects of this handling."""
        state = self._state
        if state is None:
            raise LocalProtocolError(f"this delivery of {self.event.type!r} belongs to no plan")
        for effect in self._unfolded:
            state = fold_effect(state, effect)
        self._state, self._unfolded = state, []
        return state

    @property
    def stored(self) -> PlanState | None:
        """Return the stored state of the present plan; None for a plan that is just begun."""
        return self._stored

    @property
    def plan(self) -> PlanRecord:
        return self._state.plan if self._state is not None else self.state.plan

    @property
    def has_plan(self) -> bool:
        return self._state is not None

    def load(self, stored: PlanState) -> None:
        """Take a stored plan as the working copy."""
        self.must_be_open()
        self._state, self._unfolded = replace(stored, plan=stored.plan.copy()), []
        self._stored, self._touched, self._values = stored, False, None

    def see_met(self, met: Expectation) -> None:
        """Take an expectation that was closed after the plan was read."""
        self._state = fold(self.state, [Expect(met)])

    def take_up(self, stored: PlanState) -> None:
        """Take a plan that another delivery of this agent is about; known even when nothing of this one happened."""
        self.load(stored)
        self.taken_up = stored.plan.plan_id

    async def begin_plan(self, outcome: PlanChange) -> None:
        """Take a new plan. Its tree may have spent something by then, on an earlier try among others."""
        spent = await self.services.store.plans.read_spent(outcome.plan.root_plan_id)
        self._state = PlanState(outcome.plan, spent=spent)
        self.apply(outcome)

    @property
    def values(self) -> PlanValues:
        """Return the working copy of the plan's values."""
        if self._values is None:
            self._values = PlanValues(self.state.values)
        return self._values

    def apply(self, outcome: PlanChange) -> None:
        self.must_be_open()
        self._state, self._touched = replace(self._state or self.state, plan=outcome.plan), True
        self.record(*outcome.effects)

    @property
    def open_now(self) -> list[Expectation]:
        """Return the plan's waits, oldest first, this handling's own effects included."""
        return [*self.state.open.values()]

    @property
    def in_flight(self) -> int:
        """Number of things that are open at once; a join is none beside its branches."""
        kinds = [expectation.kind for expectation in self.state.open.values()]
        return len(kinds) - kinds.count(ExpectationKind.JOIN)

    async def has_more_to_come(self) -> bool:
        """Tell whether something that the plan waited for has come already, and stands in line behind this delivery."""
        return await self.services.store.queue.count_pending(self.agent, self.delivery.owner) > len(self.deliveries)

    async def request_type(self, event_type: str) -> EventDefinition | None:
        """Return how a request is defined now, looked up once for each type: a fan-out asks for one many times."""
        if self.services.is_remote:
            return None
        if event_type not in self._request_types:
            registry, now = self.services.store.registry, self.services.clock.now()
            self._request_types[event_type] = await request_type(registry, self.event.tenant_id, event_type, now)
        return self._request_types[event_type]

    async def steps_at(self, ordinals: Collection[int]) -> list[Step]:
        """Return the plan's steps of these numbers, as far as there are such."""
        stored = await self.services.store.plans.steps_at(self.plan.plan_id, ordinals) if ordinals else []
        return [*stored, *(step for step in self.steps_recorded if step.ordinal in ordinals)]


_current: ContextVar[Handling | None] = ContextVar("soorma_current_handling", default=None)


def current_handling() -> Handling | None:
    return _current.get()


class InHand:
    """Scope of a handler: its handling is the current one."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    def __enter__(self) -> None:
        self._token = _current.set(self._handling)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def must_be_outside() -> None:
    if (handling := current_handling()) is not None and not handling.is_closed:
        raise LocalProtocolError("inside a handler, use its context: what platform.* does there would act at once")
