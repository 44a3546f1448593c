"""Which of an agent's handlers an event is for."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.effects import AppendStep, Effect, SaveSubTask, SaveTask
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.domain.values import Same, identity_of

ANY = "*"
# By then the commits that a run spares are little beside what is handled in it, and whoever waits has waited enough.
LONGEST_SECONDS = 0.1


class Routable(Protocol):
    @property
    def topic(self) -> EventTopic | None: ...

    @property
    def event_type(self) -> str: ...

    @property
    def continues(self) -> bool: ...


R = TypeVar("R", bound=Routable)


def route(routes: Sequence[R], event: EventEnvelope, *, agent: str, owner: str) -> R | None:
    """Return the route of an event: a named handler before one for a family of types, and that before one for any.
    `continues` marks the route for the ends of a plan's waits: such an event is owned by a plan of another goal, and no
    handler of that name starts anything with it."""
    if owner != event.id and (owner == event.plan_id or owner != plan_id_of(event.id, agent)):
        return next((r for r in routes if r.continues), None)
    return _find_named(identity_of(routes), event.topic, event.type)


@lru_cache(maxsize=256)
def _find_named(same: Same[Sequence[R]], topic: EventTopic, event_type: str) -> R | None:
    """Routes of an agent stay the same object, unchanged, as long as it works."""
    named = {r.event_type: r for r in same() if not r.continues and r.topic == topic}
    return next((named[pattern] for pattern in patterns_of(event_type) if pattern in named), None)


@lru_cache(maxsize=1024)
def patterns_of(event_type: str) -> tuple[str, ...]:
    """Return the patterns of this event's handlers, the most exact first: 'order.paid', 'order.*', '*'."""
    parts = event_type.split(".")
    families = (".".join((*parts[:most], ANY)) for most in range(len(parts) - 1, 0, -1))
    return (event_type, *families, ANY)


def fits(pattern: str, event_type: str) -> bool:
    """Tell whether a type is the named one, or one of the named family. Raises ConfigError as `is_pattern` does."""
    return event_type.startswith(pattern.removesuffix(ANY)) if is_pattern(pattern) else event_type == pattern


def is_pattern(event_type: str) -> bool:
    """Raise ConfigError for a star that stands where it means nothing."""
    if ANY not in event_type:
        return False
    family = event_type.removesuffix(ANY)
    if ANY in family or (family and not family.endswith(".")) or family == ".":
        raise ConfigError(f"{event_type!r}: a star stands for all that follows a dot, as in 'order.*', or alone")
    return True


def may_be_followed(recorded: Iterable[Effect]) -> bool:
    """Tell whether the next delivery in line may be handled before the commit of this one's effects, beside the changes
    of its plan, its values and its memory. A publication or an opened wait takes effect by the commit alone, and may
    matter to the next one."""
    return all(isinstance(effect, AppendStep | SaveTask | SaveSubTask) for effect in recorded)
