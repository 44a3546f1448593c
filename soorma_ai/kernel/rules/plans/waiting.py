"""Waits of a plan: their state in words, and the time of people."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, Expectation, ExpectationKind, ExpectationStatus, Untaken
from soorma_ai.kernel.domain.plans import Blocked, PlanStatus, Rest
from soorma_ai.kernel.domain.values import clip

Span = tuple[datetime, datetime]

MOST_NAMED = 3
_MOST_CHARS = 200
_SHORT_ID = 8  # commands take the beginning of an id


def describe_state(
    status: PlanStatus | None,
    expectations: Iterable[Expectation],
    untaken: Sequence[Untaken],
    rest: Rest | None = None,
    blocked: Sequence[Blocked] = (),
) -> str:
    """Return the plan's status and its waits; of many, a few of each kind. None: it has no planner yet."""
    if status is None:
        return "it is not taken by a planner yet"
    if status.is_final:
        return f"it is {status}"
    nobody = [f"nobody takes {one.event_type!r} yet" for one in untaken]
    unheard = {one.request_id for one in untaken}
    waits = [one for one in expectations if one.status is ExpectationStatus.OPEN and one.id not in unheard]
    sleeps = [_rest(rest)] if rest else []
    needs = [need_of(one) for one in blocked]
    said = list(dict.fromkeys([*needs, *sleeps, *nobody, *(words for one in waits if (words := _say(one)))]))
    more = [f"{len(said) - MOST_NAMED} more"] if len(said) > MOST_NAMED else []
    return "; ".join([f"it is {status}", *said[:MOST_NAMED], *more])


def _rest(rest: Rest) -> str:
    when = "it is being tried again" if rest.until is None else f"it sleeps until {rest.until:%Y-%m-%d %H:%M:%S} UTC"
    return f"{when}: {clip(rest.reason, _MOST_CHARS)}"


def need_of(blocked: Blocked) -> str:
    """Describe the reason for an operator, and the next step after the repair."""
    words = clip(blocked.reason, _MOST_CHARS)
    if blocked.resumed_at is not None:
        return f"it was resumed, and asks again: {words}"
    return f"it needs an operator: {words} (soorma plans resume {blocked.plan_id[:_SHORT_ID]})"


def _say(wait: Expectation) -> str:
    name = repr(wait.event_type)
    match wait.kind:
        case ExpectationKind.OFFER:
            names = " or ".join(map(repr, filter(None, wait.event_types)))
            return f"it is parked: {f'no agent takes {names}' if names else 'no live agent offers any event'}"
        case ExpectationKind.REPLY | ExpectationKind.CHILD:
            return f"it waits for the answer to {wait.subject!r}"
        case ExpectationKind.GATE:
            return f"people have to approve {wait.subject!r} (soorma approve {wait.id[:_SHORT_ID]})"
        case ExpectationKind.DOUBT:
            return f"people have to say what became of {wait.subject!r} (soorma inbox)"
        case ExpectationKind.WAIT if wait.ask is not None:
            return f"it waits for {name}, for which people are asked (soorma answer {wait.id[:_SHORT_ID]})"
        case ExpectationKind.WAIT:
            return f"it waits for {name}"
        case ExpectationKind.JOIN | ExpectationKind.CLIENT:
            return ""


def time_of_people(expectations: Iterable[Expectation], now: datetime) -> timedelta:
    """Return the time of waits for people; overlapping waits count once."""
    return length_of(join_spans((e.opened_at, e.closed_at or now) for e in expectations if e.kind in FOR_PEOPLE))


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return disjoint spans that cover the same time, in order."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def length_of(disjoint: Iterable[Span]) -> timedelta:
    return sum((last - first for first, last in disjoint), timedelta(0))
