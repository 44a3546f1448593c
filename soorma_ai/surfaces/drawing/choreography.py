"""Graph of a choreography: the events between agents, by their registrations."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import TAKEN, AgentKind, EventRole, RegisteredEvent
from soorma_ai.surfaces.drawing.graph import MOST_NODES, Edge, EdgeKind, Graph, Node, NodeKind, make_graph

ANY_PLANNER = "planners"


class Mark(Struct, frozen=True):
    """Note at an event; `is_faulty` draws it as a fault."""

    note: str
    is_faulty: bool


def graph_of_registry(
    registered: Iterable[RegisteredEvent],
    live: Collection[str],
    marks: Mapping[str, Mark] = MappingProxyType({}),
    most: int = MOST_NODES,
) -> Graph:
    """Return agents and the events they take and make.

    `live` are the names of the running agents, `marks` are notes by the name of an event. A planner may publish any
    request that another agent takes; one node stands for several such planners.
    """
    known = [one for one in registered if one.definition.topic is not EventTopic.SYSTEM_EVENTS]
    heard = {_event_id(one) for one in known if one.role is not EventRole.MAKES}
    shown = [one for one in known if one.definition.topic is not EventTopic.ACTION_RESULTS or _event_id(one) in heard]
    goals = {_event_id(one) for one in shown if one.role is EventRole.TAKES_AS_GOAL}
    nodes = dict[str, Node]()
    for one in sorted(shown, key=_weight):
        mark = marks.get(one.definition.event_name)
        nodes.setdefault(_event_id(one), _event_node(one, _event_id(one) in goals, mark))
        nodes.setdefault(_agent_id(one), _agent_node(one, one.agent in live))
    edges = [_edge(one) for one in shown]
    planners = sorted({_agent_id(one) for one in shown if one.kind is AgentKind.PLANNER})
    asked = list(dict.fromkeys(_event_id(one) for one in shown if _can_be_asked(one) and _event_id(one) not in goals))
    if len(planners) > 1 and asked:
        nodes[ANY_PLANNER] = Node(ANY_PLANNER, "any planner", NodeKind.PLANNER, "may ask")
    edges += _of_planners(planners, asked)
    return make_graph(nodes.values(), edges, most)


def _weight(one: RegisteredEvent) -> tuple[bool, bool, str, str]:
    """Return a sort key with goals and planners first, where the drawing begins."""
    return one.role is not EventRole.TAKES_AS_GOAL, one.kind is not AgentKind.PLANNER, one.agent, _event_id(one)


def _can_be_asked(one: RegisteredEvent) -> bool:
    return (
        one.role is EventRole.TAKES
        and one.definition.topic is EventTopic.ACTION_REQUESTS
        and one.kind is not AgentKind.PLANNER
    )


def _of_planners(planners: Sequence[str], asked: Iterable[str]) -> Iterator[Edge]:
    source = planners[0] if len(planners) == 1 else ANY_PLANNER
    if planners:
        yield from (Edge(source, event, kind=EdgeKind.MAYBE) for event in asked)
    if len(planners) > 1:
        yield from (Edge(planner, ANY_PLANNER, kind=EdgeKind.MAYBE) for planner in planners)


def _edge(one: RegisteredEvent) -> Edge:
    if one.role is EventRole.MAKES:
        return Edge(_agent_id(one), _event_id(one))
    kind = EdgeKind.CAUSE if one.role in TAKEN else EdgeKind.MAYBE
    return Edge(_event_id(one), _agent_id(one), kind=kind)


def _event_node(one: RegisteredEvent, is_goal: bool, mark: Mark | None) -> Node:
    made = one.definition
    kind = NodeKind.GOAL if is_goal else NodeKind.EVENT
    if made.topic is EventTopic.ACTION_REQUESTS and not is_goal:
        kind = NodeKind.REQUEST
    return Node(
        _event_id(one),
        made.event_name,
        kind,
        note=mark.note if mark else "",
        is_faulty=mark is not None and mark.is_faulty,
    )


def _agent_node(one: RegisteredEvent, is_live: bool) -> Node:
    kind = NodeKind.PLANNER if one.kind is AgentKind.PLANNER else NodeKind.AGENT
    return Node(
        _agent_id(one), plain_name(one.agent), kind if is_live else NodeKind.GONE, one.kind if is_live else "gone"
    )


def _event_id(one: RegisteredEvent) -> str:
    return f"event {one.definition.topic} {one.definition.event_name}"


def _agent_id(one: RegisteredEvent) -> str:
    return f"agent {one.agent}"
