"""The offer: the live events of others, events that can be waited for, and the form of the goal's result."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce

from soorma_ai.core.deciding.fence import ENTRY_CHARS, FENCE_CHARS, fence
from soorma_ai.core.schema.bounded import show
from soorma_ai.core.schema.portable import is_too_large, object_schema
from soorma_ai.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PlanAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.domain.events import CLIENT, EventTopic
from soorma_ai.domain.registry import TAKEN, Approval, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.domain.schemas import ANY_OBJECT
from soorma_ai.domain.values import LONGEST_WAIT_SECONDS, Json, JsonObject, Same, clip, compact, derived_id
from soorma_ai.errors import NotAllowed, PayloadMismatch

PUBLISH = "publish:"
DELEGATE = "delegate:"
PUBLISH_ALL = "publish_all"
LARGE_EVENTS, LARGE_CHARS = 40, 60_000
WHOLE_CHARS = 10_000
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
class EventPart:
    """An event as a prompt tells of it: its name and what it does, and its schema; both between fences."""

    named: str
    told: str

    @property
    def size(self) -> int:
        return len(self.named) + len(self.told)


def part_of(definition: EventDefinition, name: str) -> EventPart:
    """Return the part of an event that is offered under this name."""
    return _part(Same(definition), name)


@lru_cache(maxsize=4096)
def _part(same: Same[EventDefinition], name: str) -> EventPart:
    about: JsonObject = {"called": name}
    if description := same.it.description:
        about["description"] = clip(description, ENTRY_CHARS // 2)
    return EventPart(fence(about, ENTRY_CHARS), fence(show(same.it.payload_schema).told, FENCE_CHARS))


@dataclass(frozen=True)
class Offer:
    """`at_once` is the most requests that one decision may publish together; None means any number."""

    events: tuple[EventDefinition, ...] = ()
    delegates: tuple[Delegate, ...] = ()
    waits: tuple[Awaited, ...] = ()
    result_schema: JsonObject | None = None
    at_once: int | None = None

    @property
    def may_publish_several(self) -> bool:
        return bool(self.events) and (self.at_once is None or self.at_once > 1)

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
        several = _schema(self, [_publish_all_branch(self)]) if self.may_publish_several else None
        return _schema(self, []) if several is None or is_too_large(several) else several

    @cached_property
    def digest(self) -> str:
        return derived_id("offer", compact(self.schema))

    @cached_property
    def is_large(self) -> bool:
        """Tell whether a model is likely to choose worse, or a provider to refuse, for its length alone."""
        parts = [part_of(event, PUBLISH + event.event_name) for event in self.events]
        parts += [part_of(d.goal, f"{DELEGATE}{d.planner}/{d.goal.event_name}") for d in self.delegates]
        return len(parts) > LARGE_EVENTS or sum(part.size for part in parts) > LARGE_CHARS


def make_offer(
    planner: str,
    live: Iterable[RegisteredEvent],
    awaits: Iterable[EventDefinition],
    result_schema: JsonObject | None,
    *,
    at_once: int | None = None,
) -> Offer:
    """Make the offer of a planner. `awaits` are its own external events; its own goals are not offered to itself.

    The same registrations make the same offer, which is put together once.
    """
    known = tuple((one.agent, one.role, Same(one.definition)) for one in live if one.agent != planner)
    return _make_offer(known, tuple(map(Same, awaits)), Same(result_schema), at_once)


@lru_cache(maxsize=256)
def _make_offer(
    live: tuple[tuple[str, EventRole, Same[EventDefinition]], ...],
    awaits: tuple[Same[EventDefinition], ...],
    result_schema: Same[JsonObject | None],
    at_once: int | None,
) -> Offer:
    events: defaultdict[str, list[Same[EventDefinition]]] = defaultdict(list)
    delegates: dict[tuple[str, str], Delegate] = {}
    waits = {one.it.event_name: Awaited(one.it, (CLIENT,)) for one in awaits}
    for agent, role, same in live:
        definition = same.it
        match role:
            case EventRole.TAKES if definition.topic is EventTopic.ACTION_REQUESTS:
                events[definition.event_name].append(same)
            case EventRole.TAKES_AS_GOAL:
                delegates[agent, definition.event_name] = Delegate(agent, definition)
            case EventRole.MAKES if definition.topic is not EventTopic.ACTION_RESULTS:
                known = waits.get(definition.event_name) or Awaited(definition, ())
                waits[definition.event_name] = replace(known, producers=(*known.producers, agent))
            case EventRole.TAKES | EventRole.MAKES | EventRole.AWAITS:
                pass
    return Offer(
        events=tuple(_merge(tuple(events[name])) for name in sorted(events)),
        delegates=tuple(delegates[key] for key in sorted(delegates)),
        waits=tuple(waits[name] for name in sorted(waits)),
        result_schema=result_schema.it,
        at_once=at_once,
    )


def request_in(registered: Iterable[RegisteredEvent], event_type: str) -> EventDefinition | None:
    """Return the definition of a request by all of these that take it; None where nobody does."""
    requests = (one.definition for one in registered if one.role in TAKEN)
    named = [one for one in requests if (one.topic, one.event_name) == (EventTopic.ACTION_REQUESTS, event_type)]
    return merge_definitions(named) if named else None


@lru_cache(maxsize=4096)
def _merge(definitions: tuple[Same[EventDefinition], ...]) -> EventDefinition:
    return merge_definitions([same.it for same in definitions])


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
        _branch(f"{PUBLISH}{event.event_name}", event.description, {"data": show(event.payload_schema).plain})
        for event in offer.events
    ]


def _publish_all_branch(offer: Offer) -> JsonObject:
    requests: JsonObject = {"type": "array", "minItems": 1, "items": {"anyOf": _publish_branches(offer)}}
    if offer.at_once is not None:
        requests["maxItems"] = offer.at_once
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
            f"{DELEGATE}{d.planner}/{d.goal.event_name}",
            d.goal.description,
            {"data": show(d.goal.payload_schema).plain},
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
    result = show(offer.result_schema or ANY_OBJECT).plain
    branches.append(_branch("complete", "The goal is reached; give its result.", {"result": result}))
    return object_schema({"reasoning": {"type": "string"}, "step": {"anyOf": branches}})


def _branch(action: str, description: str, properties: dict[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    tagged: dict[str, Json] = {"action": {"const": action}}
    branch = object_schema(tagged | properties, optional)
    return {"description": clip(description, ENTRY_CHARS // 2), **branch} if description else branch


def must_be_possible_at_once(decision: PlannerDecision, offer: Offer) -> None:
    """Raise NotAllowed for more requests together than were offered."""
    action = decision.next_action
    if isinstance(action, PublishAllAction) and offer.at_once is not None and len(action.requests) > offer.at_once:
        most = f"{offer.at_once} at once are possible" if offer.may_publish_several else "one at a time is possible"
        raise NotAllowed(f"{len(action.requests)} requests were to be published together; {most} now")


def with_whole_schemas(fault: PayloadMismatch, decision: PlannerDecision, offer: Offer) -> PayloadMismatch:
    """Return the fault with the schemas of what was decided that had been shown in outline only."""
    action = decision.next_action
    asked = action.requests if isinstance(action, PublishAllAction) else (action,)
    wanted = dict(schema for one in asked if (schema := _schema_wanted(one, offer)))
    told = [f"the schema of {name}: {compact(wanted[name])}" for name in wanted if show(wanted[name]).cut]
    return PayloadMismatch(f"{fault}; {clip('; '.join(told), WHOLE_CHARS)}") if told else fault


def _schema_wanted(action: PlanAction, offer: Offer) -> tuple[str, JsonObject] | None:
    match action:
        case PublishAction(event_type=name):
            definition = offer.event(name)
        case DelegateAction(target_planner=planner, goal_event=name):
            definition = offer.goal(planner, name)
        case CompleteAction():
            return ("the result", offer.result_schema) if offer.result_schema else None
        case PublishAllAction() | WaitAction():
            return None
    return (name, definition.payload_schema) if definition else None
