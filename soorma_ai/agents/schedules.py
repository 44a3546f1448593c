"""Goals that a planner pursues again and again: their moments, and the timers that bring them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

from cronsim import CronSim, CronSimError
from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage, new_event
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.domain.values import JsonObject, compact, derived_id
from soorma_ai.kernel.runtime.handling.handling import Services

SHORTEST = timedelta(seconds=1)


class Recurrence(Struct, frozen=True):
    """A goal of a planner's own, due at the moments of a cron expression in a time zone, or each time after a span."""

    agent: str
    tenant_id: str
    goal: str
    data: JsonObject
    when: str | timedelta
    zone: tzinfo = UTC

    @property
    def id(self) -> str:
        """The id of its timer: another one as soon as anything of it is changed."""
        when = self.when if isinstance(self.when, str) else str(self.when.total_seconds())
        return timers_of(self.agent) + derived_id("every", self.goal, compact(self.data), when, str(self.zone))


def timers_of(agent: str) -> str:
    """Return the beginning of the ids of an agent's timers of this kind, and of no others."""
    return f"every:{derived_id('agent', agent)}:"


def check_schedule(goal: Recurrence, now: datetime) -> None:
    """Raise ConfigError for a moment that is none, or never comes."""
    called = f"planner {plain_name(goal.agent)}: every({goal.when!r})"
    if not isinstance(cast(object, goal.when), str | timedelta):
        raise ConfigError(f"{called}: give a cron expression, or a timedelta")
    if isinstance(goal.when, timedelta) and goal.when < SHORTEST:
        raise ConfigError(f"{called} is too short; give a second or more")
    try:
        next_due(goal, now, now)
    except (CronSimError, StopIteration, OverflowError) as error:
        why = f" ({error})" if str(error) else ""
        raise ConfigError(
            f"{called} has no next moment{why}; give minute, hour, day, month and "
            "day of the week, like '0 9 * * mon-fri', or a timedelta"
        ) from error


def next_due(goal: Recurrence, due: datetime, now: datetime) -> datetime:
    """Return the first moment after now in the series of `due`. Missed moments are dropped."""
    if isinstance(goal.when, str):
        return next(CronSim(goal.when, max(due, now).astimezone(goal.zone))).astimezone(UTC)
    missed = max(0, (now - due) // goal.when)
    return due + (missed + 1) * goal.when


def timer_for(goal: Recurrence, due: datetime) -> Schedule:
    """Return the timer of its goal for the planner, without a user."""
    event = new_event(
        Lineage(tenant_id=goal.tenant_id, user_id=NO_USER),
        event_id=derived_id("recurring", goal.id, due.isoformat()),
        source=SYSTEM,
        topic=EventTopic.ACTION_REQUESTS,
        type=goal.goal,
        data=goal.data,
        time=due,
        subject=goal.id,
        target=goal.agent,
    )
    return Schedule(goal.id, due, event)


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
