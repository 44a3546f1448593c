"""Base class of all agents: a name, and handlers for events."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast, overload

from typing_extensions import TypedDict, Unpack

from soorma_ai.agents.annotations import Handler
from soorma_ai.agents.arguments import describe, must_be_number, must_be_text, several
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.handler_options import (
    MISSING,
    HandlerOptions,
    RegisteredHandler,
    handler_of,
    most_attempts,
    must_be_name,
    must_take,
)
from soorma_ai.agents.mounts import Door, Inlet
from soorma_ai.agents.threads import Threads
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventTopic, topic_of
from soorma_ai.kernel.domain.names import agent_key
from soorma_ai.kernel.domain.registry import (
    AgentCapability,
    AgentKind,
    EventDefinition,
    EventRole,
    Registration,
    Subscription,
)
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import JsonObject, span_of
from soorma_ai.kernel.rules.delivery.route import is_pattern
from soorma_ai.kernel.runtime.flow import Route
from soorma_ai.kernel.runtime.handling.handling import Handling, Services
from soorma_ai.kernel.runtime.handling.process.models import Models
from soorma_ai.kernel.runtime.handling.replies import tell_requester
from soorma_ai.process import AgentProcess

H = TypeVar("H", bound=Handler)
Hook = Callable[[], Any]

HANDLER_TIMEOUT = timedelta(hours=1)

EventLike = EventDefinition | str


class AgentOptions(TypedDict, total=False):
    """Options of every kind of agent."""

    version: str
    """Version of the agent; "0.1.0" by default."""
    capabilities: Iterable[AgentCapability | str]
    """Descriptions of its work, for planners and for the registry."""
    events_consumed: Iterable[EventLike]
    """Events that must have a handler when the agent is started. A handler alone consumes. An `EventDefinition` gives
    the handler of its event everything that the decorator leaves out."""
    events_produced: Iterable[EventLike]
    """Facts that it may publish, so that plans can wait for them."""
    tenant_id: str | None
    """Tenant of the agent. None, the default, is an agent shared by all tenants."""
    max_in_flight: int
    """Most deliveries in its handlers at once; 64 by default."""
    handler_timeout: timedelta
    """Longest run of a handler, by default an hour. A later handler is cancelled, left behind if it goes on
    nevertheless, and tried again as after a lost connection."""


class Agent(AgentProcess):
    """Long-lived program without any other interface than events. Decorators register handlers: they record a route and
    return the function unchanged. Plain `def` handlers run in threads of their agent. `name` is its name in the
    registry, `description` its description for planners.

    For the options see `AgentOptions`.
    """

    kind = AgentKind.AGENT

    def __init__(self, name: str, description: str = "", **options: Unpack[AgentOptions]) -> None:
        must_be_agent(name)
        must_know(f"agent {name}", options, AgentOptions)
        self.name = name
        self.description = description
        self.version = options.get("version", "0.1.0")
        self.tenant_id = options.get("tenant_id")
        self.max_in_flight = options.get("max_in_flight", 64)
        self.handler_timeout = span("handler_timeout", name, options.get("handler_timeout", HANDLER_TIMEOUT))
        self.capabilities = list(several("capabilities", options.get("capabilities", ())))
        consumed = several("events_consumed", options.get("events_consumed", ()))
        self._promised = definitions_of("events_consumed", consumed, EventTopic.ACTION_REQUESTS)
        self._given = [one for one in consumed if isinstance(one, EventDefinition)]
        made = options.get("events_produced", ())
        self._made = definitions_of("events_produced", made, EventTopic.BUSINESS_FACTS)
        self._check_arguments()
        self._taken: list[tuple[EventRole, EventDefinition]] = []
        self._routes: list[Route] = []
        self._on_startup: list[Hook] = []
        self._on_shutdown: list[Hook] = []
        self._services: Services | None = None
        self._threads = Threads(name)

    def _check_arguments(self) -> None:
        who = f"agent {self.name}"
        must_be_text(who, "version", self.version)
        if self.tenant_id is not None:
            must_be_text(who, "tenant_id", self.tenant_id)
        if not isinstance(cast(object, self.description), str):
            raise ConfigError(f"{who}: description={describe(self.description)}: give text")
        must_be_number(who, "max_in_flight", self.max_in_flight, 1)
        for one in self.capabilities:
            if not isinstance(cast(object, one), AgentCapability | str):
                raise ConfigError(f"{who}: capabilities=[{describe(one)}]: give names, or AgentCapability objects")

    @property
    def agent_id(self) -> str:
        """Return its key in the registry: its name, with its tenant if it has one."""
        return agent_key(self.tenant_id, self.name)

    @property
    def events_consumed(self) -> list[str]:
        """Events with a handler."""
        named = [route.event_type for route in self._routes if route.topic is not None]
        return [event_type for event_type in named if not is_pattern(event_type)]

    @property
    def events_produced(self) -> list[str]:
        """Facts of this agent, declared by `events_produced=`."""
        return [definition.event_name for definition in self._made]

    @overload
    def on_event(self, event_type: str, topic: EventTopic, **options: Unpack[HandlerOptions]) -> Callable[[H], H]: ...

    @overload
    def on_event(self, event_type: str, topic: str, **options: Unpack[HandlerOptions]) -> Callable[[H], H]: ...

    @overload
    def on_event(self, event_type: EventDefinition, **options: Unpack[HandlerOptions]) -> Callable[[H], H]: ...

    def on_event(
        self, event_type: EventLike, topic: EventTopic | str = "", **options: Unpack[HandlerOptions]
    ) -> Callable[[H], H]:
        """Register a handler, called with `(event, context)`. For the options see `HandlerOptions`.

        `event_type` is a definition, with a topic of its own, or a name. A name may be a pattern: 'order.*' for any
        ending, '*' for every type of the topic. Among several matching handlers the most exact one gets the event.
        Raise ConfigError for an invalid topic; a name needs one.
        """
        if isinstance(event_type, EventDefinition):
            topic = topic or event_type.topic
        event_type = self._take_given("on_event", event_type, topic, "'order.placed', 'business-facts'")
        where = _topic(f"on_event({event_type!r})", topic)
        is_a_pattern = is_pattern(event_type)

        def register(handler: H) -> H:
            hearing = handler_of(f"on_event({event_type!r})", handler, options)

            async def decide(handling: Handling) -> None:
                await self._hear(handling, hearing)

            definition = None if is_a_pattern else EventDefinition(event_name=event_type, topic=where)
            most = most_attempts([hearing])
            self._take(Route(where, event_type, decide, self._event_failed, attempts=most), definition)
            return handler

        return register

    def on_startup(self, hook: H = MISSING) -> H:
        """Register a `hook` without arguments, called before the agent's first event."""
        must_take(0, "on_startup", hook)
        self._on_startup.append(hook)
        return hook

    def on_shutdown(self, hook: H = MISSING) -> H:
        """Register a `hook` without arguments, called after the agent's last event."""
        must_take(0, "on_shutdown", hook)
        self._on_shutdown.append(hook)
        return hook

    def routes(self) -> Sequence[Route]:
        """Return its handlers, as routes for the platform."""
        return tuple(self._routes)

    def registration(self) -> Registration:
        """Return its entry for the registry."""
        made = [(EventRole.MAKES, definition) for definition in self._made]
        return Registration(
            agent=self.name,
            kind=self.kind,
            description=self.description,
            version=self.version,
            tenant_id=self.tenant_id,
            capabilities=tuple(self.capabilities),
            events=(*self._taken, *made),
            subscriptions=tuple(Subscription(r.topic, r.event_type) for r in self._routes if r.topic is not None),
        )

    def take_reasoner(self, models: Models) -> None:
        """Take a reasoner for its model; the platform calls this at the start with the `models` of its process."""

    async def prepare(self) -> None:
        """Read parts of its registration from outside; the platform calls it before the check."""

    def check(self) -> None:
        """Raise ConfigError for every fault visible before the start."""
        hears = self.events_consumed or any(route.topic is not None for route in self._routes)
        if not (hears or self._made or self._on_startup or isinstance(self, Inlet | Door)):
            raise ConfigError(f"{self.kind} {self.name} has no handler and makes no event: nothing would ever reach it")
        heard = self.events_consumed
        if deaf := [one.event_name for one in self._promised if one.event_name not in heard]:
            raise ConfigError(
                f"agent {self.name}: events_consumed names {', '.join(map(repr, deaf))}, and no handler takes it; "
                f"register one, or leave the name out. It has handlers for {', '.join(heard) or 'nothing'}"
            )

    async def started(self, services: Services) -> None:
        """Run the hooks of `on_startup`; the platform calls it before the first event."""
        self._services = services
        for hook in self._on_startup:
            await self._threads.call(hook)

    async def stopped(self) -> None:
        """Run the hooks of `on_shutdown`; the platform calls it after the last event."""
        self._services = None
        try:
            for hook in self._on_shutdown:
                await self._threads.call(hook)
        finally:
            self._threads.close()

    def _take(self, route: Route, definition: EventDefinition | None, role: EventRole = EventRole.TAKES) -> None:
        if any((r.topic, r.event_type) == (route.topic, route.event_type) for r in self._routes):
            raise ConfigError(f"{self.name} has two handlers for {route.event_type!r} on {route.topic}; keep one")
        self._routes.append(route)
        if definition is not None:
            self._taken.append((role, self._describe(definition)))

    async def _run(self, handling: Handling, handler: RegisteredHandler, *given: object) -> Any:
        """Call a handler of the author. From now on its tries apply to the delivery."""
        handling.tries = handler.tries
        if handler.tries.attempts == 1:
            handling.must_be_first()  # one that is called in vain would be called again
        return await self._threads.call(handler.function, *given)

    async def _hear(self, handling: Handling, handler: RegisteredHandler) -> None:
        await self._run(handling, handler, handling.event, PlatformContext(handling))

    async def _event_failed(self, handling: Handling, failure: Failure) -> None:
        await tell_requester(handling, failure)

    def _take_given(
        self, decorator: str, given: EventLike, topic: str = EventTopic.ACTION_REQUESTS, example: str = "'order.placed'"
    ) -> str:
        """Return the name of an event, and keep its definition for its handler. Raise ConfigError for a definition of
        another topic, and for an invalid name."""
        if not isinstance(given, EventDefinition):
            must_be_name(decorator, given, example)
            return given
        if given.topic != topic:
            raise ConfigError(
                f"{decorator} takes events on {topic}, and {given.event_name!r} is defined on {given.topic}: "
                f"give topic={topic!r} in its EventDefinition"
            )
        self._given.append(given)
        return given.event_name

    def _describe(self, definition: EventDefinition) -> EventDefinition:
        capability = self._capability(definition.event_name, definition.topic)
        return capability.complete(definition) if capability else definition

    def _capability(self, event_type: str, topic: EventTopic = EventTopic.ACTION_REQUESTS) -> AgentCapability | None:
        """Return the capability for this event: one of the agent's, else one made of the event's definition."""
        described = [one for one in self.capabilities if not isinstance(one, str)]
        described += [AgentCapability(task_name=one.event_name, consumed_event=one) for one in reversed(self._given)]
        wanted = (event_type, topic)
        return next((c for c in described if (c.consumed_event.event_name, c.consumed_event.topic) == wanted), None)

    def _result_schema(self, event_type: str) -> JsonObject | None:
        """Return the schema of its result, from its capability."""
        capability = self._capability(event_type)
        return capability.result_schema if capability else None


