"""The breaker of all that one root sets off, in plans and outside of them: how deep, how far, and how much.

Each event carries what is left. `nesting_left`: requests that may still lie within it; an answer returns to its asker's
depth. `hops_left`: facts that may still follow each other. `share`: events that may still descend from it.

A root begins with a first share. A handling pays for what it publishes, and splits what remains; what a request does
not use comes back with its answer. A share that is too small draws on the rest of the root's `max_events`, a few events
for each part, so that the root's row is not written for every event. A request costs two events, since its answer is
paid with it. Of an event that several agents get, each has a part of the share. No tree makes more than `max_events`.
"""

from collections.abc import Sequence
from enum import Enum, auto

from msgspec import Struct, json
from msgspec.structs import replace

from soorma_ai.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage
from soorma_ai.domain.limits import DRAWN, MAX_EVENT_BYTES, Limits
from soorma_ai.domain.values import JsonObject, derived_id
from soorma_ai.errors import LimitExceeded

# Ordinary work is done with it, and draws nothing: a state machine of 500 steps makes 1,000 events.
FIRST_SHARE = 1_024
# Events drawn for each part. What a part does not use is lost where no answer brings it back.
GRANT = 16
# What is left where a limit is switched off; an attribute of an event holds no larger number.
OFF = 2**31 - 1
# A request brings back what it does not use, so it gets more than a fact, which does not.
_RETURNS, _STAYS = 8, 1


class Kind(Enum):
    """The sense of a published event to the breaker."""

    WAKE = auto()  # the platform's own, which says nothing of its own
    ANSWER = auto()
    REQUEST = auto()
    FACT = auto()


class Means(Struct, frozen=True):
    """What is left to one handling. `is_prepaid`: its answer was paid with the request. `is_aside`: it handles an
    answer that no plan and no task waited for."""

    origin: str
    nesting: int
    hops: int
    share: int
    is_prepaid: bool = True
    is_aside: bool = False


def means_of(
    cause: EventEnvelope, working: Lineage, limits: Limits, *, is_owned: bool = False, copies: int = 1
) -> Means:
    """Return the means of who handles this event. `working` is the lineage of its plan or task where it `is_owned`.
    What came for a plan or a task from another root brings no share."""
    share = 0
    if cause.origin is None and (not is_owned or cause.id in (working.goal_id, working.origin)):
        share = first_share(limits)
    elif cause.origin == working.origin:
        share = cause.share or 0
    return Means(
        origin=working.origin or cause.id,
        nesting=_left(limits.max_nesting) if working.nesting_left is None else working.nesting_left,
        hops=_left(limits.max_hops) if working.hops_left is None else working.hops_left,
        share=share // max(copies, 1),
        is_prepaid=copies <= 1,
        is_aside=not is_owned and cause.answers is not None,
    )


