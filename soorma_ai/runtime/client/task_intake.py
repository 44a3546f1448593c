"""A task for one worker, given from outside through its inbox like any other."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.domain.events import CLIENT, Lineage, ReplyAddress, completion_of, new_event
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.schemas import describe, violations
from soorma_ai.domain.values import json_object
from soorma_ai.errors import LocalProtocolError
from soorma_ai.runtime.client.intake import take_in
from soorma_ai.runtime.handling.handling import Services, must_be_outside
from soorma_ai.runtime.views import plans as reading


async def send_task(
    services: Services,
    worker: str,
    definition: EventDefinition,
    data: Mapping[str, Any],
    lineage: Lineage,
) -> str:
    """Send a worker a request, and return its id, which is that of the task. Raise LocalProtocolError."""
    must_be_outside()
    given = json_object(f"the data of {definition.event_name!r}", data)
    faults = violations(definition.payload_schema, given)
    if faults:
        raise LocalProtocolError(f"the data of {definition.event_name!r} is off its schema: {describe(faults)}")
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
