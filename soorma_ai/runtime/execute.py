"""The only doer: one transaction for everything a handling recorded."""

from soorma_ai.domain.effects import Disposition, Publish, RetryAfter, Schedule
from soorma_ai.domain.events import EventTopic
from soorma_ai.domain.registry import EventDefinition, EventRole
from soorma_ai.domain.schemas import told, violations
from soorma_ai.errors import LocalProtocolError
from soorma_ai.ports import Work
from soorma_ai.runtime.context import Handling

_TAKEN = (EventRole.TAKES, EventRole.TAKES_AS_GOAL)


async def validate(handling: Handling) -> None:
    """Requests are checked against the receiver's schema before they are published; facts are not."""
    requests = [
        effect.event
        for effect in handling.recorded
        if isinstance(effect, Publish) and effect.event.topic is EventTopic.ACTION_REQUESTS
    ]
    if not requests:
        return
    for event in requests:
        for definition in await takers_of(handling, event.type):
            faults = violations(definition.payload_schema, event.data)
            if faults:
                raise LocalProtocolError(f"request {event.type!r} does not fit its receiver's schema: {told(faults)}")


async def takers_of(handling: Handling, event_type: str) -> list[EventDefinition]:
    """As live agents define the event; where none lives, as those did that are gone."""
    services, tenant_id = handling.services, handling.event.tenant_id
    for registered in (
        await services.store.live_events(tenant_id, services.clock.now()),
        await services.store.known_events(tenant_id),
    ):
        found = [e.definition for e in registered if e.role in _TAKEN and e.definition.event_name == event_type]
        if found:
            return found
    return []


async def execute(handling: Handling, disposition: Disposition) -> None:
    """Raises LeaseLost, VersionConflict, StoreUnavailable; then nothing of it happened."""
    services = handling.services
    await services.store.commit(Work(handling.delivery, disposition, handling.effects), services.clock.now())
    if handling.has_plan and handling.plan.status.is_final:
        services.signals.happened([handling.plan.plan_id])
    if isinstance(disposition, RetryAfter) or any(isinstance(effect, Schedule) for effect in handling.effects):
        services.signals.timers.set()
