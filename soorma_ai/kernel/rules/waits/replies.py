"""Replies: the match of an event with its expectation, and the events that only the platform publishes."""

from datetime import datetime

from soorma_ai.errors import InvalidResult, LocalProtocolError
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, completion_of, new_event
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.replies import failure_reply
from soorma_ai.kernel.domain.schemas import Violation, describe
from soorma_ai.kernel.domain.states import ANNOUNCEMENTS
from soorma_ai.kernel.domain.stores import RECEIPT, REQUEST_UNKNOWN
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.breaker import returning
from soorma_ai.kernel.rules.waits.wakeups import WAKE_EVENTS

CANCELLED = "cancelled"
INVALID_REQUEST = "invalid_request"

_MET_BY_REPLY = (ExpectationKind.REPLY, ExpectationKind.CHILD, ExpectationKind.CLIENT)
# Events that only the platform publishes, each with its meaning. A wake-up is checked against the row that it names,
# so that one of an agent moves nothing.
_MEANINGS = {
    **dict.fromkeys(ANNOUNCEMENTS, "tells people what they are asked"),
    **dict.fromkeys(WAKE_EVENTS, "wakes a plan"),
    REQUEST_UNKNOWN: "tells that another store is silent about a request",
    RECEIPT: "tells a store what another one has taken",
}
PLATFORM_ONLY = frozenset(_MEANINGS)
_NO_AUTHORS = PLATFORM_ONLY - WAKE_EVENTS


def is_reply(expected: Expectation, event: EventEnvelope) -> bool:
    return (
        expected.kind in _MET_BY_REPLY
        and (expected.tenant_id, expected.event_topic) == (event.tenant_id, event.topic)
        and event.type in expected.event_types
    )


def is_open_reply(expected: Expectation) -> bool:
    return expected.kind in _MET_BY_REPLY and expected.status is ExpectationStatus.OPEN


def refuse(request: EventEnvelope, code: str, message: str, now: datetime) -> EventEnvelope:
    """The platform's reply to a request that comes to nothing: to its response event and topic, with its reply key."""
    key = request.correlation_id or request.id
    return new_event(
        returning(request.lineage),
        event_id=derived_id("refusal", request.id),
        source=SYSTEM,
        topic=request.response_topic or EventTopic.ACTION_RESULTS,
        type=request.response_event or completion_of(request.type),
        data={"request_id": key, **failure_reply(code, message)},
        time=now,
        correlation_id=key,
        causation_id=request.causation_id,
        answers=request.id,
    )


def cancel_request(request: EventEnvelope, reason: str, now: datetime) -> EventEnvelope:
    """Return the reply to a client's cancelled request."""
    reply = refuse(request, CANCELLED, reason, now)
    return reply.model_copy(update={"id": derived_id("cancellation", request.id)})


def is_cancelled(expected: Expectation) -> bool:
    """Tell whether a person cancelled a client's request. Only a cancellation is an answer in such a row."""
    return expected.kind is ExpectationKind.CLIENT and expected.answer is not None


def id_when_let_go(request_id: str) -> str:
    """Return the id of the approved copy of a request already in the log."""
    return derived_id("let go", request_id)


def check_address(event_type: str, topic: EventTopic) -> None:
    """Raise LocalProtocolError for an address of replies at which only the platform speaks."""
    if topic is EventTopic.PLAN_EVENTS or platform_only(event_type):
        raise LocalProtocolError(f"no reply can be {event_type!r} on {topic}: only the platform publishes that")


def read_as_promised(reply: EventEnvelope, faults: list[Violation]) -> EventEnvelope:
    """Return the reply, or where its result has faults by its promise the failure that it counts as, which holds
    nothing of the result but where it is wrong."""
    if reply.data.get("success") is False or not faults:
        return reply
    failure = failure_reply(InvalidResult.code, f"the result of {reply.source} is off its schema: {describe(faults)}")
    ids = {name: reply.data[name] for name in ("request_id", "task_id", "plan_id") if name in reply.data}
    return reply.model_copy(update={"data": {**ids, **failure}})


def check_author(event_type: str) -> None:
    """Raise LocalProtocolError for an event that no client and no agent publishes."""
    if event_type in _NO_AUTHORS:
        raise LocalProtocolError(platform_only(event_type))


def platform_only(event_type: str) -> str:
    """Return the reason against others' publication of this event; empty for any other event."""
    meaning = _MEANINGS.get(event_type)
    return f"{event_type!r} {meaning}; only the platform publishes it" if meaning else ""
