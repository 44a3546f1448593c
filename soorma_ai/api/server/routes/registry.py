"""The registry: agents, the events that they take and make, and its export as AsyncAPI."""

from http import HTTPStatus

from pydantic import Field

from soorma_ai.api.paging import cut
from soorma_ai.api.server.asyncapi import document
from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Name,
    Nothing,
    Page,
    Paged,
    delete,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import DiscoveredAgent, EventDefinition, RegisteredEvent
from soorma_ai.kernel.domain.tracking import Backlog
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.views.registry import nearest


class Agents(Paged):
    """`event` and `topic` are those of one event that an agent registered. `live=false` lists those that are gone
    too."""

    name: Name | None = None
    capability: Name | None = None
    event: Name | None = None
    topic: EventTopic | None = None
    live: bool = True


class OfAgent(Form):
    name: Name


class Definitions(Paged):
    owner: Name | None = None
    name: Name | None = None
    topic: EventTopic | None = None
    live: bool = True


class OfDefinition(Form):
    event_name: Name
    version: Name | None = None
    topic: EventTopic | None = None


class Requirements(Form):
    """Capabilities, of which an agent must have any. Without events, a capability is only its name."""

    requirements: list[Name] = Field(max_length=100)
    include_events: bool = True


class Discovered(Made):
    """`unmet` is what was required and no live agent has."""

    agents: list[DiscoveredAgent]
    unmet: list[str]


class Deregistered(Made):
    """`removed` are the definitions that this agent alone had registered."""

    removed: list[EventDefinition]


async def list_agents(call: Call[Agents, Nothing]) -> Answer:
    """List agents that fit everything given, by name."""
    asked = call.asked
    found = await call.client.registry.query(
        name=asked.name, capability=asked.capability, event=asked.event, topic=asked.topic, live=asked.live
    )
    return Answer(cut(found, lambda agent: agent.agent_id, asked.after, asked.limit))


async def show_agent(call: Call[OfAgent, Nothing]) -> Answer:
    """Return an agent, also one that is gone."""
    found = await call.client.registry.query(name=call.asked.name, live=False)
    if not found:
        raise NotFound(f"no agent {call.asked.name!r} is registered here")
    return Answer(nearest(call.asked.name, found))


async def deregister(call: Call[OfAgent, Nothing]) -> Answer:
    """Remove an agent that is gone for good."""
    return Answer(Deregistered.model_construct(removed=await call.client.registry.deregister(call.asked.name)))


async def list_definitions(call: Call[Definitions, Nothing]) -> Answer:
    """List the events that agents registered, each with the agent that registered it."""
    asked = call.asked
    found = await call.client.registry.events(owner=asked.owner, name=asked.name, topic=asked.topic, live=asked.live)
    return Answer(cut(found, _place, asked.after, asked.limit))


async def show_definition(call: Call[OfDefinition, Nothing]) -> Answer:
    """Return an event as a live agent defines it, if possible one that takes it; a version even of gone ones."""
    asked = call.asked
    found = await call.client.registry.get_event(asked.event_name, asked.version, topic=asked.topic)
    if found is None:
        raise NotFound(f"no live agent registered {asked.event_name!r}")
    return Answer(found)


async def discover(call: Call[Nothing, Requirements]) -> Answer:
    """Return the live agents that have any of these capabilities, with the events by which they are asked.

    Those that have most of them come first, and each says which (`meets`). Without requirements, all of them.
    """
    sent = call.sent
    found = await call.client.registry.discover(sent.requirements, include_events=sent.include_events)
    return Answer(Discovered.model_construct(agents=found, unmet=[*found.unmet]))


async def list_backlogs(call: Call[Paged, Nothing]) -> Answer:
    """List how much waits for which agent, by name; of very much, a part is counted."""
    return Answer(cut(await call.client.registry.backlogs(), lambda one: one.agent, call.asked.after, call.asked.limit))


async def export_asyncapi(call: Call[Nothing, Nothing]) -> Answer:
    """Return what live agents take and make as an AsyncAPI 3.1 document."""
    return Answer(document(await call.client.registry.query()))


def _place(one: RegisteredEvent) -> str:
    made = one.definition
    return f"{one.agent}/{one.role}/{made.topic}/{made.event_name}/{made.version}"


OPERATIONS: tuple[AnyOperation, ...] = (
    get("/v1/agents", list_agents, Agents, Page[DiscoveredAgent], NOT_FOUND),
    get("/v1/backlogs", list_backlogs, Paged, Page[Backlog], NOT_FOUND),
    get("/v1/agents/{name}", show_agent, OfAgent, DiscoveredAgent, NOT_FOUND),
    delete("/v1/agents/{name}", deregister, OfAgent, Deregistered, NOT_FOUND, CONFLICT),
    get("/v1/events/definitions", list_definitions, Definitions, Page[RegisteredEvent], NOT_FOUND),
    get("/v1/events/definitions/{event_name}", show_definition, OfDefinition, EventDefinition, NOT_FOUND),
    post("/v1/discover", discover, Nothing, Requirements, {HTTPStatus.OK: Discovered}),
    get("/v1/asyncapi.json", export_asyncapi, Nothing, JsonObject),
)
