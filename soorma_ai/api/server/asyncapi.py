"""The registry as an AsyncAPI 3.1 document. Pure: agents in, the document out."""

import re
from collections.abc import Iterable
from typing import Any

from soorma_ai.kernel.domain.events import completion_of
from soorma_ai.kernel.domain.registry import DiscoveredAgent, EventDefinition, EventRole
from soorma_ai.kernel.domain.values import Json, JsonObject

_NO_KEY = re.compile(r"[^A-Za-z0-9_.-]")
_TAKES = (EventRole.TAKES, EventRole.TAKES_AS_GOAL, EventRole.AWAITS)
# Words of 2020-12 that draft-07, which AsyncAPI reads schemas as, has not.
_NEW_WORDS = frozenset(
    {"$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "prefixItems", "unevaluatedItems", "unevaluatedProperties"}
    | {"dependentRequired", "dependentSchemas", "minContains", "maxContains"}
)
NEW_FORMAT = "application/schema+json;version=draft-2020-12"


def document(agents: Iterable[DiscoveredAgent]) -> JsonObject:
    """Return a channel for each event, and for each agent its received and sent events, with the replies."""
    channels: dict[str, Json] = {}
    operations: dict[str, Json] = {}
    for agent in agents:
        for role, definition in agent.events:
            channel = _key(definition)
            channels.setdefault(channel, _channel(definition))
            receives = role in _TAKES
            made = _operation(agent, definition, receives=receives)
            if role in (EventRole.TAKES, EventRole.TAKES_AS_GOAL) and definition.response_schema is not None:
                reply = _reply_of(definition)
                channels.setdefault(_key(reply), _channel(reply))
                made["reply"] = {"channel": {"$ref": f"#/channels/{_key(reply)}"}}
            operations[_safe(f"{agent.name}.{'receive' if receives else 'send'}.{channel}")] = made
    return {
        "asyncapi": "3.1.0",
        "info": {"title": "soorma_ai", "version": "1", "description": "Events that live agents take and make."},
        "defaultContentType": "application/cloudevents+json",
        "channels": channels,
        "operations": operations,
    }


def payload_of(schema: JsonObject) -> Json:
    """Return a schema for AsyncAPI's tools: plain without keywords of 2020-12 alone."""
    return {"schemaFormat": NEW_FORMAT, "schema": schema} if _has_new_words(schema) else schema


def _channel(definition: EventDefinition) -> Json:
    message: JsonObject = {
        "name": definition.event_name,
        "title": definition.event_name,
        "summary": definition.description,
        "contentType": "application/json",
        "payload": payload_of(definition.payload_schema),
    }
    return {
        "address": f"{definition.topic}/{definition.event_name}",
        "description": f"{definition.event_name} on {definition.topic}, version {definition.version}",
        "messages": {"event": message},
    }


def _operation(agent: DiscoveredAgent, definition: EventDefinition, *, receives: bool) -> dict[str, Any]:
    channel = _key(definition)
    return {
        "action": "receive" if receives else "send",
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/event"}],
        "tags": [{"name": agent.name}],
    }


def _reply_of(definition: EventDefinition) -> EventDefinition:
    """Return the reply of a request, as an event of its own."""
    name = completion_of(definition.event_name)
    return EventDefinition(
        event_name=name,
        topic="action-results",
        description=f"The reply to {definition.event_name}; its `result` is described here.",
        payload_schema=definition.response_schema or {},
    )


def _key(definition: EventDefinition) -> str:
    return _safe(f"{definition.topic}.{definition.event_name}.{definition.version}")


def _safe(name: str) -> str:
    return _NO_KEY.sub("_", name)


def _has_new_words(schema: Json) -> bool:
    left: list[Json] = [schema]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            if not _NEW_WORDS.isdisjoint(item):
                return True
            left += item.values()
        elif isinstance(item, list):
            left += item
    return False
