"""Search, display and checks of publishable events, for authors and for models of their own."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from soorma_ai.errors import LocalProtocolError, NotFound, PayloadMismatch
from soorma_ai.features.retrieval.catalogue import Catalogue, catalogue_of, row_of
from soorma_ai.features.retrieval.choice import offer_on
from soorma_ai.kernel.domain.events import EventTopic, topic_of
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, describe
from soorma_ai.kernel.domain.values import JsonObject, json_object
from soorma_ai.kernel.rules.decisions.judge import describe_unknown
from soorma_ai.kernel.rules.prompting.fence import fence_rows
from soorma_ai.kernel.rules.schemas.nulls import strip_wire_nulls
from soorma_ai.kernel.runtime.handling.check_ahead import check, run_in_slices
from soorma_ai.kernel.runtime.views.registry import Directory

MOST_FOUND = 20


class EventToolkit:
    """Events of live agents, in the tenant of `registry`: the delivery's, or a client's.

    An event with several takers is one event, and its data must fit all of them. `agent` is the present agent: its own
    requests are not actionable, since it would ask itself. `event_name` is the name of an event in all calls.
    """

    def __init__(self, registry: Directory, agent: str = "") -> None:
        self._registry = registry
        self._agent = agent

    async def discover_events(
        self, topic: EventTopic | str | None = None, event_name_pattern: str | None = None
    ) -> list[EventDefinition]:
        """Return the events of a topic by name, or by an `event_name_pattern` of a family ('order.*'). Raises
        ConfigError for a star in another place."""
        return (await self._catalogue()).on(None if topic is None else topic_of(topic), event_name_pattern)

    async def discover_actionable_events(
        self, topic: EventTopic | str = EventTopic.ACTION_REQUESTS
    ) -> list[EventDefinition]:
        """Return the events of a topic with other agents as takers, and the declared events of this agent."""
        return [*offer_on(topic_of(topic), self._agent, await self._registry.live_events()).events]

    async def get_event_info(self, event_name: str, *, topic: EventTopic | str | None = None) -> EventDefinition | None:
        """Return an event. For one name on several topics: an event with a taker, requests before others."""
        return (await self._catalogue()).find_named(event_name, None if topic is None else topic_of(topic))

    async def find_events(self, words: str, most: int = MOST_FOUND) -> list[EventDefinition]:
        """Return at most `most` events about these `words`, best first."""
        if most < 1:
            raise LocalProtocolError(f"find_events(most={most}): give a number from 1")
        catalogue = await self._catalogue()
        # There may be very many, of which the index is made while others go on.
        await asyncio.to_thread(lambda: catalogue.index)
        return catalogue.find(words, most)

    @staticmethod
    def format_for_llm(events: Iterable[EventDefinition]) -> list[JsonObject]:
        """Return {"name", "description", "schema"} of each of the `events`. A schema too large to read becomes an
        outline of its required data."""
        return [row_of(event) for event in events]

    @staticmethod
    def format_as_prompt_text(events: Iterable[EventDefinition]) -> str:
        """Return the same `events` as lines of JSON between fences; no text of other agents can end a fence."""
        return fence_rows([row_of(event) for event in events])

    async def create_payload(
        self, event_name: str, data: Mapping[str, Any], *, topic: EventTopic | str | None = None
    ) -> JsonObject:
        """Return the data in the event's form: nulls for left-out values are left out.

        Raises NotFound, with similar names, and DecisionError, with path, rule, found and wanted.
        """
        event = await self._event(event_name, topic)
        given, schema = json_object(f"the data of {event_name!r}", data), event.payload_schema
        payload = await run_in_slices(self._registry.tenant_id, strip_wire_nulls(given, schema))
        return await self._fit(f"data for event {event_name!r}", payload, schema)

    async def validate_response(
        self, event_name: str, data: Mapping[str, Any], *, topic: EventTopic | str | None = None
    ) -> JsonObject:
        """Return the result in the form promised by the request of this name. Raises as `create_payload` does."""
        event = await self._event(event_name, topic)
        result = json_object(f"the response to {event_name!r}", data)
        return await self._fit(f"the response to {event_name!r}", result, event.response_schema or ANY_OBJECT)

    async def _event(self, name: str, topic: EventTopic | str | None) -> EventDefinition:
        catalogue = await self._catalogue()
        found = catalogue.find_named(name, None if topic is None else topic_of(topic))
        if found is None:
            raise NotFound(describe_unknown("event", name, catalogue.names))
        return found

    async def _catalogue(self) -> Catalogue:
        return catalogue_of(await self._registry.live_events())

    async def _fit(self, what: str, value: Any, schema: JsonObject) -> JsonObject:
        if faults := await check(self._registry.tenant_id, schema, value):
            raise PayloadMismatch(f"{what} does not match its schema: {describe(faults)}")
        return value
