"""Goals that come again and again: when the next one is due, and the timer that brings it."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

from cronsim import CronSim, CronSimError
from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventTopic, Lineage, new_event
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.values import JsonObject, compact, derived_id

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
