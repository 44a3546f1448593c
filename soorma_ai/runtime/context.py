"""The context of one delivery: working copies, and the effects recorded so far. Nothing has happened yet."""

import itertools
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from soorma_ai.core.asking import Moment, Outcome
from soorma_ai.core.receive import Trigger
from soorma_ai.domain.effects import AppendStep, Close, Effect, Expect, SavePlan, Spend
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.plans import PlanRecord, Step
from soorma_ai.domain.waits import Expectation
from soorma_ai.errors import LocalProtocolError
from soorma_ai.ports import Clock, Delivery, Prompts, Store
from soorma_ai.runtime.presence import Presence
from soorma_ai.runtime.signals import Signals


@dataclass(frozen=True)
class Services:
    """What a handling reaches the outside with."""

    store: Store
    clock: Clock
    prompts: Prompts
    signals: Signals
    presence: Presence = field(default_factory=Presence)


class Handling:
    def __init__(self, delivery: Delivery, services: Services) -> None:
        self.delivery = delivery
        self.services = services
        self.forget()

    def forget(self) -> None:
        """Nothing of it happened."""
        self._effects: list[Effect] = []
        self._ordinals = itertools.count()
        self._calls = itertools.count()
        self._plan: PlanRecord | None = None
        self._stored_version: int | None = None
        self._touched = False
        self.trigger: Trigger | None = None

    @property
    def event(self) -> EventEnvelope:
        return self.delivery.event

    @property
    def agent(self) -> str:
        return self.delivery.agent

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this delivery."""
        return f"{self.agent}:{self.event.id}"

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What one transaction has to apply; the plan's row first, so that a lost race shows at once."""
        if self._plan is None or not self._touched:
            return tuple(self._effects)
        version = 0 if self._stored_version is None else self._stored_version + 1
        return (SavePlan(replace(self._plan, version=version), self._stored_version), *self._effects)

    @property
    def recorded(self) -> tuple[Effect, ...]:
        return tuple(self._effects)

    @property
    def actions_recorded(self) -> int:
        return sum(effect.actions for effect in self._effects if isinstance(effect, Spend))

    @property
    def marks_recorded(self) -> list[str | None]:
        """The fingerprints of what was decided in this handling."""
        return [effect.step.fingerprint for effect in self._effects if isinstance(effect, AppendStep)]

    def record(self, *effects: Effect) -> None:
        self._effects += effects

    def moment(self) -> Moment:
        return Moment(self.event, self.agent, self.services.clock.now(), self._ordinals)

    def next_call(self) -> int:
        """The ordinal of a model call in this handling."""
        return next(self._calls)

    @property
    def plan(self) -> PlanRecord:
        if self._plan is None:
            raise LocalProtocolError(f"this delivery of {self.event.type!r} belongs to no plan")
        return self._plan

    @property
    def has_plan(self) -> bool:
        return self._plan is not None

    def load(self, plan: PlanRecord) -> None:
        """A stored plan as the working copy."""
        self._plan, self._stored_version, self._touched = plan, plan.version, False

    def apply(self, outcome: Outcome) -> None:
        self._plan, self._touched = outcome.plan, True
        self._effects += outcome.effects

    async def open_now(self) -> list[Expectation]:
        """What the plan is waiting for, this handling's own effects included."""
        stored = await self.services.store.expectations(plan_id=self.plan.plan_id)
        opened = [effect.expectation for effect in self._effects if isinstance(effect, Expect)]
        closed = {effect.expectation_id for effect in self._effects if isinstance(effect, Close)}
        return [expectation for expectation in [*stored, *opened] if expectation.id not in closed]

    async def has_more_to_come(self) -> bool:
        """Whether something that the plan waited for has come already, and stands in line behind this delivery."""
        return await self.services.store.pending(self.agent, self.delivery.owner) > 1

    async def history(self, limit: int) -> list[Step]:
        stored = await self.services.store.steps(self.plan.plan_id, limit)
        return [*stored, *(effect.step for effect in self._effects if isinstance(effect, AppendStep))][-limit:]


_current: ContextVar[Handling | None] = ContextVar("soorma_current_handling", default=None)


def current_handling() -> Handling | None:
    return _current.get()


@contextmanager
def in_hand(handling: Handling) -> Generator[None]:
    token = _current.set(handling)
    try:
        yield
    finally:
        _current.reset(token)
