"""Events and tasks from outside of every handler: into the store, unless too much waits."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.domain.events import CLIENT, EventEnvelope, EventTopic, Lineage, ReplyAddress, completion_of, new_event
from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.schemas import describe, violations
from soorma_ai.domain.values import JsonObject, json_object
from soorma_ai.errors import LocalProtocolError, Overloaded
from soorma_ai.runtime.handling.handling import Services, must_be_outside
from soorma_ai.runtime.views import plans as reading


async def take_in(services: Services, event: EventEnvelope, expectation: Expectation | None = None) -> None:
    """Store an event from outside. Raise Overloaded when too much waits, but never for what is on its way."""
    store, most = services.store, services.max_backlog
    begins = event.topic is EventTopic.ACTION_REQUESTS or not (event.plan_id or event.correlation_id)
    if begins and await store.queue.backlog(most) >= most and await store.events.event(event.id) is None:
        raise Overloaded(
            f"{most} deliveries wait already, so {event.type!r} was not taken: try again later, "
            "start the agents that they wait for, or allow more with SOORMA_MAX_BACKLOG"
        )
    await store.queue.send([event], expectation, services.clock.now())


def check_data(definition: EventDefinition, data: Mapping[str, Any]) -> JsonObject:
    """Return it as JSON. Raise LocalProtocolError for data off its schema, and inside of a handler."""
    must_be_outside()
    given = json_object(f"the data of {definition.event_name!r}", data)
    faults = violations(definition.payload_schema, given)
    if faults:
        raise LocalProtocolError(f"the data of {definition.event_name!r} is off its schema: {describe(faults)}")
    return given


async def send_task(
    services: Services,
    worker: str,
    definition: EventDefinition,
    data: Mapping[str, Any],
    lineage: Lineage,
) -> str:
    """Send a worker a request, and return its id, which is that of the task. Raise LocalProtocolError."""
    given = check_data(definition, data)
    task_id = services.clock.new_id()
    event = new_event(
        lineage,
        event_id=task_id,
        source=CLIENT,
        topic=definition.topic,
        type=definition.event_name,
        data=given,
        time=services.clock.now(),
        reply_to=ReplyAddress(task_id, completion_of(definition.event_name)),
        dataschema=definition.dataschema,
        target=worker,
    )
    await take_in(services, event)
    return task_id


async def lineage_of(services: Services, tenant_id: str, plan_id: str | None, goal_id: str | None) -> Lineage:
    """Return the plan's, as if it had asked itself. Raise NotFound, and LocalProtocolError for another goal's plan."""
    if plan_id is None:
        return Lineage(tenant_id=tenant_id, goal_id=goal_id)
    lineage = (await reading.own_plan(services, tenant_id, plan_id)).lineage
    if goal_id not in (None, lineage.goal_id):
        raise LocalProtocolError(f"plan {plan_id} pursues goal {lineage.goal_id}, not {goal_id!r}")
    return lineage
