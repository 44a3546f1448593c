"""Events: published from outside, and read as they stand in the log."""

from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import Field

from soorma_ai.api.answers import HeldAnswer, PlacedEvent, Published
from soorma_ai.api.operation import Answer, Stream, operations
from soorma_ai.api.paging import Page, make_page
from soorma_ai.api.server.app_state import Call
from soorma_ai.api.server.streams import follow_log
from soorma_ai.errors import Held, IllegalTransition, NotFound
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.parameters import Fields, Id, Limit, Name, Position
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.client.client import EVENTS

HANDLERS = CallTable()


class PublishForm(Fields, frozen=True):
    """Fields of an event to publish."""

    topic: EventTopic
    event_type: Name
    data: JsonObject | None = None
    correlation_id: Id | None = None
    plan_id: Id | None = None
    session_id: Id | None = None
    approve: bool = False


class LogFields(Fields, frozen=True):
    """Conditions on events of the log."""

    after: Position = 0
    limit: Limit = 100
    order: Literal["oldest", "newest"] = "oldest"
    plan_id: Id | None = None
    event_type: Name | None = None
    topic: EventTopic | None = None


@HANDLERS(
    "POST /events",
    EVENTS["publish"],
    "publish",
    answers={HTTPStatus.CREATED: Published, HTTPStatus.ACCEPTED: HeldAnswer},
    raises=(NotFound, IllegalTransition),
)
async def publish(call: Call, fields: PublishForm, idempotency_key: str | None = None) -> Answer:
    """Publish an event. `plan_id` or `correlation_id` say which plan waits for it. A request among action-requests may
    have to be approved by a person first: 202."""
    try:
        event_id = await call.client.publish(
            fields.topic,
            fields.event_type,
            fields.data or {},
            idempotency_key=idempotency_key,
            correlation_id=fields.correlation_id,
            plan_id=fields.plan_id,
            session_id=fields.session_id,
            approve=fields.approve,
        )
    except Held as held:
        return Answer(HeldAnswer.of(held), HTTPStatus.ACCEPTED)
    return Answer(Published(event_id=event_id), HTTPStatus.CREATED)


@HANDLERS(
    "GET /events", EVENTS["events"], "list_events", answers={HTTPStatus.OK: Page[PlacedEvent]}, raises=(NotFound,)
)
async def list_events(call: Call, fields: LogFields) -> Answer:
    """List events in order of arrival, or the newest first: of all, or of a plan's tree. A page may be short, or empty,
    before the end.

    `after` is a place of the log: events behind it are listed, or with the order `newest` those before it, backwards,
    and from the end if it is 0.
    """
    is_newest = fields.order == "newest"
    page = await call.client.events(after=fields.after, limit=fields.limit, plan_id=fields.plan_id, newest=is_newest)
    rows = [
        PlacedEvent(row.seq, row.event)
        for row in page.events
        if fields.event_type in (None, row.event.type) and fields.topic in (None, row.event.topic)
    ]
    return Answer(make_page(rows, None if page.is_end else str(page.after)))


@HANDLERS("GET /events/stream", EVENTS["events"], "stream_events", answers={HTTPStatus.OK: str})
async def stream_events(
    call: Call,
    after: Annotated[int, Field(ge=0, le=2**62)] | None = None,
    named: bool = False,
    last_event_id: int | None = None,
) -> Stream:
    """Send events as they arrive: from now on, or from behind a place of the log.

    Each is a CloudEvent, with its place in the log as its id; with the last id, a client continues without a gap. With
    `named`, the type of each is its `event:` name.
    """
    begin = after if last_event_id is None else last_event_id
    return Stream(follow_log(call.client, call.surroundings, begin, named=named))


OPERATIONS = (*operations(HANDLERS, "events"), *operations(EVENTS, "events", lambda call: call.client))
