"""Which of an agent's handlers an event is for."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.plans import plan_id_of

ANY = "*"


class Routable(Protocol):
    @property
    def topic(self) -> EventTopic | None: ...

    @property
    def event_type(self) -> str: ...

    @property
    def continues(self) -> bool: ...


R = TypeVar("R", bound=Routable)


def route(routes: Sequence[R], event: EventEnvelope, *, agent: str, owner: str) -> R | None:
    """A named handler before one for any type. `continues` marks the route for what a plan was waiting for: such an
    event is owned by a plan that another goal began, and no handler of that name starts anything with it."""
    if owner not in (event.id, plan_id_of(event.id, agent)):
        return next((r for r in routes if r.continues), None)
    named = [r for r in routes if not r.continues and r.topic == event.topic]
    exact = next((r for r in named if r.event_type == event.type), None)
    return exact or next((r for r in named if r.event_type == ANY), None)
