"""Which of an agent's handlers an event is for."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from soorma_ai.domain.events import EventEnvelope, EventTopic

ANY = "*"


class Routable(Protocol):
    @property
    def topic(self) -> EventTopic | None: ...

    @property
    def event_type(self) -> str: ...

    @property
    def continues(self) -> bool: ...


R = TypeVar("R", bound=Routable)


def route(routes: Sequence[R], event: EventEnvelope, owner: str) -> R | None:
    """A named handler before one for any type. `continues` marks the route for what a plan was waiting for:
    such an event is owned by the plan, and no handler of that name starts anything with it."""
    named = [r for r in routes if not r.continues and r.topic == event.topic]
    exact = next((r for r in named if r.event_type == event.type), None)
    if exact:
        return exact
    if owner != event.id:
        return next((r for r in routes if r.continues), None)
    return next((r for r in named if r.event_type == ANY), None)
