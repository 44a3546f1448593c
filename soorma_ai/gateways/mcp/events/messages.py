"""Messages of MCP Events."""

from typing import Any, Literal

from mcp_types import Notification, NotificationParams, RequestParams, Result
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from soorma_ai.kernel.domain.values import JsonObject

EXTENSION = "io.modelcontextprotocol/events"
NOT_FOUND = -32011
RESOURCE_EXHAUSTED = -32013
UNSUPPORTED = -32014
CALLBACK_ERROR = -32015
MOST_EVENTS = 100

Delivery = Literal["poll", "push", "webhook"]


class _Message(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class EventType(_Message):
    """Entry of the list: a type of events with its schemas."""

    name: str
    description: str | None = None
    delivery: list[Delivery]
    input_schema: dict[str, Any]
    payload_schema: dict[str, Any]


class Occurrence(_Message):
    """Event as a client gets it. `cursor` is the place behind it."""

    event_id: str
    name: str
    timestamp: str
    data: JsonObject
    cursor: str | None = None


class ListEventsParams(RequestParams):
    cursor: str | None = None


class ListEventsResult(Result):
    events: list[EventType]


class ReadEventsParams(RequestParams):
    """Parameters of a poll and of a stream. Without a cursor the reading begins now."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    cursor: str | None = None
    max_age_ms: int | None = Field(default=None, ge=0)


class PollEventsParams(ReadEventsParams):
    max_events: int = Field(default=MOST_EVENTS // 2, ge=1)


class PollEventsResult(Result):
    events: list[Occurrence]
    cursor: str
    truncated: bool
    has_more: bool
    next_poll_ms: int


class StreamEventsResult(Result):
    """Empty result at the end of a stream."""


class Callback(_Message):
    """Receiver of a subscription that is ended."""

    url: str


class WebhookDelivery(Callback):
    """Receiver of a subscription, and its secret for the signatures."""

    mode: str = "webhook"
    secret: str


class SubscribeParams(RequestParams):
    """Parameters of a subscription. `ttl_ms` proposes the time up to its end; None proposes none."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    delivery: WebhookDelivery
    cursor: str | None = None
    ttl_ms: int | None = Field(default=None, ge=0)


class UnsubscribeParams(RequestParams):
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    delivery: Callback


class SubscribeResult(Result):
    """Subscription as granted: its end, and the place up to which its events have a receipt."""

    id: str
    refresh_before: str
    cursor: str
    truncated: bool


class FrameParams(NotificationParams):
    """Parameters of a notification of a stream: the place of the stream, or an event."""

    cursor: str | None = None
    truncated: bool | None = None
    event_id: str | None = None
    name: str | None = None
    timestamp: str | None = None
    data: JsonObject | None = None


class Frame(Notification[FrameParams, str]):
    """Notification of a stream: `active`, `event` or `heartbeat`."""
