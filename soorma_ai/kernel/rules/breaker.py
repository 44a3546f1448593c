"""The breaker for everything under one root, in plans and outside of them: depth, distance and number of events.

Each event carries its remaining limits. `nesting_left`: requests below it. `hops_left`: facts after it. `share`: events
that descend from it.

A root begins with a first share. A handling pays for its events and splits the rest among them. An answer brings back
the unused part of its request. A share that is too small draws on the root's `max_events`, a few events for each part,
so the root's row is not written for every event. A request costs two events, its answer included. Several takers of
one event split its share. No tree makes more than `max_events`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct, json
from msgspec.structs import replace

from soorma_ai.errors import LimitExceeded
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.limits import DRAWN, MAX_EVENT_BYTES, Limits
from soorma_ai.kernel.domain.values import JsonObject, derived_id

# Ordinary work is done with it, and draws nothing: a state machine of 500 steps makes 1,000 events.
FIRST_SHARE = 1_024
# Events drawn for each part. Without an answer the unused ones are lost.
GRANT = 16
# The remainder of a limit that is switched off: the largest number in an attribute of an event.
OFF = 2**31 - 1
# A request brings its unused part back, a fact does not, so the request gets more.
_RETURNS, _STAYS = 8, 1


# The sense of a published event to the breaker. A wake is the platform's own, and says nothing of its own.
Kind = Literal["wake", "answer", "request", "fact"]


class Means(Struct, frozen=True):
    """Remaining limits of one handling. `is_prepaid`: its answer was paid with the request. `is_aside`: it handles an
    answer outside of any plan and task."""

    origin: str
    nesting: int
    hops: int
    share: int
    is_prepaid: bool = True
    is_aside: bool = False


def means_of(
    cause: EventEnvelope, working: Lineage, limits: Limits, *, is_owned: bool = False, copies: int = 1
) -> Means:
    """Return the means of the handling of `cause`. `working` is the lineage of its plan or task if it `is_owned`. An
    event of another root brings a plan or a task no share."""
    share, nesting, hops = 0, working.nesting_left, working.hops_left
    if cause.origin is None and (not is_owned or cause.id in (working.goal_id, working.origin)):
        share = first_share(limits)
    elif cause.origin == working.origin:
        share = cause.share or 0
    return Means(
        origin=working.origin or cause.id,
        nesting=_left(limits.max_nesting) if nesting is None else nesting,
        hops=_left(limits.max_hops) if hops is None else hops,
        share=share if copies <= 1 else share // copies,
        is_prepaid=copies <= 1,
        is_aside=not is_owned and cause.answers is not None,
    )


def first_share(limits: Limits) -> int:
    """Return the share of a root. It is a part of a small limit, so that one branch does not hold all of it."""
    return FIRST_SHARE if limits.max_events is None else min(FIRST_SHARE, limits.max_events // 8)


def begin_lineage(lineage: Lineage, root_id: str, limits: Limits | None = None) -> Lineage:
    """Return the lineage of a new plan or task. Shares travel with events alone. A root plan's `limits` count unless
    the goal has tighter ones."""
    begun = replace(lineage, share=None, origin=lineage.origin or root_id)
    if limits is None:
        return begun
    nesting, hops = (_least(begun.nesting_left, limits.max_nesting), _least(begun.hops_left, limits.max_hops))
    return replace(begun, nesting_left=nesting, hops_left=hops)


def returning(lineage: Lineage) -> Lineage:
    """Return the lineage of an answer to an unhandled request: its whole share comes back."""
    left = lineage.nesting_left
    return lineage if left is None else replace(lineage, nesting_left=min(left + 1, OFF))


def from_abroad(event: EventEnvelope) -> dict[str, int | str | None]:
    """Return the breaker's attributes for an event of another store or program: at most the defaults, and under a root
    of its own."""
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
    """Raise LimitExceeded for too much data, before any costlier check."""
    try:
        size = len(json.encode(data))
    except (ValueError, TypeError, RecursionError):
        return  # a later check says why it cannot be stored
    if size > MAX_EVENT_BYTES:
        said = f"the data of {event_type!r} is {size:,} bytes, and {MAX_EVENT_BYTES:,} may be: keep it outside"
        raise LimitExceeded("max_event_bytes", said)


def kinds_of(events: Iterable[EventEnvelope]) -> list[Kind]:
    """Return the kind of each event. One loop without calls: it runs in every step."""
    kinds = list[Kind]()
    for event in events:
        kind: Kind = "fact"
        if event.answers is not None:
            kind = "answer"
        elif event.source == SYSTEM and event.topic is EventTopic.PLAN_EVENTS:
            kind = "wake"
        elif event.topic is EventTopic.ACTION_REQUESTS or event.response_event is not None:
            kind = "request"
        kinds.append(kind)
    return kinds


def check_depth(events: Sequence[EventEnvelope], means: Means, limits: Limits) -> None:
    """Raise LimitExceeded for the first event that would lie too deep, or follow too many facts."""
    for event, kind in zip(events, kinds_of(events), strict=True):
        if kind == "request" and means.nesting == 0:
            said = f"{event.type!r} would be asked for within {limits.max_nesting} requests that lie in each other"
            raise LimitExceeded("max_nesting", said)
        if means.hops == 0 and kind in _HOPS[means.is_aside]:
            said = f"{event.type!r} would follow {limits.max_hops} facts, each of which led to the next"
            raise LimitExceeded("max_hops", said)


def cost_of(kinds: Iterable[Kind], means: Means) -> int:
    """Return the price of events of these kinds. A prepaid answer is free."""
    cost, is_prepaid = 0, means.is_prepaid
    for kind in kinds:
        if is_prepaid and kind == "answer":
            is_prepaid = False
        else:
            cost += _COSTS[kind]
    return cost


def grant(lacking: int, parts: int, drawn: int, limits: Limits) -> int:
    """Return the number of events to draw for a handling that lacks some, after `drawn` others of the root. Raise
    LimitExceeded if too few are left."""
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


def spread(events: Iterable[EventEnvelope], kinds: Sequence[Kind], means: Means, left: int) -> list[EventEnvelope]:
    """Return the events with their remaining limits. They share the events that are `left` after the price."""
    total, stamped = 0, list[EventEnvelope]()
    for kind in kinds:
        total += _WEIGHTS[kind]
    if left < 0:
        left = 0
    for event, kind in zip(events, kinds, strict=True):
        stamped.append(event if kind == "wake" else _stamp(event, kind, means, left * _WEIGHTS[kind] // total))
    return stamped


_ABROAD = "abroad:"
_COSTS: Final[Mapping[Kind, int]] = {"wake": 0, "answer": 1, "request": 2, "fact": 1}
_DEEPER: Final[Mapping[Kind, int]] = {"wake": 0, "answer": 1, "request": -1, "fact": 0}
# One more in a row: a fact, or a plain agent's request because of an answer.
_HOPS: Final[Mapping[bool, frozenset[Kind]]] = {False: frozenset({"fact"}), True: frozenset({"fact", "request"})}
_WEIGHTS: Final[Mapping[Kind, int]] = {"wake": 0, "answer": _RETURNS, "request": _RETURNS, "fact": _STAYS}


def _stamp(event: EventEnvelope, kind: Kind, means: Means, share: int) -> EventEnvelope:
    nesting, hops = means.nesting, means.hops
    if nesting != OFF and (nesting or kind == "answer"):
        nesting += _DEEPER[kind]
    if hops and hops != OFF and kind in _HOPS[means.is_aside]:
        hops -= 1
    return event.within_limits(nesting, hops, share, means.origin)


def _left(limit: int | None) -> int:
    return OFF if limit is None else min(limit, OFF)


def _least(left: int | None, limit: int | None) -> int:
    return _left(limit) if left is None else min(left, _left(limit))
