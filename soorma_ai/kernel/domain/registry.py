"""Agents in the registry: their events, taken and made, and the schemas of these."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Self, TypedDict, Unpack

from msgspec.structs import force_setattr, replace
from pydantic import BeforeValidator, model_validator

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.approvals import Approval, approval_of
from soorma_ai.kernel.domain.events import EventTopic, name_fault
from soorma_ai.kernel.domain.names import agent_key, plain_name
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, SchemaSource, schema_of
from soorma_ai.kernel.domain.values import Frozen, Json, JsonObject, compact, derived_id

AGENT_GONE_AFTER = timedelta(minutes=5)


class DefinitionOptions(TypedDict, total=False):
    """Fields of an `EventDefinition` beside its name, in all accepted types."""

    topic: EventTopic | str
    """Topic of the event; action-requests by default."""
    description: str
    """Description for planners."""
    payload_schema: SchemaSource
    """Schema of the data: JSON Schema, or a pydantic model."""
    response_schema: SchemaSource | None
    """Schema of the result."""
    version: str
    """Version of the schemas; by default made of their content."""
    replaces: str | Sequence[str]
    """Former versions, one or several, that this narrower one may break."""
    approval: Approval | str | None
    """Approval that a planner's publish waits for."""
    irreversible: bool
    """True for an effect without a way back."""
    correlate: dict[str, str] | None
    """Plan of an outside event: {pointer into its data: path into the plan}."""
    when_to_use: str
    """Situations for the event."""
    not_for: str
    """Situations for other events."""
    synonyms: Sequence[str]
    """Other words for it."""


