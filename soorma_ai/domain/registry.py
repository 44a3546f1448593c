"""What agents say of themselves: the events they take and make, and the shapes of those."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from soorma_ai.domain.conditions import ALWAYS, any_of, check_condition
from soorma_ai.domain.events import EventTopic
from soorma_ai.domain.people import ladder_fault
from soorma_ai.domain.schemas import ANY_OBJECT, SchemaSource, check_schema, schema_of
from soorma_ai.domain.values import Json, JsonObject, compact, derived_id
from soorma_ai.errors import ConfigError

AGENT_GONE_AFTER = timedelta(minutes=5)


@dataclass(frozen=True)
class Approval:
    """When a publish of this event must be approved by a person, and by whom.

    `when` is 'always' or a CEL condition over `payload` and `context` (the goal's data).
    `approvers` are roles, one of which the answering person must have; none means anybody of the tenant.
    `response_schema` describes the answer's payload; the default asks for `approved`.
    `reminders` and `escalate_after` count from the moment of asking. From the escalation on, the roles of `escalate_to`
    may answer, too.
    """

    when: str = ALWAYS
    approvers: tuple[str, ...] = ()
    timeout: timedelta | None = None
    on_expiry: Literal["approve", "reject"] = "reject"
    message: str = ""
    response_schema: JsonObject | None = None
    reminders: tuple[timedelta, ...] = ()
    escalate_after: timedelta | None = None
    escalate_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_condition(self.when)
        if isinstance(self.approvers, str):
            raise ConfigError(f"Approval(approvers={self.approvers!r}) would be its letters; give a tuple of roles")
        if self.response_schema is not None:
            check_schema(self.response_schema)
        if self.on_expiry not in ("approve", "reject"):
            raise ConfigError(f"Approval(on_expiry={self.on_expiry!r}): give 'approve' or 'reject'")
        if fault := ladder_fault(self.reminders, self.escalate_after, self.escalate_to):
            raise ConfigError(f"Approval: {fault}")

    def and_also(self, other: "Approval | None") -> "Approval":
        """Asked for where either is, and silence is a yes only where it is for both. Two that want different people get
        those of the first."""
        if other is None:
            return self
        return replace(
            self,
            when=any_of([self.when, other.when]),
            approvers=self.approvers or other.approvers,
            on_expiry="approve" if (self.on_expiry, other.on_expiry) == ("approve", "approve") else "reject",
        )


def approval_of(value: Approval | str | None) -> Approval | None:
    return Approval(when=value) if isinstance(value, str) else value


class EventDefinition(BaseModel):
    """One event as its owner registers it. Schemas may be given as JSON Schema 2020-12 or as pydantic models.

    Immutable by (tenant, topic, name, version); without a version, the version is made of the content.
    `correlate` finds the plan an outside event belongs to: {pointer into the event's data: path into the plan},
    as in {"/order_id": "goal_data.order_id"}.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    event_name: str
    topic: EventTopic = EventTopic.ACTION_REQUESTS
    description: str = ""
    payload_schema: Annotated[JsonObject, BeforeValidator(schema_of)] = ANY_OBJECT
    response_schema: Annotated[JsonObject, BeforeValidator(schema_of)] | None = None
    version: str = ""
    approval: Annotated[Approval | None, BeforeValidator(approval_of)] = None
    irreversible: bool = False
    correlate: dict[str, str] | None = None

    if TYPE_CHECKING:  # what the validators take is more than what the fields are

        def __init__(
            self,
            *,
            event_name: str,
            topic: EventTopic | str = EventTopic.ACTION_REQUESTS,
            description: str = "",
            payload_schema: SchemaSource = ANY_OBJECT,
            response_schema: SchemaSource | None = None,
            version: str = "",
            approval: Approval | str | None = None,
            irreversible: bool = False,
            correlate: dict[str, str] | None = None,
        ) -> None: ...

    @model_validator(mode="after")
    def _is_well_named(self) -> Self:
        if not self.event_name or self.event_name in set(EventTopic):
            raise ConfigError(f"event_name={self.event_name!r}: give the event's own name; topics are no events")
        if not self.version:
            object.__setattr__(self, "version", self._version_of_content)
        return self

    @property
    def given_version(self) -> str:
        """The one that its author gave it; nothing where it is made of the content."""
        return "" if self.version == self._version_of_content else self.version

    @property
    def _version_of_content(self) -> str:
        content: dict[str, Json] = {"p": self.payload_schema, "r": self.response_schema}
        return derived_id("schema", compact(content))[:8]

    @property
    def dataschema(self) -> str:
        """The URI by which a request names the schema it was checked against."""
        return f"soorma:{self.topic}/{self.event_name}/{self.version}"


class AgentCapability(BaseModel):
    """Describes; it does not subscribe. Only a handler subscribes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_name: str
    description: str = ""
    consumed_event: EventDefinition
    produced_events: tuple[EventDefinition, ...] = ()

    @property
    def result_schema(self) -> JsonObject | None:
        """Of what answers the request: the one result that it produces. Of several, none is known to be the answer."""
        if self.consumed_event.response_schema is not None:
            return self.consumed_event.response_schema
        results = [event for event in self.produced_events if event.topic is EventTopic.ACTION_RESULTS]
        return results[0].payload_schema if len(results) == 1 and results[0].payload_schema != ANY_OBJECT else None

    def complete(self, handled: EventDefinition) -> EventDefinition:
        """What a handler registers, with what this says of the same event. Both hold: where either asks for an
        approval, there is one. Shapes that the handler gives are the ones that it takes and gives."""
        described = self.consumed_event
        payload = described.payload_schema if handled.payload_schema == ANY_OBJECT else handled.payload_schema
        response = handled.response_schema or described.response_schema
        is_as_described = (payload, response) == (described.payload_schema, described.response_schema)
        return EventDefinition(
            event_name=handled.event_name,
            topic=handled.topic,
            description=described.description or handled.description,
            payload_schema=payload,
            response_schema=response,
            version=handled.given_version or (described.given_version if is_as_described else ""),
            approval=handled.approval.and_also(described.approval) if handled.approval else described.approval,
            irreversible=handled.irreversible or described.irreversible,
            correlate=described.correlate,
        )


class AgentKind(StrEnum):
    AGENT = "agent"
    TOOL = "tool"
    WORKER = "worker"
    PLANNER = "planner"


class EventRole(StrEnum):
    """How an agent stands to an event it registers."""

    TAKES = "takes"
    TAKES_AS_GOAL = "takes as goal"
    MAKES = "makes"
    AWAITS = "awaits"


@dataclass(frozen=True)
class Subscription:
    topic: EventTopic
    event_type: str


@dataclass(frozen=True)
class Registration:
    """All that one agent puts into the registry when it starts. `tenant_id` None is an agent shared by all.

    A capability that is only a name describes nothing but itself.
    """

    agent: str
    kind: AgentKind
    description: str = ""
    version: str = "0.1.0"
    tenant_id: str | None = None
    capabilities: tuple[AgentCapability | str, ...] = ()
    events: tuple[tuple[EventRole, EventDefinition], ...] = ()
    subscriptions: tuple[Subscription, ...] = field(default=())


@dataclass(frozen=True)
class RegisteredEvent:
    """A definition with who stands behind it."""

    agent: str
    kind: AgentKind
    role: EventRole
    definition: EventDefinition
