"""Requests without a taker: each waits for one, and is then delivered as if it were published at that moment."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import count

from soorma_ai.kernel.domain.effects import Expect, Publish, Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, Stray, Untaken
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.schema_cost import MOST_IN_A_TRANSACTION
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.arrival.effects import DropUntaken, Effect, KeepUntaken, Open, Put, Wake
from soorma_ai.kernel.rules.arrival.silence import watch
from soorma_ai.kernel.rules.choices.offer import request_in
from soorma_ai.kernel.rules.waits.gates import approval_for, hold
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT, Moment, Waiter, earliest
from soorma_ai.kernel.rules.waits.replies import INVALID_REQUEST, id_when_let_go, is_open_reply, refuse


def keep(request: EventEnvelope, expected: Expectation | None) -> tuple[Effect, ...]:
    """Keep a request until it has a taker. An expected reply has a deadline; every other requester is informed."""
    until = (expected.deadline if expected is not None else None) or _end(request)
    kept = KeepUntaken(request.tenant_id, request.type, until), Stray(request.id, request.type, "untaken", None)
    if expected is not None:
        return kept
    message = f"no agent took {request.type!r} until {until.isoformat(timespec='seconds')}"
    told = refuse(request, "deadline_exceeded", message, until)
    return (*kept, Schedule(timer_of_request(request.id), until, told))


def offer_untaken(
    request: EventEnvelope,
    registered: Sequence[RegisteredEvent],
    expected: Expectation | None,
    takers: Iterable[Put],
    now: datetime,
    context: JsonObject | None = None,
) -> tuple[Effect, ...]:
    """Deliver it to its takers after their registration; a fault or an approval has the same effect as at a
    publication. Nothing is done for a requester no longer waiting. `context` is the data of the goal behind it."""
    definition, drop = request_in(registered, request.type), DropUntaken(timer_of_request(request.id))
    if not _is_waited_for(request, expected, now):
        return (drop,)
    if definition is None:
        return ()
    if faults := violations(definition.payload_schema, request.data, most=MOST_IN_A_TRANSACTION):
        message = f"request {request.type!r} does not fit its receiver's schema: {describe(faults)}"
        return (drop, Wake(refuse(request, INVALID_REQUEST, message, now)))
    approval = approval_for(definition, request.data, context)
    if approval is None:
        return (drop, *(watch(put, request, now) for put in takers))
    # Its id is in the log; what people let go comes under another one, with the same reply key.
    again = request.model_copy(update={"id": id_when_let_go(request.id), "unchecked": None})
    waiter = Waiter(SYSTEM, request.lineage, request.deadline, longest=LONGEST_WAIT)
    held = hold(again, definition, approval, waiter, Moment(request, SYSTEM, now, count()))
    return (drop, *(_at_once(effect) for effect in held if isinstance(effect, Expect | Publish | Schedule)))


def describe_waiting(
    request: EventEnvelope, expected: Expectation | None, until: datetime, now: datetime
) -> Untaken | None:
    """Return the display of a request kept `until` then; None without a waiting requester."""
    if not _is_waited_for(request, expected, now):
        return None
    return Untaken(
        request_id=request.id,
        event_type=request.type,
        asked_by=plain_name(request.source),
        target=plain_name(request.target) if request.target else None,
        plan_id=request.plan_id,
        task_id=expected.task_id if expected else None,
        since=request.time,
        until=until,
    )


def timer_of_request(request_id: str) -> str:
    """Return the id of the timer at which a request has waited long enough."""
    return f"untaken:{request_id}"


def _is_waited_for(request: EventEnvelope, expected: Expectation | None, now: datetime) -> bool:
    if expected is None:
        return now < _end(request)
    return is_open_reply(expected) and (expected.deadline is None or now < expected.deadline)


def _end(request: EventEnvelope) -> datetime:
    longest = request.time + LONGEST_WAIT
    return earliest(request.deadline, longest) or longest


def _at_once(effect: Expect | Publish | Schedule) -> Effect:
    match effect:
        case Expect(expectation):
            return Open(expectation)
        case Publish(event):
            return Wake(event)
        case Schedule():
            return effect
