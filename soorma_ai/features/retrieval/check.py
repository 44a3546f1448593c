"""Events that a planner will not find among many, or cannot tell from others."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, RegisteredEvent
from soorma_ai.kernel.rules.choices.index import EventIndex
from soorma_ai.kernel.rules.choices.words import terms
from soorma_ai.surfaces.drawing.choreography import Mark

MOST_TWINS = 3
_MOST_CHARS = 2_000


class EventFault(StrEnum):
    """Faults, and notes (`is_note`) about possibly intended states."""

    NO_DESCRIPTION = "no_description"
    SAME_WORDS = "same_words"
    NOBODY_TAKES = "nobody_takes"
    NOBODY_PURSUES = "nobody_pursues"
    UNHEARD = "unheard"
    CIRCLE = "circle"

    @property
    def is_note(self) -> bool:
        return self in (EventFault.UNHEARD, EventFault.CIRCLE)


ADVICE = {
    EventFault.NO_DESCRIPTION: "Nothing says what they do, so a planner finds them by their names alone. Give each a "
    "description, or its capability a when_to_use and synonyms.",
    EventFault.SAME_WORDS: "Whoever asks in the words of one gets the other as well or before it. Say in each, by its "
    "description or when_to_use, what it alone does; or keep one of them.",
    EventFault.NOBODY_TAKES: "A request of this name waits until its deadline. Start an agent that takes it, or remove "
    "those that ask for it.",
    EventFault.NOBODY_PURSUES: "A goal of this name waits until its deadline. Start its planner, or remove it.",
    EventFault.UNHEARD: "No agent takes it or waits for it. That is well where people or other systems read it.",
    EventFault.CIRCLE: "Each can lead to the next and to itself again. Make sure that something ends it.",
}

_NOTES = {
    EventFault.NOBODY_TAKES: "nobody takes it",
    EventFault.NOBODY_PURSUES: "nobody pursues it",
    EventFault.UNHEARD: "nobody hears it",
    EventFault.CIRCLE: "in a circle",
}


class FoundEvent(Struct, frozen=True):
    event_name: str
    agents: tuple[str, ...]


class EventFinding(Struct, frozen=True):
    """Problem, with its events; for those with the same words, the conflicting ones."""

    problem: EventFault
    events: tuple[FoundEvent, ...]


def check_events(registered: Iterable[RegisteredEvent]) -> list[EventFinding]:
    """Return the faults of requests and goals with takers, as far as a search for them goes, by name."""
    takers: defaultdict[str, dict[str, EventDefinition]] = defaultdict(dict)
    for one in registered:
        if one.role in TAKEN and one.definition.topic is EventTopic.ACTION_REQUESTS:
            takers[one.definition.event_name][one.agent] = one.definition
    known = {name: FoundEvent(name, tuple(sorted({*map(plain_name, takers[name])}))) for name in sorted(takers)}
    texts = {name: _text(takers[name].values()) for name in known}
    silent = [EventFinding(EventFault.NO_DESCRIPTION, (known[name],)) for name in known if not texts[name]]
    index = EventIndex([definition for name in known for definition in takers[name].values()])
    groups = _widest(_with_twins(index, name, text) for name, text in texts.items() if text)
    return [*silent, *(EventFinding(EventFault.SAME_WORDS, tuple(known[name] for name in group)) for group in groups)]


def by_problem(findings: Iterable[EventFinding]) -> dict[EventFault, list[EventFinding]]:
    """Return findings by problem, in the order of the problems."""
    found = defaultdict[EventFault, list[EventFinding]](list)
    for one in findings:
        found[one.problem].append(one)
    return {problem: found[problem] for problem in EventFault if problem in found}


def marks_of(findings: Iterable[EventFinding]) -> dict[str, Mark]:
    """Return the marks of a drawing, by the name of the event."""
    return {
        event.event_name: Mark(_NOTES.get(finding.problem, ""), not finding.problem.is_note)
        for finding in findings
        for event in finding.events
    }


def _text(definitions: Iterable[EventDefinition]) -> str:
    """Return the words of a search for an event; empty without any."""
    told = (f"{one.description} {one.when_to_use}" for one in definitions)
    return next((text for text in told if terms(text, _MOST_CHARS)), "")


def _with_twins(index: EventIndex, name: str, text: str) -> tuple[str, ...]:
    """Return the event, and the ones ranked before it or equal to it by its own words, by name."""
    found = dict(index.weigh(text, MOST_TWINS + 1))
    own = found.get(name, 0.0)
    twins: Sequence[str] = [other for other, weight in found.items() if other != name and weight >= own]
    return tuple(sorted((name, *twins[:MOST_TWINS])))


def _widest(groups: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the groups of several that are no part of another of them."""
    kept: defaultdict[str, list[set[str]]] = defaultdict(list)
    widest = list[tuple[str, ...]]()
    for group in sorted({*groups}, key=lambda group: (-len(group), group)):
        if len(group) > 1 and not any({*group} <= other for other in kept[group[0]]):
            widest.append(group)
            for name in group:
                kept[name].append({*group})
    return sorted(widest)
