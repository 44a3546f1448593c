"""Options of calls, as keywords."""

from collections.abc import Iterable
from difflib import get_close_matches

from typing_extensions import TypedDict

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import EventTopic


class SendOptions(TypedDict, total=False):
    """Options of all that a client sends."""

    session_id: str | None
    """Conversation that the event belongs to; a new one is made."""
    idempotency_key: str | None
    """Key of the call: the same key is the same event, however often it is sent."""
    approve: bool
    """True to approve the event in the same call, if the sender may."""


class SubmitOptions(SendOptions, total=False):
    """Options of `submit`."""

    planner: str | None
    """Name of the planner, if several take the goal."""
    response_event: str | None
    """Name of the goal's answer on action-results; by default `<goal>.completed`."""
    parent_plan_id: str | None
    """Plan that the new one is a part of: it lives within the limits and the deadline of that plan, and is cancelled
    with it."""


class PublishOptions(SendOptions, total=False):
    """Options of `publish`."""

    correlation_id: str | None
    """Key by which a waiting plan is found."""
    plan_id: str | None
    """Plan that waits for the event."""


class EventOptions(TypedDict, total=False):
    """Options of `context.bus.publish`."""

    correlation_id: str | None
    """Reply key of the event; that of the request in hand makes the event its answer."""
    response_event: str | None
    """Name of the answer that is wanted."""
    response_topic: EventTopic | str
    """Topic of that answer; by default action-results."""
    subject: str | None
    """Subject of the event, as in CloudEvents."""


def must_know(who: str, given: Iterable[str], known: type) -> None:
    """Raise ConfigError for an option outside of `known`, a TypedDict."""
    names = known.__annotations__
    for name in given:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; it takes {', '.join(names)}"
            raise ConfigError(f"{who} has no parameter {name!r}{hint}")
