"""Registry of a served platform: the calls of more than one request."""

from collections.abc import Iterable
from http import HTTPStatus

from soorma_ai.api.answers import Discovered, HeldAnswer
from soorma_ai.api.clients.messages import HttpResponse, get, post
from soorma_ai.api.clients.rows import RegistryRows
from soorma_ai.errors import Held, LocalProtocolError
from soorma_ai.kernel.domain.events import Topic, topic_of
from soorma_ai.kernel.domain.parameters import Name
from soorma_ai.kernel.domain.registry import DiscoveredAgent, Discovery, EventDefinition
from soorma_ai.kernel.domain.values import JsonObject


def unless_held(response: HttpResponse, event_type: str) -> HttpResponse:
    """Raise Held for a request that waits for an approval."""
    if response.status != HTTPStatus.ACCEPTED:
        return response
    held = response.read(HeldAnswer)
    raise Held(event_type, held.wait_id, held.request_id)


class AsyncRegistry(RegistryRows):
    """Agents and their events."""

    async def find(self, capability: str) -> DiscoveredAgent | None:
        """Return a live agent with the capability; of several, the first by name."""
        found = await self.discover([capability])
        return found[0] if found else None

    async def discover(self, requirements: Iterable[str], *, include_events: bool = True) -> Discovery:
        """Return live agents with any of these capabilities, those with the most first; `meets` lists an agent's, and
        `unmet` those without an agent. Without requirements, return all agents. Without events, a capability is only
        its name."""
        if isinstance(requirements, str):
            raise LocalProtocolError(f"requirements={requirements!r} would be its letters; give a list")
        body: JsonObject = {"requirements": [*requirements], "include_events": include_events}
        found = await self._caller.read(post("discover", body=body, is_safe=True), Discovered)
        return Discovery(found.agents, found.unmet)

    async def get_event(
        self, event_name: Name, version: Name | None = None, *, topic: Topic | None = None
    ) -> EventDefinition | None:
        """Return the event, as defined by a live agent, preferably one of its takers; with a `version` also of gone
        agents. An event with a slash in its name is found by `events` only."""
        if "/" in event_name:
            raise LocalProtocolError(f"{event_name!r} has a slash: over HTTP, events(name=...) finds it")
        where = None if topic is None else topic_of(topic)
        asked = get("events", "definitions", event_name, version=version, topic=where)
        return await self._caller.find(asked, EventDefinition)

    async def get_event_schema(
        self, event_name: Name, version: Name | None = None, *, topic: Topic | None = None
    ) -> JsonObject | None:
        """Return the schema of the event's payload; see `get_event`."""
        found = await self.get_event(event_name, version, topic=topic)
        return found.payload_schema if found else None
