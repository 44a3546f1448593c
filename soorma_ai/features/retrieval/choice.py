"""Choice of one event of a topic, outside of any decision of a plan: its offer, and the meaning of an answer."""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from soorma_ai.errors import NotAllowed, PayloadMismatch
from soorma_ai.kernel.domain.decisions import EventDecision, PlannerDecision, PublishAction, Showing
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.slices import Slices
from soorma_ai.kernel.domain.states import ANNOUNCEMENTS
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, identity_of
from soorma_ai.kernel.rules.choices.form import NONE
from soorma_ai.kernel.rules.choices.lookups import unseen_in, with_whole_schemas
from soorma_ai.kernel.rules.choices.offer import Offer, merge_definitions
from soorma_ai.kernel.rules.decisions.judge import check_payload, event_offered, prepare_decision
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision


class NoChoice(Struct, frozen=True):
    """No event serves, for the reason that the model gives."""

    reasoning: str


def offer_on(topic: EventTopic, agent: str, live: Iterable[RegisteredEvent]) -> Offer:
    """Return the publishable events of a topic: those with other agents as takers, goals too, and beside requests the
    agent's own declared ones. The same registrations make the same offer, put together once."""
    return _offer_of(topic, agent, identity_of(tuple(live)))


@lru_cache(maxsize=8)
def _offer_of(topic: EventTopic, agent: str, live: Same[tuple[RegisteredEvent, ...]]) -> Offer:
    """A store gives the very same registrations as long as nothing has changed, which is seen at once."""
    known = (one for one in live() if one.definition.topic is topic and _is_for(one, agent))
    return _make_offer(tuple((one.agent, identity_of(one.definition)) for one in known))


@lru_cache(maxsize=8)
def _make_offer(known: tuple[tuple[str, Same[EventDefinition]], ...]) -> Offer:
    found: defaultdict[str, list[EventDefinition]] = defaultdict(list)
    agents: dict[str, str] = {}
    for agent, same in known:
        found[same().event_name].append(same())
        agents.setdefault(same().event_name, agent)
    return Offer(tuple(merge_definitions(found[name]) for name in sorted(found)), agents=agents)


def _is_for(one: RegisteredEvent, agent: str) -> bool:
    if one.definition.event_name in ANNOUNCEMENTS:
        return False
    if one.agent != agent:
        return one.role in TAKEN
    return one.role is EventRole.MAKES and one.definition.topic is not EventTopic.ACTION_REQUESTS


def parse_choice(value: Json, fault: str, offer: Offer) -> Slices[EventDecision | NoChoice]:
    """Return the choice of the wire form. `fault` is the reason for an answer without JSON, if any. Raises
    MalformedDecision, and NotAllowed for a decision reserved to plans."""
    if isinstance(value, dict) and isinstance(step := value.get("step"), dict) and step.get("action") == NONE:
        reasoning = value.get("reasoning")
        return NoChoice(reasoning if isinstance(reasoning, str) else "")
    decision = yield from prepare_decision(parse_decision(value, fault), offer)
    action = decision.next_action
    if not isinstance(action, PublishAction):
        raise NotAllowed(f"{action.action!r} is not possible here; choose exactly one event of the schema, or {NONE!r}")
    return EventDecision(event_type=action.event_type, data=action.data, reasoning=decision.reasoning)


def unseen_choice(chosen: EventDecision, offer: Offer, showing: Showing) -> list[str]:
    """Return a chosen event without its schema shown."""
    return unseen_in(_as_step(chosen), offer, showing)


def check_of_choice(chosen: EventDecision, offer: Offer) -> tuple[JsonObject | None, Json]:
    """Return the data that `judge_choice` judges, with its schema."""
    definition = offer.event(chosen.event_type)
    return definition.payload_schema if definition else None, chosen.data


def judge_choice(chosen: EventDecision, offer: Offer) -> None:
    """Raise UnknownEvent for an event not on offer, PayloadMismatch for unfitting data; in this order."""
    definition = event_offered(chosen.event_type, offer)
    try:
        check_payload(f"data for event {chosen.event_type!r}", definition, chosen.data)
    except PayloadMismatch as mismatch:
        raise with_whole_schemas(mismatch, _as_step(chosen), offer) from mismatch


def _as_step(chosen: EventDecision) -> PlannerDecision:
    return PlannerDecision(next_action=PublishAction(event_type=chosen.event_type, data=chosen.data))
