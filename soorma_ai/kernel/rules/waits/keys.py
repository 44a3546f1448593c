"""The keys by which an outside event and a waiting plan find each other: by a name that both can spell."""

from collections.abc import Iterable

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import Json, compact, value_at


def keys_of_event(event: EventEnvelope, definitions: Iterable[EventDefinition]) -> tuple[str, ...]:
    """Keys of its plan, its reply key, and what each definition of its type correlates."""
    keys: list[str] = []
    if event.plan_id:
        keys.append(f"plan:{event.plan_id}")
    if event.correlation_id:
        keys.append(f"reply:{event.correlation_id}")
    for definition in definitions:
        if definition.correlate:
            found = {path: value_at(event.data, pointer) for pointer, path in definition.correlate.items()}
            keys += _data_key(event.type, found)
    return tuple(dict.fromkeys(keys))


def keys_of_wait(plan: PlanRecord, expectation_id: str, definition: EventDefinition) -> tuple[str, ...]:
    keys = [f"plan:{plan.plan_id}", f"reply:{expectation_id}"]
    if definition.correlate:
        view: dict[str, Json] = {"goal_data": plan.goal_data, "plan_id": plan.plan_id, "goal_id": plan.goal_id}
        keys += _data_key(definition.event_name, {path: value_at(view, path) for path in definition.correlate.values()})
    return tuple(keys)


def _data_key(event_type: str, found: dict[str, Json]) -> list[str]:
    """Return no key where a value is missing: an absent id must not match another absent id."""
    return [] if None in found.values() else [f"data:{event_type}:{compact(found)}"]
