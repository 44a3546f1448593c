"""Effects of arriving, meeting and ending, which a store applies in order, inside the transaction that asked."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from soorma_ai.domain.effects import SavePlan, Schedule, Unschedule
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Arrival, Expectation, Stray

# Replies, answers and timers go before new goals.
FIRST = 0
LAST = 1


@dataclass(frozen=True)
class Put:
    """The event in hand goes into the inbox of an agent, if it was not there before, in the line of `owner`."""

    agent: str
    owner: str
    priority: int = FIRST


@dataclass(frozen=True)
class Open:
    """The expectation is written down, open or met already."""

    expectation: Expectation


@dataclass(frozen=True)
class Meet:
    """The expectation is closed by this event, if it is open."""

    expectation_id: str
    met_by: str


@dataclass(frozen=True)
class Replace:
    """The expectation is met by this event instead of the one that met it before."""

    expectation_id: str
    was: str
    met_by: str


@dataclass(frozen=True)
class Answered:
    """A client is told that its request has this reply."""

    request_id: str
    reply: EventEnvelope


@dataclass(frozen=True)
class KeepEarly:
    """The event in hand is kept under these keys for a wait that is not open yet; once, however often it comes."""

    stray: Stray
    tenant_id: str
    keys: tuple[str, ...]
    until: datetime


@dataclass(frozen=True)
class ForgetEarly:
    """The event in hand is kept for no wait any more."""


@dataclass(frozen=True)
class KeepUntaken:
    """The request in hand is kept for an agent that takes it."""

    tenant_id: str
    event_type: str
    until: datetime


@dataclass(frozen=True)
class DropUntaken:
    """The request in hand waits for no taker any more, and its timer for nothing."""

    timer_id: str


@dataclass(frozen=True)
class Stop:
    """Somebody asks the plan to stop."""

    plan_id: str
    reason: str


@dataclass(frozen=True)
class Forbid:
    """Let whoever begins this plan find that it was asked to stop before."""

    plan_id: str
    reason: str


@dataclass(frozen=True)
class Resolve:
    """The delivery that rests in doubt goes on, with all its attempts."""

    agent: str
    owner: str


@dataclass(frozen=True)
class Hasten:
    """The delivery at the head of this line, should it be delayed, is handed over at once."""

    agent: str
    owner: str


@dataclass(frozen=True)
class Wake:
    """Published, unless an event of its id is known: whichever was first stands."""

    event: EventEnvelope


OfTheEvent = Put | KeepEarly | ForgetEarly | KeepUntaken | DropUntaken

# A stray is told once, however often its event comes.
Effect = (
    OfTheEvent
    | Open
    | Meet
    | Replace
    | Answered
    | Stray
    | Schedule
    | Unschedule
    | Stop
    | Forbid
    | SavePlan
    | Resolve
    | Hasten
    | Wake
)


def arrival_of(done: Sequence[Effect], queued: frozenset[str], stops: Collection[str] = ()) -> Arrival:
    """Report on events that came in, from the effects that changed something. `queued` are agents for whom there is
    something to claim, `stops` plans that must end."""
    strays = (one.stray if isinstance(one, KeepEarly) else one for one in done if isinstance(one, Stray | KeepEarly))
    return Arrival(
        agents=queued,
        replies={one.request_id: one.reply for one in done if isinstance(one, Answered)},
        strays=tuple(strays),
        stops=frozenset(stops),
    )