def must_be_agent(name: object) -> None:
    """Raise ConfigError for an invalid name of an agent."""
    if not name:
        raise ConfigError("an agent needs a name: its deliveries are kept under it")
    if name in (CLIENT, SYSTEM):
        raise ConfigError(f"an agent cannot be called {name!r}: that is the source of others' events")
    must_be_text(f"agent {name if isinstance(name, str) else describe(name)}", "name", name)
    agent_key(None, cast(str, name))


def _topic(what: str, given: EventTopic | str) -> EventTopic:
    try:
        return topic_of(given)
    except LocalProtocolError as error:
        raise ConfigError(f"{what}: give its topic, too: {error}") from error


def span(option: str, agent: str, given: object) -> timedelta:
    """Raise ConfigError for an invalid span of time."""
    try:
        return span_of(option, given)
    except LocalProtocolError as error:
        raise ConfigError(f"agent {agent}: {error}") from error


def definitions_of(name: str, given: Iterable[EventLike], topic: EventTopic) -> list[EventDefinition]:
    """Return the events of the parameter `name`. Events without a definition get this topic."""
    return [
        event if isinstance(event, EventDefinition) else EventDefinition(event_name=_name(name, event), topic=topic)
        for event in several(name, given)
    ]


def _name(option: str, given: object) -> str:
    """Raise ConfigError for anything but a definition or a name."""
    if isinstance(given, str):
        return given
    raise ConfigError(f"{option}=[{describe(given)}]: give names of events, or EventDefinitions")
