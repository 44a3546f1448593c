"""Agents and their registrations."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from markupsafe import Markup
from msgspec import Struct
from starlette.types import ASGIApp

from soorma_ai.apps.console.words import words
from soorma_ai.errors import Forbidden, NotFound
from soorma_ai.features.dead_letters.service import dead_letter_page
from soorma_ai.features.retrieval.check import ADVICE, EventFault, EventFinding, by_problem, check_events, marks_of
from soorma_ai.features.retrieval.reach import check_reach
from soorma_ai.features.tracking.service import reader_of
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.registry import Backlog, DiscoveredAgent, EventRole, RegisteredEvent
from soorma_ai.kernel.runtime.client.questions import question_page
from soorma_ai.kernel.runtime.views.registry import nearest
from soorma_ai.surfaces.drawing.choreography import graph_of_registry
from soorma_ai.surfaces.drawing.layout import Direction
from soorma_ai.surfaces.drawing.mermaid import write
from soorma_ai.surfaces.drawing.svg import draw
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get

MOST_AGENTS = 100
MOST_LETTERS = 10
MOST_DOUBTS = 10
MOST_UNTAKEN = 50
MOST_EVENTS = 200
MOST_FINDINGS = 50


class AgentEntry(Struct, frozen=True):
    """An agent with the names of its events, and its backlog where the visitor may see that."""

    agent: DiscoveredAgent
    goals: tuple[str, ...]
    takes: tuple[str, ...]
    makes: tuple[str, ...]
    backlog: Backlog | None


async def list_agents(visitor: PageContext) -> ASGIApp:
    client, search = visitor.client, visitor.query_value("search").strip()[:200]
    agents = await client.registry.query(live=False)
    after = visitor.query_value("after")
    found = [one for one in agents if search.lower() in one.name.lower() and one.agent_id > after]
    shown = found[:MOST_AGENTS]
    more = len(found) - len(shown)
    backlogs = await _backlogs(visitor)
    letters = await dead_letter_page(client.services, client.person, MOST_LETTERS)
    doubts = await question_page(client.services, client.person, MOST_DOUBTS, kind=ExpectationKind.DOUBT)
    untaken = await reader_of(client).tracker.untaken(limit=MOST_UNTAKEN + 1)
    return visitor.frame.page(
        "agents.html",
        title="Agents",
        section="/agents",
        now=visitor.now,
        search=search,
        agents=[_tell(one, backlogs) for one in shown],
        more_agents=more,
        next_agents=visitor.frame.path("agents", search=search or None, after=shown[-1].agent_id) if more else None,
        letters=letters.letters,
        more_letters=letters.older,
        doubts=doubts.waits,
        more_doubts=doubts.has_more,
        untaken=untaken[:MOST_UNTAKEN],
        more_untaken=len(untaken) > MOST_UNTAKEN,
    )


async def show_agent(visitor: PageContext) -> ASGIApp:
    name = visitor.query_value("name")  # of a path, browsers take `..` for another
    found = await visitor.client.registry.query(name=name, live=False) if name else []
    if not found:
        raise NotFound(f"no agent {name[:80]!r} is registered here")
    one = _tell(nearest(name, found), await _backlogs(visitor))
    return visitor.frame.page(
        "agent.html",
        title=f"Agent {words(one.agent.name, 80)}",
        section="/agents",
        now=visitor.now,
        one=one,
        events=one.agent.events[:MOST_EVENTS],
        more_events=max(0, len(one.agent.events) - MOST_EVENTS),
    )


async def show_choreography(visitor: PageContext) -> ASGIApp:
    registry = visitor.client.registry
    live = frozenset(one.agent_id for one in await registry.query())
    known = _RegistryView.of(await registry.events(live=False), live)
    drawn = await asyncio.to_thread(_draw, known)
    return visitor.frame.page(
        "choreography.html", title="Choreography", section="/choreography", drawn=drawn, advice=ADVICE
    )


@dataclass(frozen=True)
class _RegistryView:
    """Registrations of a tenant; equal while nothing shown has changed."""

    words: tuple[str, ...]
    live: frozenset[str]
    events: Sequence[RegisteredEvent] = field(compare=False)

    @classmethod
    def of(cls, events: Sequence[RegisteredEvent], live: frozenset[str]) -> "_RegistryView":
        words = (
            word
            for one in events
            for made in [one.definition]
            for word in (one.agent, one.kind, one.role, made.topic, made.event_name, made.description, made.when_to_use)
        )
        return cls(tuple(words), live, events)


class Choreography(Struct, frozen=True):
    """The drawing, and by problem some of the findings and their number."""

    graph: Markup
    mermaid: str
    is_empty: bool
    more: int
    findings: Mapping[EventFault, Sequence[EventFinding]]
    counts: Mapping[EventFault, int]


@lru_cache(maxsize=8)
def _draw(known: _RegistryView) -> Choreography:
    """Return the drawing of the registry, made once for each registration: for ten thousand events it takes more
    than a second."""
    reach = check_reach(known.events, known.live)
    graph = graph_of_registry(known.events, known.live, marks_of(reach))
    findings = by_problem([*check_events(known.events), *reach])
    return Choreography(
        graph=Markup(draw(graph, "Events between agents", Direction.RIGHT)),
        mermaid=write(graph, Direction.RIGHT),
        is_empty=not graph.nodes,
        more=graph.more,
        findings={problem: found[:MOST_FINDINGS] for problem, found in findings.items()},
        counts={problem: len(found) for problem, found in findings.items()},
    )


async def _backlogs(visitor: PageContext) -> dict[str, Backlog] | None:
    """Return backlogs by agent; None without the right to see them."""
    try:
        return {one.agent: one for one in await visitor.client.registry.backlogs()}
    except Forbidden:
        return None


def _tell(agent: DiscoveredAgent, backlogs: dict[str, Backlog] | None) -> AgentEntry:
    return AgentEntry(
        agent,
        _names(agent, (EventRole.TAKES_AS_GOAL,)),
        _names(agent, (EventRole.TAKES, EventRole.AWAITS)),
        tuple(dict.fromkeys((*_names(agent, (EventRole.MAKES,)), *(made.event_name for made in agent.produced)))),
        backlogs.get(agent.agent_id) if backlogs else None,
    )


def _names(agent: DiscoveredAgent, roles: Iterable[EventRole]) -> tuple[str, ...]:
    wanted = {*roles}
    return tuple(dict.fromkeys(made.event_name for role, made in agent.events if role in wanted))


ROUTES: tuple[PageRoute, ...] = (
    get("/agents", list_agents),
    get("/agent", show_agent),
    get("/choreography", show_choreography),
)
