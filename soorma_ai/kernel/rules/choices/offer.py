"""The offer: the live events of others, events that can be waited for, and the form of the goal's result."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, reduce

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.events import CLIENT, EventTopic
from soorma_ai.kernel.domain.names import is_of_a_tenant, plain_name
from soorma_ai.kernel.domain.people import Proposal
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, identity_of
from soorma_ai.kernel.rules.choices.index import EventIndex, index_of

PUBLISH = "publish:"
DELEGATE = "delegate:"
WAIT = "wait:"


def goal_choice(planner: str, goal_event: str) -> str:
    """Return the name of the choice to give a planner this goal."""
    return f"{DELEGATE}{planner}/{goal_event}"


class Delegate(Struct, frozen=True):
    planner: str
    goal: EventDefinition


class WaitChoice(Struct, frozen=True):
    """An event that can be waited for, and the agents that may publish it."""

    definition: EventDefinition
    producers: tuple[str, ...]


class Offer(Struct, frozen=True, dict=True):
    """`agents` are the names of the agents behind the events: of several that take one, the first. `of_a_tenant`: the
    planner is of one tenant."""

    events: tuple[EventDefinition, ...] = ()
    delegates: tuple[Delegate, ...] = ()
    waits: tuple[WaitChoice, ...] = ()
    result_schema: JsonObject | None = None
    agents: Mapping[str, str] = field(default_factory=dict[str, str])
    of_a_tenant: bool = False

    @property
    def is_empty(self) -> bool:
        """Tell whether there is no agent to ask; a plan is then parked, not failed."""
        return not (self.events or self.delegates or self.waits)

    @cached_property
    def choices(self) -> Mapping[str, EventDefinition]:
        """Return the choices, by the model's names for them, in the order of these."""
        found = {PUBLISH + event.event_name: event for event in self.events}
        found |= {goal_choice(one.planner, one.goal.event_name): one.goal for one in self.delegates}
        found |= {WAIT + one.definition.event_name: one.definition for one in self.waits}
        return {name: found[name] for name in sorted(found)}

    @cached_property
    def index(self) -> EventIndex:
        """Return the index for searches. It takes seconds to make of ten thousand new events, a part of that later; an
        offer is kept for as long as its registrations are."""
        definitions = self.choices.values()
        behind = tuple(self.agents.get(one.event_name, "") for one in definitions)
        return index_of(tuple(map(identity_of, definitions)), behind)

    @property
    def is_indexed(self) -> bool:
        """Tell whether the index is made by now."""
        return "index" in self.__dict__

    @cached_property
    def choices_about(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of choices by the event that they are about."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name, definition in self.choices.items():
            found[definition.event_name].append(name)
        return {name: tuple(names) for name, names in found.items()}

    def choices_of_agent(self, agent: str) -> Sequence[str]:
        """Return the names of the requests to this agent."""
        return self._choices_by_agent.get(agent, ())

    @cached_property
    def _choices_by_agent(self) -> Mapping[str, Sequence[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for event in self.events:
            found[self.agents.get(event.event_name, "")].append(PUBLISH + event.event_name)
        return found

    def is_near(self, choice: str) -> bool:
        """Tell whether a choice is of the planner's own kind: of its tenant, or shared as the planner is."""
        agent = self.agents.get(self.choices[choice].event_name)
        return agent is None or is_of_a_tenant(agent) == self.of_a_tenant

    def takes(self, name: str) -> bool:
        """Tell whether an event or a goal of this name is offered; of an empty name, whether anything is."""
        if not name:
            return not self.is_empty
        return any(not choice.startswith(WAIT) for choice in self.choices_about.get(name, ()))

    def event(self, name: str) -> EventDefinition | None:
        return self.choices.get(PUBLISH + name)

    def goal(self, planner: str, name: str) -> EventDefinition | None:
        return self._goals.get((planner, name))

    def wait(self, name: str) -> WaitChoice | None:
        return self._waits.get(name)

    @cached_property
    def _goals(self) -> Mapping[tuple[str, str], EventDefinition]:
        return {(one.planner, one.goal.event_name): one.goal for one in self.delegates}

    @cached_property
    def _waits(self) -> Mapping[str, WaitChoice]:
        return {awaited.definition.event_name: awaited for awaited in self.waits}


def make_offer(
    planner: str, live: Iterable[RegisteredEvent], awaits: Iterable[EventDefinition], result_schema: JsonObject | None
) -> Offer:
    """Make the offer of a planner. `awaits` are its own external events; its own goals are not offered to itself.

    The same registrations make the same offer, which is put together once.
    """
    return _offer_of(planner, identity_of(tuple(live)), tuple(map(identity_of, awaits)), identity_of(result_schema))


@lru_cache(maxsize=8)
def _offer_of(
    planner: str,
    live: Same[tuple[RegisteredEvent, ...]],
    awaits: tuple[Same[EventDefinition], ...],
    result_schema: Same[JsonObject | None],
) -> Offer:
    """A store gives the very same registrations as long as nothing has changed, which is seen at once."""
    known = tuple((one.agent, one.role, identity_of(one.definition)) for one in live() if one.agent != planner)
    return _make_offer(known, awaits, result_schema, is_of_a_tenant(planner))


@lru_cache(maxsize=8)
def _make_offer(
    live: tuple[tuple[str, EventRole, Same[EventDefinition]], ...],
    awaits: tuple[Same[EventDefinition], ...],
    result_schema: Same[JsonObject | None],
    of_a_tenant: bool,
) -> Offer:
    events: defaultdict[str, list[Same[EventDefinition]]] = defaultdict(list)
    delegates: dict[tuple[str, str], Delegate] = {}
    waits = {one().event_name: WaitChoice(one(), (CLIENT,)) for one in awaits}
    agents: dict[str, str] = {}
    for agent, role, same in live:
        definition = same()
        match role:
            case EventRole.TAKES if definition.topic is EventTopic.ACTION_REQUESTS:
                events[definition.event_name].append(same)
                agents.setdefault(definition.event_name, agent)
            case EventRole.TAKES_AS_GOAL:
                place = plain_name(agent), definition.event_name
                if place not in delegates or is_of_a_tenant(agent) == of_a_tenant:
                    delegates[place] = Delegate(place[0], definition)
            case EventRole.MAKES if definition.topic is not EventTopic.ACTION_RESULTS:
                known = waits.get(definition.event_name) or WaitChoice(definition, ())
                waits[definition.event_name] = replace(known, producers=(*known.producers, agent))
            case EventRole.TAKES | EventRole.MAKES | EventRole.AWAITS:
                pass
    return Offer(
        events=tuple(_merge(tuple(events[name])) for name in sorted(events)),
        delegates=tuple(delegates[key] for key in sorted(delegates)),
        waits=tuple(waits[name] for name in sorted(waits)),
        result_schema=result_schema(),
        agents=agents,
        of_a_tenant=of_a_tenant,
    )


def declare_wait(offer: Offer, event_type: str, known: Iterable[RegisteredEvent]) -> Offer:
    """Let a plan wait for this event, by its registered producers or by clients, whether or not anybody offers it."""
    made = [one for one in known if one.role is EventRole.MAKES and one.definition.event_name == event_type]
    declared = offer.wait(event_type)
    definition = declared.definition if declared else next((one.definition for one in made), None)
    definition = definition or EventDefinition(event_name=event_type, topic=EventTopic.BUSINESS_FACTS)
    producers = dict.fromkeys((CLIENT, *(declared.producers if declared else ()), *(one.agent for one in made)))
    others = (one for one in offer.waits if one.definition.event_name != event_type)
    return replace(offer, waits=(*others, WaitChoice(definition, tuple(producers))))


def request_in(registered: Iterable[RegisteredEvent], event_type: str) -> EventDefinition | None:
    """Return the definition of a request by all of its takers; None without one."""
    named = _requests_of(identity_of(tuple(registered))).get(event_type)
    return _merge(tuple(named)) if named else None


def held_definition(registered: Sequence[RegisteredEvent], proposal: Proposal) -> EventDefinition | None:
    """Return the present definition of a held request: that of its target, else that of all takers."""
    target = proposal.target
    own = [one for one in registered if target is not None and target in (one.agent, plain_name(one.agent))]
    return request_in(own, proposal.event_type) or request_in(registered, proposal.event_type)


@lru_cache(maxsize=16)
def _requests_of(registered: Same[tuple[RegisteredEvent, ...]]) -> dict[str, list[Same[EventDefinition]]]:
    """Return the definitions of requests by their names. A store gives the very same registrations, as for an offer."""
    found: defaultdict[str, list[Same[EventDefinition]]] = defaultdict(list)
    for one in registered():
        if one.role in TAKEN and one.definition.topic is EventTopic.ACTION_REQUESTS:
            found[one.definition.event_name].append(identity_of(one.definition))
    return dict(found)


@lru_cache(maxsize=4096)
def _merge(definitions: tuple[Same[EventDefinition], ...]) -> EventDefinition:
    return merge_definitions([same() for same in definitions])


def merge_definitions(definitions: Sequence[EventDefinition]) -> EventDefinition:
    """Return the one definition of an event with several takers; each of them gets the event. Its data must fit every
    schema, and it needs a person if any of them wants one."""
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
