"""Requests in the registry: the schemas of their data, and of their replies."""

from datetime import datetime

from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.replies import content_of
from soorma_ai.kernel.domain.schemas import Violation
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import EventLog, Registry
from soorma_ai.kernel.rules.choices.offer import held_definition, request_in
from soorma_ai.kernel.rules.waits.replies import is_reply, read_as_promised
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED
from soorma_ai.kernel.runtime.handling.check_ahead import check


async def request_type(registry: Registry, tenant_id: str, event_type: str, now: datetime) -> EventDefinition | None:
    """Return the definition of a request by all of its takers: live ones, or without any, gone ones. None for a request
    that never had a taker."""
    live = request_in(await registry.live_events(tenant_id, now), event_type)
    return live or request_in(await registry.all_events(tenant_id), event_type)


async def definition_of_held(registry: Registry, asked: Expectation, now: datetime) -> EventDefinition | None:
    """Return the present definition of the request that a question holds, as `request_type` does."""
    held = asked.ask.proposal if asked.ask else None
    if held is None:
        return None
    live = held_definition(await registry.live_events(asked.tenant_id, now), held)
    return live or held_definition(await registry.all_events(asked.tenant_id), held)


async def closing_event(events: EventLog, event: EventEnvelope) -> EventEnvelope:
    """Return the event that closed an expectation: this one, or the one it points at. An event that came before its
    wait, and that its agent handled then as a subscriber, can come to its owner only by such a wake-up."""
    if event.type == ANSWERED and event.source == SYSTEM and event.causation_id is not None:
        return await events.event(event.causation_id) or event
    return event


async def read_reply(registry: Registry, met: Expectation, event: EventEnvelope) -> EventEnvelope:
    """Return the meeting event of an expectation in its valid form: a result off the request's declaration is a
    failure."""
    if met.dataschema is None or not is_reply(met, event):
        return event
    defined = await registry.definitions(met.tenant_id, met.subject)
    promised = next((one.response_schema for one in defined if one.dataschema == met.dataschema), None)
    read = event if promised is None else read_as_promised(event, await _faults(met, promised, event))
    if read is event:
        return event
    # Of several agents that take a request each keeps its own promise.
    known = await registry.all_events(met.tenant_id)
    own = (one.definition for one in known if one.agent == event.source and one.definition.event_name == met.subject)
    others = [one.response_schema for one in own if one.dataschema != met.dataschema]
    for other in others:
        if other is None or read_as_promised(event, await _faults(met, other, event)) is event:
            return event
    return read


async def _faults(met: Expectation, promised: JsonObject, reply: EventEnvelope) -> list[Violation]:
    return await check(met.tenant_id, promised, content_of(reply.data))
