"""Agents and their events, as a person of a tenant sees them."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, LocalProtocolError, NotFound
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.events import CLIENT, EventTopic, Topic, topic_of
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.names import agent_key, agent_meant, plain_name
from soorma_ai.kernel.domain.parameters import Agent, Name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.registry import (
    Backlog,
    DiscoveredAgent,
    Discovery,
    EventDefinition,
    EventRole,
    RegisteredEvent,
    discover,
    name_of,
)
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import AgentRow
from soorma_ai.kernel.rules.authority import REMOVE_SHARED_AGENT, Owner, check
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views.audit import changing

MOST_COUNTED = 2_000
_Place = tuple[str, EventRole, EventTopic, str]
# An agent that takes an event knows best what must be in it.
_BY_WEIGHT = (EventRole.TAKES, EventRole.TAKES_AS_GOAL, EventRole.MAKES, EventRole.AWAITS)

CALLS = CallTable("registry.")


def place_of(one: RegisteredEvent) -> str:
    """Return the place of an event in the list."""
    made = one.definition
    return f"{one.agent}/{one.role}/{made.topic}/{made.event_name}/{made.version}"


class Directory:
    """Agents and their events."""

    def __init__(self, services: Services, person: Person, caller: Caller | None = None) -> None:
        self._services = services
        self._person = person
        self.tenant_id = person.tenant_id
        self._caller = caller

    @CALLS.local(Act.MEET)
    async def find(self, capability: str) -> DiscoveredAgent | None:
        """Return a live agent with the capability; of several, the first by name."""
        found = await self.discover([capability])
        return found[0] if found else None

    @CALLS.local(Act.MEET)
    async def discover(self, requirements: Iterable[str], *, include_events: bool = True) -> Discovery:
        """Return live agents with any of these capabilities, those with the most first; `meets` lists an agent's, and
        `unmet` those without an agent. Without requirements, return all agents. Without events, a capability is only
        its name."""
        if isinstance(requirements, str):
            raise LocalProtocolError(f"requirements={requirements!r} would be its letters; give a list")
        found = discover(await self.query(), requirements)
        if include_events:
            return found
        named = (replace(one, capabilities=tuple(map(name_of, one.capabilities)), events=()) for one in found)
        return Discovery(named, found.unmet)

    @CALLS("GET /agents", Act.MEET, "list_agents", by=lambda one: one.agent_id)
    async def query(
        self,
        *,
        name: Name | None = None,
        capability: Name | None = None,
        event: Name | None = None,
        topic: Topic | None = None,
        live: bool = True,
    ) -> list[DiscoveredAgent]:
        """Return the agents under all these conditions, by name. `event` and `topic` belong to one event of the agent.
        With `live=False`, gone agents are included."""
        where = None if topic is None else topic_of(topic)
        found = await self._agents(live=live)
        return [
            one
            for one in found
            if name in (None, one.name, one.agent_id)
            and (capability is None or one.has(capability))
            and ((event is None and where is None) or any(_is_called(known, event, where) for known in _events_of(one)))
        ]

    @CALLS("GET /events/definitions", Act.MEET, "list_definitions", by=place_of)
    async def events(
        self, *, owner: Name | None = None, name: Name | None = None, topic: Topic | None = None, live: bool = True
    ) -> list[RegisteredEvent]:
        """Return the registered events, each with its agent. One name on two topics is two events. The results declared
        by a capability are included, as events of its agent."""
        where = None if topic is None else topic_of(topic)
        registry, tenant_id = self._services.store.registry, self._person.tenant_id
        found = await (self.live_events() if live else registry.all_events(tenant_id))
        agents = await self._agents(live=live)
        said = [
            RegisteredEvent(one.agent_id, one.kind, EventRole.MAKES, made) for one in agents for made in one.produced
        ]
        known = {(one.agent, one.definition.topic, one.definition.event_name) for one in found}
        more = [one for one in said if (one.agent, one.definition.topic, one.definition.event_name) not in known]
        both = (*found, *more)
        return [
            one
            for one in both
            if owner in (None, one.agent, plain_name(one.agent)) and _is_called(one.definition, name, where)
        ]

    @CALLS.local(Act.MEET)
    async def live_events(self) -> Sequence[RegisteredEvent]:
        """Return the events of live agents: the very same object until the next change."""
        registry, now = self._services.store.registry, self._services.clock.now()
        await self._services.presence.confirm(registry, now)
        return await registry.live_events(self._person.tenant_id, now)

    @CALLS(
        "GET /events/definitions/{event_name}",
        Act.MEET,
        "show_definition",
        missing="no live agent registered {event_name!r}",
    )
    async def get_event(
        self, event_name: Name, version: Name | None = None, *, topic: Topic | None = None
    ) -> EventDefinition | None:
        """Return the event, as defined by a live agent, preferably one of its takers; with a `version` also of gone
        agents."""
        where = None if topic is None else topic_of(topic)
        if version is not None:
            stored = await self._services.store.registry.definitions(self._person.tenant_id, event_name)
            return next((one for one in stored if one.version == version and _is_called(one, event_name, where)), None)
        found = await self.events(name=event_name, topic=topic)
        found.sort(key=lambda one: _BY_WEIGHT.index(one.role))
        return found[0].definition if found else None

    @CALLS.local(Act.MEET)
    async def get_event_schema(
        self, event_name: Name, version: Name | None = None, *, topic: Topic | None = None
    ) -> JsonObject | None:
        """Return the schema of the event's payload; see `get_event`."""
        found = await self.get_event(event_name, version, topic=topic)
        return found.payload_schema if found else None

    @CALLS("GET /backlogs", Act.OVERSEE, "list_backlogs", by=lambda one: one.agent)
    async def backlogs(self) -> list[Backlog]:
        """Return the tenant's waiting deliveries by agent; of very many, a part. Raise Forbidden."""
        here = self._person.tenant_id
        check(self._person, CALLS["backlogs"], Owner(here), "")
        return await self._services.store.queue.backlogs(here, MOST_COUNTED)

    @CALLS("DELETE /agents/{name}", Act.MANAGE, "deregister", key="removed", raises=(IllegalTransition,))
    async def deregister(self, agent: Agent) -> list[EventDefinition]:
        """Remove a gone agent for good, and return the definitions registered by it alone, also removed.

        Raises NotFound, and LocalProtocolError while it lives, or while a plan, a task or a delivery needs it. An
        operator removes the tenant's agents, a key of an agent that one, and only the trusted root the shared ones,
        else Forbidden.
        """
        must_be_outside()
        async with changing(self._services, self._caller, "registry.deregister", agent) as change:
            rows = {row.agent: row for row in await self._rows()}
            row = rows.get(agent_meant(agent, CLIENT, rows) or "")
            missing, here = f"no agent {agent!r} in tenant {self._person.tenant_id!r}", Owner(self._person.tenant_id)
            if row is None:
                raise NotFound(missing)
            if row.tenant_id is None:
                check(self._person, CALLS["deregister"], here, missing)
                check(self._person, REMOVE_SHARED_AGENT, here, missing)
            elif not self._acts_as(row):
                check(self._person, CALLS["deregister"], here, missing)
            return await change.store.registry.deregister(row.agent, self._services.clock.now())

    def _acts_as(self, row: AgentRow) -> bool:
        """Tell whether the caller's token is for this agent of their tenant."""
        rights = self._caller.agent if self._caller else None
        return rights is not None and row.agent == agent_key(row.tenant_id, rights.name)

    async def _agents(self, *, live: bool) -> list[DiscoveredAgent]:
        """Return agents, each event in the words of its owner."""
        known = await self._services.store.registry.all_events(self._person.tenant_id)
        worded = {_place(one.agent, one.role, one.definition): one.definition for one in known}
        return [_agent_in(row, worded) for row in await self._rows() if row.live or not live]

    async def _rows(self) -> Sequence[AgentRow]:
        now = self._services.clock.now()
        await self._services.presence.confirm(self._services.store.registry, now)
        found = await self._services.store.registry.agents(now)
        return [row for row in found if row.tenant_id in (None, self._person.tenant_id)]


def nearest(name: str, named: Sequence[DiscoveredAgent]) -> DiscoveredAgent:
    """Return the agent of this name for a person of a tenant."""
    meant = agent_meant(name, CLIENT, (one.agent_id for one in named))
    return next(one for one in named if one.agent_id == meant)


def _place(agent: str, role: EventRole, definition: EventDefinition) -> _Place:
    return agent, role, definition.topic, definition.event_name


def _agent_in(row: AgentRow, worded: Mapping[_Place, EventDefinition]) -> DiscoveredAgent:
    one = row.registration
    return DiscoveredAgent(
        agent_id=one.agent,
        name=one.name,
        description=one.description,
        version=one.version,
        capabilities=one.capabilities,
        kind=one.kind,
        events=tuple((role, worded.get(_place(one.agent, role, made), made)) for role, made in one.events),
        live=row.live,
    )


def _events_of(agent: DiscoveredAgent) -> tuple[EventDefinition, ...]:
    return (*(definition for _, definition in agent.events), *agent.produced)


def _is_called(definition: EventDefinition, name: str | None, topic: EventTopic | None) -> bool:
    return name in (None, definition.event_name) and topic in (None, definition.topic)
