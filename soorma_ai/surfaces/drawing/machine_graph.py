"""The graph of a plan's state machine, and where the plan stands in it."""

from collections.abc import Collection, Iterator

from soorma_ai.kernel.domain.states import StateConfig, States
from soorma_ai.surfaces.drawing.graph import Edge, EdgeKind, Graph, Node, NodeKind, make_graph


def graph_of_machine(states: States, current: str, visited: Collection[str] = ()) -> Graph:
    """Return the graph. `visited` are states of which there is a result; what leads away from elsewhere is faint."""
    nodes = [_node(name, config, name == current) for name, config in states.items()]
    been = {*visited, current}
    return make_graph(nodes, (edge for name, config in states.items() for edge in _edges(name, config, name in been)))


def _node(name: str, config: StateConfig, is_current: bool) -> Node:
    action = config.action
    note = "the end" if config.is_terminal else action.event_type if action else ""
    kind = NodeKind.STATE
    if config.is_terminal:
        kind = NodeKind.FAILURE if config.fails else NodeKind.END
    elif action is not None:
        kind = NodeKind.PEOPLE if action.is_question else NodeKind.REQUEST
    return Node(f"state {name}", name, kind, note, is_current=is_current)


def _edges(name: str, config: StateConfig, has_been: bool) -> Iterator[Edge]:
    kind = EdgeKind.CAUSE if has_been else EdgeKind.MAYBE
    for one in config.transitions:
        label = f"{one.on_event} if {one.condition}" if one.condition else one.on_event
        yield Edge(f"state {name}", f"state {one.to_state}", label, kind)
    if config.default_next:
        yield Edge(f"state {name}", f"state {config.default_next}", "else" if config.transitions else "", kind)
