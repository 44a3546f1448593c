"""The offer: the live events of others, events that can be waited for, and the form of the goal's result."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from soorma_ai.core.schema.portable import inline, is_too_large, object_schema
from soorma_ai.domain.events import CLIENT, EventTopic
from soorma_ai.domain.registry import TAKEN, Approval, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.domain.schemas import ANY_OBJECT
from soorma_ai.domain.values import LONGEST_WAIT_SECONDS, Json, JsonObject, compact, derived_id

PUBLISH = "publish:"
DELEGATE = "delegate:"
PUBLISH_ALL = "publish_all"
TIMEOUT_SECONDS: JsonObject = {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT_SECONDS}


@dataclass(frozen=True)
class Delegate:
    planner: str
    goal: EventDefinition


@dataclass(frozen=True)
class Awaited:
    """An event that can be waited for, and the agents that may publish it."""

    definition: EventDefinition
    producers: tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    events: tuple[EventDefinition, ...] = ()
    delegates: tuple[Delegate, ...] = ()
    waits: tuple[Awaited, ...] = ()
    result_schema: JsonObject | None = None

    @property
    def is_empty(self) -> bool:
        """Tell whether nobody can be asked anything; a plan is then parked, not failed."""
        return not (self.events or self.delegates or self.waits)

    def takes(self, name: str) -> bool:
        """Tell whether an event or a goal of this name is offered; of an empty name, whether anything is."""
        if not name:
            return not self.is_empty
        return self.event(name) is not None or any(d.goal.event_name == name for d in self.delegates)

    def event(self, name: str) -> EventDefinition | None:
        return next((event for event in self.events if event.event_name == name), None)

    def awaited(self, name: str) -> Awaited | None:
        return next((awaited for awaited in self.waits if awaited.definition.event_name == name), None)

    def goal(self, planner: str, name: str) -> EventDefinition | None:
        found = (d.goal for d in self.delegates if d.planner == planner and d.goal.event_name == name)
        return next(found, None)

    @cached_property
    def schema(self) -> JsonObject:
        """The closed schema of one decision: a branch for each thing that can be done, told apart by `action`.

        Publishing several at once shows every event a second time; where that is more than providers take, one can be
        published at a time.
        """
        several = _schema(self, [_publish_all_branch(self)]) if self.events else None
        return _schema(self, []) if several is None or is_too_large(several) else several

    @cached_property
    def digest(self) -> str:
        return derived_id("offer", compact(self.schema))


def make_offer(
    planner: str, live: Iterable[RegisteredEvent], awaits: Iterable[EventDefinition], result_schema: JsonObject | None
) -> Offer:
    """Make the offer of a planner. `awaits` are its own external events; its own goals are not offered to itself."""
    events: defaultdict[str, list[EventDefinition]] = defaultdict(list)
    delegates: dict[tuple[str, str], Delegate] = {}
    waits = {definition.event_name: Awaited(definition, (CLIENT,)) for definition in awaits}
    for registered in live:
        definition = registered.definition
        if registered.agent == planner:
            continue
        match registered.role:
            case EventRole.TAKES if definition.topic is EventTopic.ACTION_REQUESTS:
                events[definition.event_name].append(definition)
            case EventRole.TAKES_AS_GOAL:
                delegates[registered.agent, definition.event_name] = Delegate(registered.agent, definition)
            case EventRole.MAKES if definition.topic is not EventTopic.ACTION_RESULTS:
                known = waits.get(definition.event_name) or Awaited(definition, ())
                waits[definition.event_name] = replace(known, producers=(*known.producers, registered.agent))
            case EventRole.TAKES | EventRole.MAKES | EventRole.AWAITS:
                pass
    return Offer(
        events=tuple(merge_definitions(events[name]) for name in sorted(events)),
        delegates=tuple(delegates[key] for key in sorted(delegates)),
        waits=tuple(waits[name] for name in sorted(waits)),
        result_schema=result_schema,
    )


def request_in(registered: Iterable[RegisteredEvent], event_type: str) -> EventDefinition | None:
    """Return the definition of a request by all of these that take it; None where nobody does."""
    requests = (one.definition for one in registered if one.role in TAKEN)
    named = [one for one in requests if (one.topic, one.event_name) == (EventTopic.ACTION_REQUESTS, event_type)]
    return merge_definitions(named) if named else None


def merge_definitions(definitions: Sequence[EventDefinition]) -> EventDefinition:
    """Return the one definition of an event that several agents take, each of which gets it: its data must fit every
    schema, and it needs a person where any of them wants one."""
    first, *others = definitions
    schemas: list[Json] = []
    for definition in definitions:
        if definition.payload_schema not in (*schemas, ANY_OBJECT):
            schemas.append(definition.payload_schema)
    approvals = [definition.approval for definition in definitions if definition.approval]
    if not others:
        return first
    described = next((definition.description for definition in definitions if definition.description), "")
    return first.model_copy(
        update={
            "description": described,
            "payload_schema": ANY_OBJECT if not schemas else schemas[0] if len(schemas) == 1 else {"allOf": schemas},
            "approval": reduce(Approval.combine, approvals) if approvals else None,
        }
    )


def _publish_branches(offer: Offer) -> list[Json]:
    return [
        _branch(f"{PUBLISH}{event.event_name}", event.description, {"data": inline(event.payload_schema)})
        for event in offer.events
    ]


def _publish_all_branch(offer: Offer) -> JsonObject:
    requests: JsonObject = {"type": "array", "minItems": 1, "items": {"anyOf": _publish_branches(offer)}}
    need = "How many of them must have come before you decide again; leave it out to wait for all."
    return _branch(
        PUBLISH_ALL,
        "Publish several requests at once; decide again when their answers are there.",
        {
            "requests": requests,
            "need": {"type": "integer", "minimum": 1, "description": need},
            "timeout_seconds": TIMEOUT_SECONDS,
        },
        optional=("need", "timeout_seconds"),
    )


def _schema(offer: Offer, more: list[Json]) -> JsonObject:
    branches = [*_publish_branches(offer), *more]
    branches += [
        _branch(
            f"{DELEGATE}{d.planner}/{d.goal.event_name}", d.goal.description, {"data": inline(d.goal.payload_schema)}
        )
        for d in offer.delegates
    ]
    if offer.waits:
        names: list[Json] = [awaited.definition.event_name for awaited in offer.waits]
        wait: dict[str, Json] = {
            "expected_event": {"enum": names},
            "message": {"type": "string", "description": "What is asked of whoever can answer."},
            "timeout_seconds": TIMEOUT_SECONDS,
        }
        branches.append(
            _branch("wait", "Stop until the event comes or a person answers.", wait, optional=("timeout_seconds",))
        )
    result = inline(offer.result_schema or ANY_OBJECT)
    branches.append(_branch("complete", "The goal is reached; give its result.", {"result": result}))
    return object_schema({"reasoning": {"type": "string"}, "step": {"anyOf": branches}})


def _branch(action: str, description: str, properties: dict[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    tagged: dict[str, Json] = {"action": {"const": action}}
    branch = object_schema(tagged | properties, optional)
    return {"description": description, **branch} if description else branch
