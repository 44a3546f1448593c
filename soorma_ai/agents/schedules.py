"""Recurring goals of a planner: checks of their declarations, and their timers."""

from collections.abc import Mapping
from datetime import UTC, datetime

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.rules.plans.recurring import Recurrence, check_schedule, next_due, timer_for, timers_of
from soorma_ai.kernel.runtime.handling.handling import Services

# A moment that never comes never comes from any other one either.
_ANY_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


class Schedules:
    def __init__(self, planner: str) -> None:
        self._planner = planner
        self._by_id: dict[str, Recurrence] = {}

    def add(self, goal: Recurrence) -> None:
        """Add a recurring goal. Raise ConfigError for one without a next moment."""
        check_schedule(goal, _ANY_MOMENT)
        self._by_id[goal.id] = goal

    def check(self, goals: Mapping[str, EventDefinition]) -> None:
        """Raise ConfigError for a recurring goal outside of the planner's goals."""
        for one in self._by_id.values():
            goal, called = goals.get(one.goal), f"planner {plain_name(self._planner)}: every(..., {one.goal!r})"
            if goal is None:
                raise ConfigError(
                    f"{called} has nobody who begins it: decorate its first step, or give goals=[{one.goal!r}]"
                )
            if goal.approval is not None:
                raise ConfigError(f"{called} needs an approval, so it cannot come by itself")
            if faults := violations(goal.payload_schema, one.data):
                raise ConfigError(f"{called} has data that is off its schema: {describe(faults)}")

    async def keep(self, services: Services) -> None:
        """Schedule the goals without a timer, and no others."""
        now = services.clock.now()
        timers = [timer_for(one, next_due(one, now, now)) for one in self._by_id.values()]
        await services.store.queue.keep_timers(timers_of(self._planner), timers)
        services.signals.timers.set()

    def next_of(self, event: EventEnvelope, now: datetime) -> tuple[Schedule, ...]:
        """Return the timer of the next occurrence of this goal; None for a goal of another source."""
        goal = self._by_id.get(event.subject or "") if event.source == SYSTEM else None
        return (timer_for(goal, next_due(goal, event.time, now)),) if goal is not None else ()