def first_share(limits: Limits) -> int:
    """Return what a root begins with; under a small limit a part of it, so that what one branch leaves unused is not
    missed by the others."""
    return FIRST_SHARE if limits.max_events is None else min(FIRST_SHARE, limits.max_events // 8)


def begin_lineage(lineage: Lineage, root_id: str, limits: Limits | None = None) -> Lineage:
    """Return the lineage of a plan or a task that begins. Shares travel with events alone. A root plan's `limits` count
    where nothing before it has set what is left."""
    begun = replace(lineage, share=None, origin=lineage.origin or root_id)
    if limits is None:
        return begun
    nesting, hops = (_least(begun.nesting_left, limits.max_nesting), _least(begun.hops_left, limits.max_hops))
    return replace(begun, nesting_left=nesting, hops_left=hops)


def returning(lineage: Lineage) -> Lineage:
    """Return the lineage of an answer to a request that nobody handled: all of its share comes back."""
    left = lineage.nesting_left
    return lineage if left is None else replace(lineage, nesting_left=min(left + 1, OFF))


def from_abroad(event: EventEnvelope) -> dict[str, int | str | None]:
    """Return what counts of the breaker's attributes on an event of another store or program. They raise nothing above
    the defaults, and spend nothing of a root that began here."""
    usual, origin = Limits(), event.origin
    if origin is not None and not origin.startswith(_ABROAD):
        origin = _ABROAD + derived_id("origin", event.tenant_id, origin)
    return {
        "nesting_left": None if event.nesting_left is None else _least(event.nesting_left, usual.max_nesting),
        "hops_left": None if event.hops_left is None else _least(event.hops_left, usual.max_hops),
        "share": None if origin is None else min(event.share or 0, FIRST_SHARE),
        "origin": origin,
    }


def must_be_small(event_type: str, data: JsonObject) -> None:
    """Raise LimitExceeded for more data than an event of a handling may have, before it is looked at any closer."""
    try:
        size = len(json.encode(data))
    except (ValueError, TypeError, RecursionError):
        return  # told as what cannot be kept
    if size > MAX_EVENT_BYTES:
        said = f"the data of {event_type!r} is {size:,} bytes, and {MAX_EVENT_BYTES:,} may be: keep it outside"
        raise LimitExceeded("max_event_bytes", said)


def kind_of(event: EventEnvelope) -> Kind:
    if event.answers is not None:
        return Kind.ANSWER
    if event.source == SYSTEM and event.topic is EventTopic.PLAN_EVENTS:
        return Kind.WAKE
    is_request = event.topic is EventTopic.ACTION_REQUESTS or event.response_event is not None
    return Kind.REQUEST if is_request else Kind.FACT


def check_depth(events: Sequence[EventEnvelope], means: Means, limits: Limits) -> None:
    """Raise LimitExceeded for the first event that would lie too deep, or follow too many facts."""
    for event in events:
        kind = kind_of(event)
        if kind is Kind.REQUEST and means.nesting == 0:
            said = f"{event.type!r} would be asked for within {limits.max_nesting} requests that lie in each other"
            raise LimitExceeded("max_nesting", said)
        if _is_hop(kind, means) and means.hops == 0:
            said = f"{event.type!r} would follow {limits.max_hops} facts, each of which led to the next"
            raise LimitExceeded("max_hops", said)


def cost_of(events: Sequence[EventEnvelope], means: Means) -> int:
    """Return how many events are paid for these. An answer costs nothing where its request has paid for it."""
    kinds = [kind_of(event) for event in events]
    answers = kinds.count(Kind.ANSWER)
    paid_before = 1 if answers and means.is_prepaid else 0
    return 2 * kinds.count(Kind.REQUEST) + kinds.count(Kind.FACT) + answers - paid_before


def grant(lacking: int, parts: int, drawn: int, limits: Limits) -> int:
    """Return how many events to draw for a handling that lacks some; `drawn` of the root were drawn before. Raise
    LimitExceeded where too few are left."""
    wanted = lacking + GRANT * parts
    most = most_drawn(limits)
    if most is None:
        return wanted
    if most - drawn < lacking:
        said = f"{limits.max_events:,} may descend from one root, and {max(most - drawn, 0):,} are left"
        raise LimitExceeded("max_events", f"{said} where {lacking:,} more are needed")
    return min(wanted, most - drawn)


def most_drawn(limits: Limits) -> int | None:
    """Return how many events may be drawn beyond the first share; None: any number."""
    return None if limits.max_events is None else limits.max_events - first_share(limits)


def ledger_of(origin: str) -> str:
    """Return the name under which a budget counts the events that were drawn of a root."""
    return f"{DRAWN}{origin}"


def spread(events: Sequence[EventEnvelope], means: Means, granted: int = 0) -> list[EventEnvelope]:
    """Return the events with what is left to each. What cannot be paid for gets no share."""
    left = max(means.share + granted - cost_of(events, means), 0)
    weights = [_WEIGHTS[kind_of(event)] for event in events]
    total = max(sum(weights), 1)
    return [_stamp(event, means, left * weight // total) for event, weight in zip(events, weights, strict=True)]


_ABROAD = "abroad:"
_WEIGHTS = {Kind.WAKE: 0, Kind.ANSWER: _RETURNS, Kind.REQUEST: _RETURNS, Kind.FACT: _STAYS}


def _stamp(event: EventEnvelope, means: Means, share: int) -> EventEnvelope:
    kind = kind_of(event)
    if kind is Kind.WAKE:
        return event
    nesting = means.nesting + {Kind.REQUEST: -1, Kind.ANSWER: 1}.get(kind, 0)
    hops = means.hops - _is_hop(kind, means)
    update = {
        "nesting_left": OFF if means.nesting == OFF else max(nesting, 0),
        "hops_left": OFF if means.hops == OFF else max(hops, 0),
        "share": share,
        "origin": means.origin,
    }
    return event.model_copy(update=update)


def _is_hop(kind: Kind, means: Means) -> bool:
    """Tell whether an event is one more in a row: a fact, or a request that an answer of no plan and no task led to."""
    return kind is Kind.FACT or (kind is Kind.REQUEST and means.is_aside)


def _left(limit: int | None) -> int:
    return OFF if limit is None else min(limit, OFF)


def _least(left: int | None, limit: int | None) -> int:
    return _left(limit) if left is None else min(left, _left(limit))
