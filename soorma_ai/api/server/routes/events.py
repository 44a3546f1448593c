"""Events: published from outside, and read as they stand in the log."""

from http import HTTPStatus
from typing import Literal

from pydantic import Field

from soorma_ai.api.paging import make_page
from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Limit,
    Name,
    Nothing,
    Page,
    Stream,
    get,
    post,
)
from soorma_ai.api.server.routes.common import HeldAnswer, Made
from soorma_ai.api.server.streams import follow_log
from soorma_ai.errors import Held
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.values import JsonObject


class Publication(Form):
    """An event from outside. `plan_id` or `correlation_id` say which plan waits for it."""

    topic: EventTopic
    event_type: Name
    data: JsonObject = Field(default_factory=dict)
    correlation_id: Id | None = None
    plan_id: Id | None = None
    session_id: Id | None = None
    approve: bool = False


class Published(Made):
    event_id: str


class Events(Form):
    """`after` is a place of the log: events are listed from behind it on, or with the order `newest` from before it
    back, and from the end where it is 0. Of a tree of plans are the events of `plan_id`."""

    after: int = Field(0, ge=0, le=2**62)
    limit: Limit = 100
    order: Literal["oldest", "newest"] = "oldest"
    plan_id: Id | None = None
    event_type: Name | None = None
    topic: EventTopic | None = None


class Row(Made):
    """An event, and its place in the log."""

    seq: int
    event: EventEnvelope


class From(Form):
    after: int | None = Field(None, ge=0, le=2**62)


async def publish(call: Call[Nothing, Publication]) -> Answer:
    """Publish an event. A request among action-requests may have to be approved by a person first: 202."""
    sent = call.sent
    try:
        event_id = await call.client.publish(
            sent.topic,
            sent.event_type,
            sent.data,
            idempotency_key=call.key,
            correlation_id=sent.correlation_id,
            plan_id=sent.plan_id,
            session_id=sent.session_id,
            approve=sent.approve,
        )
    except Held as held:
        return Answer(HeldAnswer.of(held), HTTPStatus.ACCEPTED)
    return Answer(Published(event_id=event_id), HTTPStatus.CREATED)


async def list_events(call: Call[Events, Nothing]) -> Answer:
    """List events in order of arrival, or the newest first: of all, or of a plan's tree. A page may be short, or empty,
    before the end."""
    asked = call.asked
    page = await call.client.events(
        after=asked.after, limit=asked.limit, plan_id=asked.plan_id, newest=asked.order == "newest"
    )
    rows = [
        Row.model_construct(seq=row.seq, event=row.event)
        for row in page.events
        if asked.event_type in (None, row.event.type) and asked.topic in (None, row.event.topic)
    ]
    return Answer(make_page(rows, None if page.is_end else str(page.after)))


async def stream_events(call: Call[From, Nothing]) -> Stream:
    """Send events as they come: from now on, or from behind a place of the log.

    Each is a CloudEvent, with its place in the log as its id, by which who comes again misses nothing.
    """
    after = call.asked.after if call.last_event_id is None else call.last_event_id
    return Stream(follow_log(call.client, call.surroundings, after))


OPERATIONS: tuple[AnyOperation, ...] = (
    post(
        "/v1/events",
        publish,
        Nothing,
        Publication,
        {HTTPStatus.CREATED: Published, HTTPStatus.ACCEPTED: HeldAnswer},
        NOT_FOUND,
        CONFLICT,
        takes_key=True,
    ),
    get("/v1/events", list_events, Events, Page[Row], NOT_FOUND),
    get("/v1/events/stream", stream_events, From, str, streams=True),
)
