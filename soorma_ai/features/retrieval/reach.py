"""Events that lead nowhere, or back to where they came from, as far as registrations tell."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from soorma_ai.features.retrieval.check import EventFault, EventFinding, FoundEvent
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import TAKEN, EventRole, RegisteredEvent

Key = tuple[EventTopic, str]

# What is made there reaches whoever asked, or people.
_ANSWERED = (EventTopic.ACTION_RESULTS, EventTopic.NOTIFICATION_EVENTS, EventTopic.SYSTEM_EVENTS)


def check_reach(
    registered: Iterable[RegisteredEvent], live: Collection[str] = (), published: Iterable[EventEnvelope] = ()
) -> list[EventFinding]:
    """Return requests without a taker, goals without a planner, facts without a listener, and circles. `live` are the
    live agents; without any, nothing runs, and gone ones count as well. Events `published` by agents close circles,
    too: a request is made without being declared."""
    known = list(registered)
    makers, takers = _by_event(known, (EventRole.MAKES,)), _by_event(known, TAKEN)
    heard = _by_event(known, (*TAKEN, EventRole.AWAITS))
    goals = {_key(one) for one in known if one.role is EventRole.TAKES_AS_GOAL}
    findings = list[EventFinding]()
    for key in sorted({*makers, *takers}):
        topic, name = key
        taken = [agent for agent in takers.get(key, ()) if not live or agent in live]
        if topic is EventTopic.ACTION_REQUESTS and not taken:
            problem = EventFault.NOBODY_PURSUES if key in goals else EventFault.NOBODY_TAKES
            findings.append(_finding(problem, name, takers.get(key) or makers[key]))
        elif topic not in (*_ANSWERED, EventTopic.ACTION_REQUESTS) and not heard.get(key):
            findings.append(_finding(EventFault.UNHEARD, name, makers[key]))
    made = _with_published(makers, published)
    circles = (
        EventFinding(EventFault.CIRCLE, tuple(FoundEvent(name, tuple(sorted(made[_, name]))) for _, name in circle))
        for circle in circles_in(made, takers)
    )
    return sorted(
        [*findings, *circles], key=lambda one: (list(EventFault).index(one.problem), one.events[0].event_name)
    )


def _with_published(
    makers: Mapping[Key, Collection[str]], published: Iterable[EventEnvelope]
) -> Mapping[Key, Collection[str]]:
    """Return the makers of each event, by registrations and by the log. A client's events are new beginnings."""
    made = {key: set(agents) for key, agents in makers.items()}
    for event in published:
        if event.source not in (CLIENT, SYSTEM):
            made.setdefault((event.topic, event.type), set()).add(event.source)
    return made


def circles_in(makers: Mapping[Key, Collection[str]], takers: Mapping[Key, Collection[str]]) -> list[list[Key]]:
    """Return the groups of events with a way from each to every other, or to itself, by the takers of one as makers of
    another. Results lead back to the requester, and do not count."""
    keys = [key for key in sorted({*makers} & {*takers}) if key[0] is not EventTopic.ACTION_RESULTS]
    made = defaultdict[str, list[Key]](list)
    for key in keys:
        for agent in makers[key]:
            made[agent].append(key)
    onward = {key: sorted({other for agent in takers[key] for other in made[agent]}) for key in keys}
    return sorted(sorted(one) for one in _components(onward) if len(one) > 1 or one[0] in onward[one[0]])


def _components(onward: Mapping[Key, Sequence[Key]]) -> Iterator[list[Key]]:
    """Yield the strongly connected parts, by Tarjan's algorithm without recursion."""
    number, low, on_way = dict[Key, int](), dict[Key, int](), dict[Key, None]()
    for start in onward:
        ahead = [(start, iter(onward[start]))] if start not in number else []
        if ahead:
            number[start] = low[start] = len(number)
            on_way[start] = None
        while ahead:
            here, targets = ahead[-1]
            target = next(targets, None)
            if target is None:
                ahead.pop()
                if ahead:
                    low[ahead[-1][0]] = min(low[ahead[-1][0]], low[here])
                if low[here] == number[here]:
                    yield _take_until(on_way, here)
            elif target not in number:
                number[target] = low[target] = len(number)
                on_way[target] = None
                ahead.append((target, iter(onward[target])))
            elif target in on_way:
                low[here] = min(low[here], number[target])


def _take_until(on_way: dict[Key, None], here: Key) -> list[Key]:
    found = list[Key]()
    while not found or found[-1] != here:
        found.append(on_way.popitem()[0])
    return found


def _by_event(known: Iterable[RegisteredEvent], roles: Collection[EventRole]) -> dict[Key, list[str]]:
    found = defaultdict[Key, list[str]](list)
    for one in known:
        if one.role in roles and one.agent not in found[_key(one)]:
            found[_key(one)].append(one.agent)
    return {key: agents for key, agents in found.items() if agents}


def _key(one: RegisteredEvent) -> Key:
    return one.definition.topic, one.definition.event_name


def _finding(problem: EventFault, name: str, agents: Collection[str]) -> EventFinding:
    return EventFinding(problem, (FoundEvent(name, tuple(sorted({*map(plain_name, agents)}))),))
