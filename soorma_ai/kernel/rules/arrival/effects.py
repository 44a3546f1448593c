"""Effects of arriving, meeting and ending, which a store applies in order, inside the transaction that asked."""

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from soorma_ai.kernel.domain.effects import SavePlan, Schedule, Unschedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation, Stray

# Replies, answers and timers go before new goals.
FIRST = 0
LAST = 1


class Put(Struct, frozen=True):
    """The event in hand goes into the inbox of an agent, if it was not there before, in the line of `owner`; then its
    timer, if any, is set."""

    agent: str
    owner: str
    priority: int = FIRST
    timer: Schedule | None = None


class Open(Struct, frozen=True):
    """The expectation is written down, open or met already."""

    expectation: Expectation


class Meet(Struct, frozen=True):
    """The expectation is closed by this event, if it is open."""

    expectation_id: str
    met_by: str


class Replace(Struct, frozen=True):
    """Effect: this event meets the expectation in place of the former one."""

    expectation_id: str
    was: str
    met_by: str


class SendReply(Struct, frozen=True):
    """A client is told that its request has this reply."""

    request_id: str
    reply: EventEnvelope


class KeepEarly(Struct, frozen=True):
    """The event in hand is kept under these keys for a wait that is not open yet; once, however often it comes."""

    stray: Stray
    tenant_id: str
    keys: tuple[str, ...]
    until: datetime


class ForgetEarly(Struct, frozen=True):
    """The event in hand is kept for no wait any more."""


class KeepUntaken(Struct, frozen=True):
    """The request in hand is kept for an agent that takes it."""

    tenant_id: str
    event_type: str
    until: datetime


class DropUntaken(Struct, frozen=True):
    """The request in hand waits for no taker any more, and its timer for nothing."""

    timer_id: str


class Stop(Struct, frozen=True):
    """Effect: a stop of the plan is requested."""

    plan_id: str
    reason: str


class Forbid(Struct, frozen=True):
    """Effect: the beginning of this plan finds an earlier request to stop."""

    plan_id: str
    reason: str


class Resolve(Struct, frozen=True):
    """The delivery that rests in doubt goes on, with all its attempts."""

    agent: str
    owner: str


class Hasten(Struct, frozen=True):
    """The delivery at the head of this line, should it be delayed, is handed over at once."""

    agent: str
    owner: str


class Wake(Struct, frozen=True):
    """Published, unless an event of its id is known: whichever was first stands."""

    event: EventEnvelope


AboutTheEvent = KeepEarly | ForgetEarly | KeepUntaken | DropUntaken

# A stray is told once, however often its event comes.
Effect = (
    Put
    | AboutTheEvent
    | Open
    | Meet
    | Replace
    | SendReply
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
    """Report on incoming events, from their effects with a change. `queued` are agents with something to claim, `stops`
    plans that must end."""
    strays, replies = list[Stray](), dict[str, EventEnvelope]()
    for one in done:
        match one:
            case Stray():
                strays.append(one)
            case KeepEarly(stray):
                strays.append(stray)
            case SendReply(request_id, reply):
                replies[request_id] = reply
            case _:
                pass
    return Arrival(agents=queued, replies=replies, strays=tuple(strays), stops=frozenset(stops))
