"""The rules for requests that are taken in another store than they are asked in, and for their replies."""

from datetime import datetime
from itertools import count

from msgspec.structs import asdict, replace

from soorma_ai.errors import LocalProtocolError, RemoteProtocolError
from soorma_ai.kernel.domain.dead_letters import CANNOT_ARRIVE
from soorma_ai.kernel.domain.effects import Effect, Expect, Publish
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope, EventTopic, Lineage, completion_of
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.replies import failure_reply
from soorma_ai.kernel.domain.stores import Home, mailbox_of
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.breaker import from_abroad, returning
from soorma_ai.kernel.rules.waits.opening import (
    LONGEST_WAIT,
    ExpectationSpec,
    Moment,
    Waiter,
    earliest,
    expectation_of,
    open_expectation,
)
from soorma_ai.kernel.rules.waits.replies import check_address, platform_only

# As many planners stand in a row at home.
MOST_HOPS = 5
# The event that is expected of a request that is not taken: none.
_REFUSED = ""

# What means something in the store where it was said alone.
_OF_ONE_STORE = ("goal_id", "plan_id", "root_plan_id", "causation_id", "unchecked", "own", "stays")


def copy_of_request(request: EventEnvelope, depth: int | None) -> EventEnvelope:
    """Return the copy of a request for the store of its taker. `depth` is that of the asking plan, if there is one."""
    own = {"hops": (request.hops or 0) + 1, "depth": depth or request.depth, "correlation_id": None, "answers": None}
    return request.model_copy(update={**dict.fromkeys(_OF_ONE_STORE), **own})


def copy_of_reply(reply: EventEnvelope, home: Home) -> EventEnvelope:
    """Return the copy of a reply for the asking store."""
    own = {"correlation_id": None, "answers": home.request_id}
    return reply.model_copy(update={**dict.fromkeys(_OF_ONE_STORE), **own})


def hops_fault(copy: EventEnvelope) -> str:
    """Return why a request goes no further; empty when it may, so that no circle over several stores is without end."""
    if (copy.hops or 0) <= MOST_HOPS:
        return ""
    return f"{copy.type!r} would go from store to store {copy.hops} times in a row, and may {MOST_HOPS} times"


def refusal_of_copy(copy: EventEnvelope, reason: str) -> EventEnvelope:
    """Return the copy in the place of a reply impossible to carry."""
    return copy.model_copy(update={"data": {"request_id": copy.answers, **failure_reply(CANNOT_ARRIVE, reason)}})


def take_request(copy: EventEnvelope, sender: str, now: datetime) -> tuple[Effect, ...]:
    """Take a request of another store as one of a client: it is checked, and held for an approval if it needs one, at
    its delivery. Its reply is expected in the mailbox of that store. Its id is made of its origin, against collisions,
    and to recognise a second copy. Raise RemoteProtocolError for anything else."""
    reply_event = copy.response_event or completion_of(copy.type)
    topic = copy.response_topic or EventTopic.ACTION_RESULTS
    try:
        check_address(reply_event, topic)
    except LocalProtocolError as error:
        raise RemoteProtocolError(str(error)) from error
    if fault := _request_fault(copy, now):
        raise RemoteProtocolError(fault)
    request_id = id_here(copy, sender)
    request = copy.model_copy(
        update={
            **dict.fromkeys(_OF_ONE_STORE),
            **from_abroad(copy),
            "id": request_id,
            "source": CLIENT,
            "correlation_id": request_id,
            "response_event": reply_event,
            "response_topic": topic,
            "deadline": earliest(copy.deadline, now + LONGEST_WAIT),
            "answers": None,
            "unchecked": True,
            "stays": True,
        }
    )
    waiter = Waiter(mailbox_of(sender), request.lineage, request.deadline)
    spec = ExpectationSpec(
        request_id, ExpectationKind.REPLY, reply_event, topic, subject=copy.type, home=Home(sender, copy.id)
    )
    opened = open_expectation(waiter, spec, Moment(request, SYSTEM, now, count()))
    return (*opened, Publish(request))


def record_refusal(copy: EventEnvelope, sender: str, now: datetime) -> tuple[Effect, ...]:
    """Return the record of a refused request, so that no copy of it is taken later."""
    refused = ExpectationSpec(id_here(copy, sender), ExpectationKind.REPLY, _REFUSED, subject=copy.type)
    lineage = Lineage(tenant_id=copy.tenant_id, user_id=copy.user_id)
    closed = expectation_of(Waiter(mailbox_of(sender), lineage, None), refused, now)
    return (Expect(replace(closed, status=ExpectationStatus.CLOSED, closed_at=now)),)


def is_refusal(recorded: Expectation) -> bool:
    """Tell whether this record is of a request that was not taken."""
    return recorded.event_type == _REFUSED


def take_reply(
    copy: EventEnvelope, sender: str, lives_in: str | None, request: EventEnvelope | None
) -> EventEnvelope | None:
    """Return the reply of another store in its form here: as that of its agent, or of that store about its agents, to
    the request in the log. None for a request no longer there: it was removed, and does not come back. `lives_in` is
    the store of the declared source, None for an unknown one. Raise RemoteProtocolError for a reply in another's name.
    """
    if request is None or request.topic is not EventTopic.ACTION_REQUESTS:
        return None
    if request.tenant_id != copy.tenant_id:
        raise RemoteProtocolError(f"a reply of tenant {copy.tenant_id!r} to a request of another tenant")
    if fault := _reply_fault(copy, request):
        raise RemoteProtocolError(fault)
    if copy.source != SYSTEM and lives_in != sender:
        raise RemoteProtocolError(f"store {sender!r} speaks for {copy.source!r}, which does not live there")
    return EventEnvelope(
        id=id_here(copy, sender),
        source=mailbox_of(sender) if copy.source == SYSTEM else copy.source,
        type=copy.type,
        topic=copy.topic,
        time=copy.time,
        data=copy.data,
        subject=copy.subject,
        dataschema=copy.dataschema,
        correlation_id=request.correlation_id or request.id,
        causation_id=request.id,
        answers=request.id,
        **asdict(returning(request.lineage)),
    )


def id_here(copy: EventEnvelope, sender: str) -> str:
    """Return the id of a copy in this store. It is made of the copy's origin, so that the same copy is known again."""
    return derived_id("elsewhere", sender, copy.tenant_id, copy.id)


def _request_fault(copy: EventEnvelope, now: datetime) -> str:
    """Return why a request is not taken; empty when it is."""
    if copy.topic is not EventTopic.ACTION_REQUESTS:
        return f"{copy.type!r} on {copy.topic} is no request"
    if copy.deadline is not None and copy.deadline <= now:
        return f"{copy.type!r} came at {now.isoformat()}, after its deadline {copy.deadline.isoformat()}"
    return platform_only(copy.type) or hops_fault(copy)


def _reply_fault(copy: EventEnvelope, request: EventEnvelope) -> str:
    """Return why this is no reply to the request; empty when it is."""
    wanted = request.response_event or completion_of(request.type), request.response_topic or EventTopic.ACTION_RESULTS
    if (copy.type, copy.topic) == wanted:
        return platform_only(copy.type)
    return f"{copy.type!r} on {copy.topic} answers no {request.type!r}, whose reply is {wanted[0]!r} on {wanted[1]}"