def _names_of(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given


class EventDefinition(Frozen):
    """Event, as registered by its owner. Schemas may be given as JSON Schema 2020-12 or as pydantic models.

    Immutable by (tenant, topic, name, version); the default version is made of the content. A narrower version that
    would break open work is refused, unless `replaces` names the former one. An `irreversible` event
    always needs a person's approval, unless `approval` sets a condition. `correlate` finds the plan of an outside
    event: {pointer into the event's data: path into the plan}, as in {"/order_id": "goal_data.order_id"}.
    `when_to_use`, `not_for` and `synonyms` are words beside the description's, for a planner to find it among many.
    """

    event_name: str
    """Name of the event."""
    topic: EventTopic = EventTopic.ACTION_REQUESTS
    """Topic of the event."""
    description: str = ""
    """Description for planners."""
    payload_schema: Annotated[JsonObject, BeforeValidator(schema_of)] = ANY_OBJECT
    """Schema of the data."""
    response_schema: Annotated[JsonObject, BeforeValidator(schema_of)] | None = None
    """Schema of the result."""
    version: str = ""
    """Version of the schemas."""
    replaces: Annotated[tuple[str, ...], BeforeValidator(_names_of)] = ()
    """Former versions that this one may break."""
    approval: Annotated[Approval | None, BeforeValidator(approval_of)] = None
    irreversible: bool = False
    correlate: dict[str, str] | None = None
    when_to_use: str = ""
    not_for: str = ""
    synonyms: tuple[str, ...] = ()

    if TYPE_CHECKING:  # the validators take more types than the fields have

        def __init__(self, *, event_name: str, **options: Unpack[DefinitionOptions]) -> None: ...

    @model_validator(mode="after")
    def _is_well_named(self) -> Self:
        if fault := name_fault(self.event_name):
            raise ConfigError(f"event_name={self.event_name!r}: {fault}")
        if self.irreversible and self.approval is not None and self.approval.on_expiry == "approve":
            raise ConfigError(f"{self.event_name!r} is irreversible: silence (on_expiry='approve') cannot let it go")
        if not self.version:
            object.__setattr__(self, "version", self._version_of_content)
        if self.irreversible and self.approval is None:
            object.__setattr__(self, "approval", Approval())
            self.model_fields_set.discard("approval")
        return self

    @property
    def given_approval(self) -> Approval | None:
        """Approval declared by its author."""
        return self.approval if "approval" in self.model_fields_set else None

    @property
    def given_version(self) -> str:
        """Version declared by its author; empty for one made of the content."""
        return "" if self.version == self._version_of_content else self.version

    @property
    def _version_of_content(self) -> str:
        content: dict[str, Json] = {"p": self.payload_schema, "r": self.response_schema}
        return derived_id("schema", compact(content))[:8]

    @property
    def dataschema(self) -> str:
        """The URI of the schema, carried by a checked request."""
        return f"{_schemas_of(self.topic, self.event_name)}{self.version}"


def _schemas_of(topic: EventTopic, event_name: str) -> str:
    """Return the URI of an event's schemas, up to the version."""
    return f"soorma:{topic}/{event_name}/"


@lru_cache(maxsize=1024)
def version_in(dataschema: str, topic: EventTopic, event_name: str) -> str | None:
    """Return the version in the URI of an event's schema; None for any other URI."""
    beginning = _schemas_of(topic, event_name)
    return dataschema[len(beginning) :] if dataschema.startswith(beginning) else None


class AgentCapability(Frozen):
    """Description of an agent's ability. It subscribes to nothing; only a handler does.

    `when_to_use`, `not_for` and `synonyms` belong to its consumed event.
    """

    task_name: str
    """Name of the capability."""
    description: str = ""
    """Description for planners."""
    consumed_event: EventDefinition
    """Request of the capability."""
    produced_events: tuple[EventDefinition, ...] = ()
    """Its possible answers."""
    when_to_use: str = ""
    not_for: str = ""
    synonyms: tuple[str, ...] = ()

    @property
    def result_schema(self) -> JsonObject | None:
        """Schema of the answer: the declared one, else that of its only produced result."""
        if self.consumed_event.response_schema is not None:
            return self.consumed_event.response_schema
        results = [event for event in self.produced_events if event.topic is EventTopic.ACTION_RESULTS]
        return results[0].payload_schema if len(results) == 1 and results[0].payload_schema != ANY_OBJECT else None

    def complete(self, handled: EventDefinition) -> EventDefinition:
        """Return a handler's definition `handled`, completed by this description of the same event. An approval of
        either applies; the handler's own schemas are kept."""
        described = self.consumed_event
        payload = described.payload_schema if handled.payload_schema == ANY_OBJECT else handled.payload_schema
        response = handled.response_schema or described.response_schema
        asked, also_asked = handled.given_approval, described.given_approval
        is_as_described = (payload, response) == (described.payload_schema, described.response_schema)
        return EventDefinition(
            event_name=handled.event_name,
            topic=handled.topic,
            description=described.description or handled.description,
            payload_schema=payload,
            response_schema=response,
            version=handled.given_version or (described.given_version if is_as_described else ""),
            replaces=(*handled.replaces, *described.replaces),
            approval=asked.combine(also_asked) if asked else also_asked,
            irreversible=handled.irreversible or described.irreversible,
            correlate=described.correlate,
            when_to_use=self.when_to_use or described.when_to_use or handled.when_to_use,
            not_for=self.not_for or described.not_for or handled.not_for,
            synonyms=tuple(dict.fromkeys((*self.synonyms, *described.synonyms, *handled.synonyms))),
        )


class AgentKind(StrEnum):
    AGENT = "agent"
    TOOL = "tool"
    WORKER = "worker"
    PLANNER = "planner"


class EventRole(StrEnum):
    """Use of a registered event by its agent."""

    TAKES = "takes"
    TAKES_AS_GOAL = "takes as goal"
    MAKES = "makes"
    AWAITS = "awaits"


TAKEN = (EventRole.TAKES, EventRole.TAKES_AS_GOAL)


class Subscription(Record, frozen=True):
    topic: EventTopic
    event_type: str


class Registration(Record, frozen=True):
    """Registry entry of an agent at its start. `agent` is its key, made of its name; see `domain.names`. `tenant_id`
    None: all tenants share it. `store` is its store, empty for this one. `model` is the model of a planner.

    A capability with only a name describes nothing else.
    """

    agent: str
    kind: AgentKind
    description: str = ""
    version: str = "0.1.0"
    tenant_id: str | None = None
    capabilities: tuple[AgentCapability | str, ...] = ()
    events: tuple[tuple[EventRole, EventDefinition], ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    store: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        """Raise ConfigError for another tenant's key as a name."""
        force_setattr(self, "agent", agent_key(self.tenant_id, self.agent))

    @property
    def name(self) -> str:
        return plain_name(self.agent)


class RegisteredEvent(Record, frozen=True):
    """Definition, and the key of its registering agent."""

    agent: str
    kind: AgentKind
    role: EventRole
    definition: EventDefinition


class DiscoveredAgent(Record, frozen=True):
    """Registered agent, in the view of others; `agent_id` is its key. A capability with only a name has no events.
    `meets` lists the met requirements."""

    agent_id: str
    name: str
    """Name of the agent."""
    description: str
    """Description of the agent."""
    version: str
    """Version of the agent."""
    capabilities: tuple[AgentCapability | str, ...]
    """Capabilities, described or only named."""
    kind: AgentKind = AgentKind.AGENT
    """Kind of the agent."""
    events: tuple[tuple[EventRole, EventDefinition], ...] = ()
    """Registered events, each with its use."""
    live: bool = True
    """False for a gone agent."""
    meets: tuple[str, ...] = ()

    def has(self, capability: str) -> bool:
        """Tell whether the agent registered a `capability` of this name."""
        return capability in map(name_of, self.capabilities)

    @property
    def produced(self) -> tuple[EventDefinition, ...]:
        """Answers described by its capabilities."""
        described = (one for one in self.capabilities if not isinstance(one, str))
        return tuple(made for one in described for made in one.produced_events)

    def get_consumed_event_schema(self, capability: str) -> EventDefinition | None:
        """Return the request of the `capability`; None for one without a description."""
        found = self._description_of(capability)
        return found.consumed_event if found else None

    def get_produced_event_schema(self, capability: str) -> EventDefinition | None:
        """Return the first possible answer of the `capability`; None without any."""
        found = self._description_of(capability)
        return found.produced_events[0] if found and found.produced_events else None

    def _description_of(self, capability: str) -> AgentCapability | None:
        found = (one for one in self.capabilities if not isinstance(one, str))
        return next((one for one in found if one.task_name == capability), None)


class Discovery(list[DiscoveredAgent]):
    """Agents with any of the requirements. `unmet` are the requirements without an agent."""

    def __init__(self, agents: Iterable[DiscoveredAgent] = (), unmet: Iterable[str] = ()) -> None:
        super().__init__(agents)
        self.unmet = tuple(unmet)


def name_of(capability: AgentCapability | str) -> str:
    return capability if isinstance(capability, str) else capability.task_name


class Backlog(Record, frozen=True):
    """Unfinished deliveries to an agent: `waiting` in line, and `in_hand`. `since` is the moment of the oldest event
    among them."""

    agent: str
    waiting: int
    in_hand: int
    since: datetime


def discover(agents: Sequence[DiscoveredAgent], requirements: Iterable[str]) -> Discovery:
    """Return the agents with any of these capabilities, those with the most first, then in the given order, each with
    its own. Without requirements, return all of them."""
    wanted = tuple(dict.fromkeys(requirements))
    if not wanted:
        return Discovery(agents)
    found = [replace(one, meets=_capabilities_of(one, wanted)) for one in agents]
    met = {requirement for one in found for requirement in one.meets}
    ranked = sorted((one for one in found if one.meets), key=lambda one: -len(one.meets))
    return Discovery(ranked, (requirement for requirement in wanted if requirement not in met))


def _capabilities_of(agent: DiscoveredAgent, wanted: tuple[str, ...]) -> tuple[str, ...]:
    can = set(map(name_of, agent.capabilities))
    return tuple(requirement for requirement in wanted if requirement in can)
