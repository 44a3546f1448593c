"""Rules of a journey through phases: the order of ways, the effects of a move, the meaning of a person's answer.

Phases go by their names here; their enum is the author's.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, StrEnum
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from soorma_ai.errors import ConfigError, LimitExceeded, LocalProtocolError
from soorma_ai.features.phases.records import (
    CHECKPOINT_ANSWERED,
    DecidedBy,
    JourneyState,
    OpenTransition,
    PhaseTransition,
)
from soorma_ai.kernel.domain.conditions import fault_of, holds
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.people import Answer, AnswerDecision
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, clip, identity_of
from soorma_ai.kernel.rules.choices.offer import Offer

KNOWN = ("context", "work", "visits", "messages", "brief")
MOST_MESSAGES = 20
MESSAGE_CHARS = 4_000
MOST_VISITS = 10

_STANDING = TypeAdapter(JourneyState)


class PhaseGraph(Struct, frozen=True):
    """The phases of an agent, by their names, and the ways between them."""

    phases: tuple[str, ...]
    transitions: tuple[PhaseTransition, ...]
    initial: str
    complete: str


class Say(StrEnum):
    """Person's decision at a checkpoint; GO_ON is the meaning of their silence at an optional one."""

    APPROVE = "approve"
    MODIFY = "modify"
    REJECT = "reject"
    GO_ON = "go on"


class CheckpointAnswer(Struct, frozen=True):
    """`back` names the condition of a backward transition that the person wants."""

    say: Say
    reason: str = ""
    back: str = ""
    modifications: JsonObject = field(default_factory=dict[str, Json])


def name_of(phase: Enum) -> str:
    """Return the name of a phase. Raise ConfigError for a phase with a value other than text: it is shown and stored by
    that."""
    value: object = phase.value
    if not isinstance(value, str) or not value or ":" in value:
        raise ConfigError(f"phase {phase!r} has the value {value!r}; give it text without a colon, by which it is kept")
    return value


def check_graph(graph: PhaseGraph) -> None:
    """Raise ConfigError, which names every fault."""
    if faults := [*_faults(graph)]:
        raise ConfigError(f"the phases cannot run: {'; '.join(faults)}")


def _faults(graph: PhaseGraph) -> Iterator[str]:
    for name in (graph.initial, graph.complete):
        if name not in graph.phases:
            yield f"there is no phase {name!r}; there are {', '.join(graph.phases)}"
    ways = {name: [one for one in graph.transitions if name_of(one.from_phase) == name] for name in graph.phases}
    for one in graph.transitions:
        ends = (name_of(one.from_phase), name_of(one.to_phase))
        if strange := [name for name in ends if name not in graph.phases]:
            yield f"{one.condition!r} is about {strange[0]!r}, which is none of these phases"
        if one.expression and one.question:
            yield f"{one.condition!r} has an expression and a question; one of them decides"
        if one.expression and (fault := fault_of(one.expression, KNOWN)):
            yield f"{one.condition!r}: {fault}"
        if one.is_backward and ends[0] == ends[1]:
            yield f"{one.condition!r} leads back to the phase that it comes from"
    if ways.get(graph.complete):
        yield f"{graph.complete!r} is the end, and nothing leads out of it"
    reached, left = {graph.initial}, [graph.initial]
    while left:
        onward = {name_of(one.to_phase) for one in ways.get(left.pop(), ())} - reached
        reached |= onward
        left += onward
    if away := [name for name in graph.phases if name not in reached]:
        yield f"no way leads to {', '.join(away)}"
    if stuck := [name for name in reached if name != graph.complete and not ways.get(name)]:
        yield f"nothing leads on from {', '.join(sorted(stuck))}"


def in_order(graph: PhaseGraph, phase: str) -> list[PhaseTransition]:
    """Return the ways out of a phase as they are tried: backward ones first, then by priority, then as they stand."""
    ways = [one for one in graph.transitions if name_of(one.from_phase) == phase]
    return sorted(ways, key=lambda one: (not one.is_backward, -one.priority))


def begin_in(phase: str) -> JourneyState:
    return JourneyState(phase, {phase: 1})


def move_on(standing: JourneyState, leading: OpenTransition, most_visits: Mapping[str, int | None]) -> JourneyState:
    """Enter the next phase. The cause of the visit before is shown no more. Raise LimitExceeded after the largest
    number of entries of that phase."""
    entered, most = leading.to_phase, most_visits.get(leading.to_phase, MOST_VISITS)
    count = standing.visits.get(entered, 0) + 1
    if most is not None and count > most:
        raise LimitExceeded("max_visits", f"{entered} has been entered {most} times; {leading.reason!r} leads there")
    return JourneyState(
        entered,
        {**standing.visits, entered: count},
        leading.reason,
        clip(leading.detail, MESSAGE_CHARS),
        leading.is_backward,
        moves=standing.moves + 1,
    )


def record_of(standing: JourneyState, leading: OpenTransition, now: datetime) -> JsonObject:
    """Return the record of a transition, in the form of `get_state`."""
    return {
        "from": standing.phase,
        "to": leading.to_phase,
        "reason": leading.reason,
        "is_backward": leading.is_backward,
        "timestamp": now.isoformat(),
        "detail": clip(leading.detail, MESSAGE_CHARS),
        "decided_by": leading.decided_by,
    }


