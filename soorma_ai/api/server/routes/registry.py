"""The registry: agents, the events that they take and make, and its export as AsyncAPI."""

from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from soorma_ai.api.answers import Discovered
from soorma_ai.api.operation import Answer, operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.api.server.asyncapi import document
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.parameters import Name
from soorma_ai.kernel.domain.registry import DiscoveredAgent
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.views.registry import CALLS, nearest

HANDLERS = CallTable()


@HANDLERS("GET /agents/{name}", CALLS["query"], "show_agent")
async def show_agent(call: Call, name: Name) -> DiscoveredAgent:
    """Return an agent, also one that is gone."""
    found = await call.client.registry.query(name=name, live=False)
    if not found:
        raise NotFound(f"no agent {name!r} is registered here")
    return nearest(name, found)


@HANDLERS("POST /discover", CALLS["discover"], "discover", answers={HTTPStatus.OK: Discovered})
async def discover(
    call: Call, requirements: Annotated[list[Name], Field(max_length=100)], include_events: bool = True
) -> Answer:
    """Return the live agents with any of these capabilities, with their request events.

    Those with the most come first; `meets` lists an agent's. Without requirements, return all agents. Without events, a
    capability is only its name.
    """
    found = await call.client.registry.discover(requirements, include_events=include_events)
    return Answer(Discovered(found, [*found.unmet]))


@HANDLERS("GET /asyncapi.json", CALLS["query"], "export_asyncapi")
async def export_asyncapi(call: Call) -> JsonObject:
    """Return the events of live agents, taken and made, as an AsyncAPI 3.1 document."""
    return document(await call.client.registry.query())


OPERATIONS = (*operations(HANDLERS, "registry"), *operations(CALLS, "registry", lambda call: call.client.registry))
