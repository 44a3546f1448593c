"""Events, the only messages of the platform: their topics, and their inherited lineage."""

import re
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Literal, NotRequired, Self, TypedDict, Unpack, cast

from msgspec import Struct
from msgspec.structs import asdict
from pydantic import (
    AliasChoices,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from soorma_ai.errors import LocalProtocolError, RemoteProtocolError
from soorma_ai.kernel.domain.parameters import WireForm
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import (
    UNSTORABLE,
    JsonObject,
    copy_of_json,
    derived_id,
    is_finite,
    is_storable,
    storable_copy,
)

# Sources of events: CLIENT of what comes from outside, SYSTEM of what the platform publishes itself.
CLIENT = "client"
SYSTEM = "soorma"

_EXTENSION_NAME = re.compile(r"[a-z0-9]+\Z")
_Text = Annotated[str, Field(min_length=1)]


class EventTopic(StrEnum):
    """Topics. An event is published on one of them; its type is independent of the topic."""

    BUSINESS_FACTS = "business-facts"
    ACTION_REQUESTS = "action-requests"
    ACTION_RESULTS = "action-results"
    BILLING_EVENTS = "billing-events"
    NOTIFICATION_EVENTS = "notification-events"
    SYSTEM_EVENTS = "system-events"
    PLAN_EVENTS = "plan-events"
    TASK_EVENTS = "task-events"


# Parameter of a call.
Topic = Annotated[EventTopic | str, WireForm(EventTopic)]


_TOPICS = frozenset(EventTopic)


def name_fault(given: object) -> str:
    """Return why an event cannot be called this; empty when it can."""
    if not isinstance(given, str) or not given:
        return "give the event's own name, as text"
    if given in _TOPICS:
        return "it is a topic; give the event's own name"
    if any(character.isspace() or not character.isprintable() for character in given):
        return "the name of an event has no blanks; give one like 'order.placed'"
    return ""


def topic_of(topic: EventTopic | str) -> EventTopic:
    try:
        return EventTopic(topic)
    except ValueError as error:
        raise LocalProtocolError(f"{topic!r} is no topic; there are {', '.join(EventTopic)}") from error


class Lineage(Record, frozen=True):
    """Fields inherited by an event from its cause, without the reply key. `hops` counts the changes of store among the
    requests leading to it, and `depth` the planners in a row up to the last of these.

    Four are the rest of the breaker's bounds (`rules.breaker`): further requests within each other, further facts in a
    row, further descendants of this event, and the root of these.
    """

    tenant_id: str = "default"
    user_id: str = "local"
    session_id: str | None = None
    goal_id: str | None = None
    plan_id: str | None = None
    root_plan_id: str | None = None
    deadline: datetime | None = None
    traceparent: str | None = None
    hops: int | None = None
    depth: int | None = None
    nesting_left: int | None = None
    hops_left: int | None = None
    share: int | None = None
    origin: str | None = None


_LIMITS = frozenset({"nesting_left", "hops_left", "share", "origin"})
_set = object.__setattr__
_lineage_of = attrgetter(*Lineage.__struct_fields__)


class ReplyAddress(Struct, frozen=True):
    """Address of an answer, and its reply key."""

    correlation_id: str
    response_event: str
    response_topic: EventTopic = EventTopic.ACTION_RESULTS


def _wire_name(attribute: str) -> str:
    """Return the CloudEvents attribute name, without underscores; a deadline has a published extension."""
    return "expirytime" if attribute == "deadline" else attribute.replace("_", "")


class _CopiedData(Struct, frozen=True):
    """Data of an event that nothing else holds."""

    data: JsonObject


class _EventData:
    """Annotation of an event's data: given values are copied as a whole, not checked one by one."""

    @staticmethod
    def __get_pydantic_core_schema__(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        checked = handler(source)

        def take(value: object, check: ValidatorFunctionWrapHandler) -> object:
            if value.__class__ is _CopiedData:
                return cast("_CopiedData", value).data
            copy = copy_of_json(value)
            return check(value) if copy is None else copy

        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(_must_be_finite, checked),
            python_schema=core_schema.no_info_wrap_validator_function(take, checked),
        )


def _must_be_finite(data: JsonObject) -> JsonObject:
    if not is_finite(data):
        raise ValueError("numbers are finite: JSON has neither NaN nor Infinity")
    return data


class EventEnvelope(BaseModel):
    """A CloudEvents 1.0 event. `to_json` is its structured JSON form; attributes it does not know survive."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        populate_by_name=True,
        alias_generator=_wire_name,
        allow_inf_nan=False,
        defer_build=True,
    )

    specversion: Literal["1.0"] = "1.0"
    """Version of CloudEvents."""
    id: _Text
    """Id of the event."""
    source: _Text
    """Agent or client that made it."""
    type: Annotated[
        str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$", validation_alias=AliasChoices("type", "event_type"))
    ]
    """Name of the event, in one line: a prompt shows it outside of any fence."""
    topic: EventTopic
    """Topic of the event."""
    time: AwareDatetime
    """Moment of its making."""
    data: Annotated[JsonObject, _EventData] = Field(default_factory=dict)
    """Payload."""
    datacontenttype: _Text = "application/json"
    """Media type of the data."""
    subject: _Text | None = None
    """Thing or person concerned by the event."""
    dataschema: _Text | None = None
    """URI of the schema of its data."""
    correlation_id: str | None = None
    """Reply key."""
    causation_id: str | None = None
    """Id of the causing event."""
    response_event: str | None = None
    """Name of the wanted answer; None for an event without one."""
    response_topic: EventTopic | None = None
    """Topic of the wanted answer."""
    tenant_id: str = "default"
    """Tenant of the event."""
    user_id: str = "local"
    """User of the event."""
    session_id: str | None = None
    """Conversation of the event."""
    goal_id: str | None = None
    """Id of the goal behind it."""
    plan_id: str | None = None
    """Plan of the event."""
    root_plan_id: str | None = None
    """Root of that plan's tree."""
    deadline: AwareDatetime | None = None
    """Moment after which its answer comes too late."""
    traceparent: str | None = None
    """Trace context of the W3C."""
    hops: Annotated[int, Field(ge=0)] | None = None
    """Changes of store among the requests leading to it."""
    depth: Annotated[int, Field(ge=0)] | None = None
    """Planners in a row, up to the last change of store."""
    nesting_left: Annotated[int, Field(ge=0)] | None = None
    """Further requests allowed within each other."""
    hops_left: Annotated[int, Field(ge=0)] | None = None
    """Further facts allowed in a row."""
    share: Annotated[int, Field(ge=0)] | None = None
    """Further descendants allowed."""
    origin: str | None = None
    """Root of these limits."""
    target: str | None = None
    """One agent, or one capability, as the only taker."""
    answers: str | None = None
    """Set by the framework: id of the answered request."""
    unchecked: bool | None = None
    """Set by the framework: the request had no definition at its publication."""
    own: bool | None = None
    """Set by the framework: the sender may meet their own waits only."""
    stays: bool | None = None
    """Set by the framework: a request of another store, for agents of this one alone."""

    @model_validator(mode="after")
    def _extensions_are_cloudevents(self) -> Self:
        extra = self.__pydantic_extra__
        for name, value in extra.items() if extra else ():
            if not _EXTENSION_NAME.match(name):
                raise ValueError(f"{name!r} is no attribute of an event; extension names match [a-z0-9]+")
            if not isinstance(value, str | int | None):
                raise ValueError(f"extension {name!r} is {value!r}; give a string, an integer or a boolean")
        return self

    @property
    def event_type(self) -> str:
        """Return the type, under its name in handlers."""
        return self.type

    @property
    def lineage(self) -> Lineage:
        """Return the lineage for effects of this event."""
        return Lineage(*_lineage_of(self))

    def within_limits(self, nesting_left: int, hops_left: int, share: int, origin: str) -> Self:
        """Return a copy with these remaining limits, `nesting_left`, `hops_left` and `share`, of the root `origin`.
        Every published event is copied so, and `model_copy` costs more than twice as much."""
        cls = self.__class__
        copy = cls.__new__(cls)
        limits = {"nesting_left": nesting_left, "hops_left": hops_left, "share": share, "origin": origin}
        _set(copy, "__dict__", {**self.__dict__, **limits})
        _set(copy, "__pydantic_extra__", self.__pydantic_extra__)
        _set(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__ | _LIMITS)
        _set(copy, "__pydantic_private__", None)
        return copy

    def to_json(self) -> str:
        """Return the event as CloudEvents 1.0 JSON."""
        return self.model_dump_json(by_alias=True, exclude_none=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read an event from JSON `text`. Raises RemoteProtocolError for anything else."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise RemoteProtocolError(f"not a CloudEvents 1.0 event: {error}") from error


class EventFields(TypedDict, total=False):
    """Optional fields of an event, beside its data."""

    correlation_id: str | None
    reply_to: ReplyAddress | None
    """Address of the reply: the event is a request, and the reply key becomes its correlation id."""
    subject: str | None
    dataschema: str | None
    target: str | None
    """The one agent that a goal is for."""
    answers: str | None
    """Request that the event answers."""


class NewEventFields(EventFields):
    """Fields of an event beside its lineage."""

    event_id: str
    source: str
    topic: EventTopic
    type: str
    data: JsonObject
    time: datetime
    causation_id: NotRequired[str | None]


def new_event(lineage: Lineage, **fields: Unpack[NewEventFields]) -> EventEnvelope:
    """Make an event with this lineage. Raise LocalProtocolError for an event impossible to store."""
    type, data = fields["type"], fields["data"]
    if type in _TOPICS:
        raise LocalProtocolError(f"{type!r} is a topic, and no event; give the event's own name")
    copied = storable_copy(data)
    if copied is None and not is_storable(data):
        raise LocalProtocolError(f"the data of {type!r} cannot be kept: {UNSTORABLE}")
    given: dict[str, object] = {**asdict(lineage), **fields, "id": fields["event_id"]}
    if copied is not None:
        given["data"] = _CopiedData(copied)
    del given["event_id"]
    if isinstance(reply_to := given.pop("reply_to", None), ReplyAddress):
        given |= asdict(reply_to)
    try:
        return EventEnvelope.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"][:2]))
        raise LocalProtocolError(f"no event {type!r} can be made: {place}: {fault['msg']}") from error


def caused_id(cause_id: str, source: str, ordinal: int, type: str) -> str:
    """Return the id of the `ordinal`-th event that `source` makes of one cause: a second handling makes the same
    event."""
    return derived_id("event", cause_id, source, str(ordinal), type)


def completion_of(request_type: str) -> str:
    """Return the default name of the reply."""
    return f"{request_type}.completed"