def count_actions(standing: JourneyState, more: int, most: int | None) -> JourneyState:
    """Count requests of this visit. Raise LimitExceeded for more than the phase may make in one."""
    if most is not None and standing.actions + more > most:
        raise LimitExceeded(
            "max_actions", f"{standing.actions} of {most} used in visit {standing.visit} of {standing.phase}"
        )
    return replace(standing, actions=standing.actions + more)


def expression_holds(transition: PhaseTransition, values: JsonObject) -> bool:
    """Tell whether a condition in CEL holds over the known values, see KNOWN; an undecidable one does not."""
    return holds(transition.expression, values)


def answer_schema(changes: JsonObject) -> JsonObject:
    """Return the form of an answer at a checkpoint; the decision may be given beside it."""
    back = "the condition of the backward transition that is to be taken"
    return {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "action": {"enum": ["approve", "modify", "reject"]},
            "modifications": changes,
            "reason": {"type": "string", "maxLength": MESSAGE_CHARS},
            "back": {"type": "string", "description": back},
        },
    }


def verdict_of(met: Expectation) -> CheckpointAnswer:
    """Return the outcome of a closed checkpoint."""
    if met.status is ExpectationStatus.EXPIRED or met.answer is None:
        return CheckpointAnswer(Say.GO_ON)
    payload, said = met.answer.payload, _say(met.answer)
    modifications = payload.get("modifications") if said is Say.MODIFY else None
    reason = _text(payload.get("reason")) or met.answer.note or _text(payload.get("text"))
    return CheckpointAnswer(
        said,
        clip(reason, MESSAGE_CHARS),
        _text(payload.get("back")),
        modifications if isinstance(modifications, dict) else {},
    )


def _say(answer: Answer) -> Say:
    """Return the decision. A named action counts beside a yes: approved, but with changes. Nothing makes a no a yes."""
    match answer.decision:
        case AnswerDecision.REJECT:
            return Say.REJECT
        case AnswerDecision.EDIT:
            return Say.MODIFY
        case AnswerDecision.APPROVE | AnswerDecision.RESPOND as said:
            action = answer.payload.get("action")
            unnamed = Say.APPROVE if said is AnswerDecision.APPROVE else Say.MODIFY
            return Say(action) if action in ("approve", "modify", "reject") else unnamed


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def back_by(graph: PhaseGraph, phase: str, verdict: CheckpointAnswer) -> OpenTransition | None:
    """Return the backward transition for a person's no: the one with their named condition."""
    for one in in_order(graph, phase):
        if one.is_backward and verdict.back == one.condition:
            return OpenTransition(name_of(one.to_phase), one.condition, True, DecidedBy.PERSON, verdict.reason)
    return None


def keep_message(messages: Sequence[Json], text: str) -> list[Json]:
    """Return the messages that are kept: the last ones, each of bounded length."""
    kept: list[Json] = [*messages, {"text": clip(text, MESSAGE_CHARS), "told": False}]
    return kept[-MOST_MESSAGES:]


def tell_messages(messages: Sequence[Json]) -> list[Json]:
    """Return the messages as shown: the next transition takes them away."""
    return [{**one, "told": True} for one in messages if isinstance(one, dict)]


def untold(messages: Sequence[Json]) -> list[Json]:
    return [one for one in messages if isinstance(one, dict) and not one.get("told")]


def texts_in(messages: Sequence[Json]) -> list[str]:
    return [_text(one.get("text")) for one in messages if isinstance(one, dict)]


def write_journey_state(standing: JourneyState) -> JsonObject:
    return _STANDING.dump_python(standing, mode="json")


def read_journey_state(stored: Json) -> JourneyState:
    """Return the state. Raise LocalProtocolError for an invalid one."""
    try:
        return _STANDING.validate_python(stored)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise LocalProtocolError(f"this is no state of a journey: {place}: {fault['msg']}") from error


def check_journey_state(standing: JourneyState, graph: PhaseGraph) -> JourneyState:
    """Raise LocalProtocolError for the standing of a journey through other phases, or of one that is over."""
    named = {standing.phase, *standing.visits}
    if strange := sorted(named - {*graph.phases}):
        raise LocalProtocolError(f"the state tells of {strange[0]!r}; the phases are {', '.join(graph.phases)}")
    if standing.visits.get(standing.phase, 0) < 1 or any(count < 0 for count in standing.visits.values()):
        raise LocalProtocolError(f"the state is in {standing.phase!r} and tells of {dict(standing.visits)} visits")
    # What it waited for was another plan's.
    return replace(standing, checkpoint=None, leading=None)


def answers_checkpoint(met: Expectation, standing: JourneyState) -> bool:
    return met.event_type == CHECKPOINT_ANSWERED and met.id == standing.checkpoint


def narrow_offer(offer: Offer, names: Sequence[str], result_schema: JsonObject) -> Offer:
    """Return the part of an offer with the events, goals and waits of these names, and with this schema for the result.
    The same things make the same offer, put together once."""
    return _narrow(identity_of(offer), tuple(dict.fromkeys(names)), identity_of(result_schema))


@lru_cache(maxsize=64)
def _narrow(offer: Same[Offer], names: tuple[str, ...], schema: Same[JsonObject]) -> Offer:
    known = frozenset(names)
    return replace(
        offer(),
        events=tuple(event for event in offer().events if event.event_name in known),
        delegates=tuple(one for one in offer().delegates if one.goal.event_name in known),
        waits=tuple(one for one in offer().waits if one.definition.event_name in known),
        result_schema=schema(),
    )
