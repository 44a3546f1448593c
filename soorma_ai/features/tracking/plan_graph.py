"""Graph of a plan's causes. An event with an answer to one thing and a lead to another is one node."""

from collections.abc import Collection, Iterable, Iterator

from soorma_ai.features.tracking.lines import Line, LineKind, flatten
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.states import StateConfig, States
from soorma_ai.surfaces.drawing.graph import MOST_NODES, Edge, EdgeKind, Graph, Node, NodeKind, make_graph

_KINDS = {
    LineKind.TURN: NodeKind.EVENT,
    LineKind.DECISION: NodeKind.DECISION,
    LineKind.CHOICE: NodeKind.DECISION,
    LineKind.REQUEST: NodeKind.REQUEST,
    LineKind.DELEGATION: NodeKind.GOAL,
    LineKind.EVENT: NodeKind.EVENT,
    LineKind.REPLY: NodeKind.EVENT,
    LineKind.PLAN: NodeKind.PLAN,
    LineKind.WAIT: NodeKind.PEOPLE,
    LineKind.GATE: NodeKind.PEOPLE,
    LineKind.ANSWER: NodeKind.PEOPLE,
    LineKind.OPEN: NodeKind.STATE,
    LineKind.EXPIRY: NodeKind.FAILURE,
    LineKind.CLOSED: NodeKind.STATE,
    LineKind.PARKED: NodeKind.STATE,
    LineKind.END: NodeKind.END,
}
_CALLS = (LineKind.DECISION, LineKind.CHOICE)
# Shown once each, whatever it led to: the event of a line with one of these kinds is the node.
_OF_EVENT = frozenset({LineKind.TURN, LineKind.REQUEST, LineKind.DELEGATION, LineKind.EVENT, LineKind.REPLY})
_ANSWERS = frozenset({LineKind.ANSWER})


def place_of(number: int) -> str:
    """Return the fragment of a page under which the line of a trace with this number is told."""
    return f"line-{number}"


def graph_of_plan(trace: Trace, most: int = MOST_NODES) -> Graph:
    """Return the graph of a trace. Reports of progress are left out."""
    drawn = _GraphBuilder(trace.lines)
    return make_graph(drawn.nodes, drawn.edges, most)


class _GraphBuilder:
    """Nodes and edges, gathered during a walk of the lines, each before its consequences."""

    def __init__(self, lines: tuple[Line, ...]) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._numbers = {id(line): number for number, line in enumerate(flatten(lines))}
        self._led_to = set[str]()
        ids = {self._id_of(line) for line in flatten(lines) if line.kind is not LineKind.PROGRESS}
        last = ""
        for line in lines:
            here = self._id_of(line)
            self._walk(line, None)
            if here not in self._led_to:
                self._lead_here(line, here, last, ids)
            last = here
        self.edges += [edge for edge in self._ends(lines) if edge.target in ids]

    def _lead_here(self, line: Line, here: str, last: str, ids: set[str]) -> None:
        """Draw the predecessors of a turn, if no line names its cause."""
        cause = f"event {line.because}"
        if line.because and cause in ids and cause != here:
            self.edges.append(Edge(cause, here))
        elif last and last != here:
            self.edges.append(Edge(last, here, kind=EdgeKind.LATER))

    def _walk(self, top: Line, above: str | None) -> None:
        ahead: list[tuple[Line, str | None]] = [(top, above)]
        while ahead:
            line, cause = ahead.pop()
            if line.kind is LineKind.PROGRESS:
                continue
            here = self._id_of(line)
            self.nodes.append(self._node(line, here))
            if cause is not None and cause != here:
                self.edges.append(Edge(cause, here))
                self._led_to.add(here)
            ahead += reversed(list(self._causes(line, here)))

    def _causes(self, line: Line, here: str) -> Iterator[tuple[Line, str]]:
        """Yield each line below with its causing node: in a turn, an answer of a model leads to the next and to its
        effects."""
        cause = here
        for below in line.lines:
            if line.asked is not None and below.kind is LineKind.OPEN:
                continue  # the question says so itself
            yield below, cause if below.kind is not LineKind.CHOICE else here
            if line.kind is LineKind.TURN and below.kind is LineKind.DECISION:
                cause = self._id_of(below)

    def _ends(self, lines: tuple[Line, ...]) -> Iterator[Edge]:
        """Yield the answers at the end of a plan."""
        for line in flatten(lines):
            if line.kind is LineKind.END and line.event_id:
                yield Edge(self._id_of(line), f"event {line.event_id}")

    def _id_of(self, line: Line) -> str:
        if line.event_id and (line.kind in _OF_EVENT or line.kind in _ANSWERS):
            return f"event {line.event_id}"
        return f"line {self._numbers[id(line)]}"

    def _node(self, line: Line, here: str) -> Node:
        kind = _KINDS.get(line.kind, NodeKind.EVENT)
        if line.is_failure:
            kind = NodeKind.REFUSAL if line.kind in _CALLS else NodeKind.FAILURE
        label, note = _words(line)
        is_open = line.asked is not None and line.asked.status is ExpectationStatus.OPEN
        return Node(
            here, label, kind, note, place_of(self._numbers[id(line)]), is_current=is_open or line.kind is LineKind.OPEN
        )


def _words(line: Line) -> tuple[str, str]:
    match line.kind:
        case LineKind.DECISION | LineKind.CHOICE:
            verdict = str(line.thought.verdict) if line.thought else ""
            return line.what or "no decision", verdict if line.is_failure else line.who
        case LineKind.REPLY:
            return line.what or "answer", f"{line.who} failed" if line.is_failure else f"{line.who} answered"
        case LineKind.REQUEST:
            return line.what, "published"
        case LineKind.DELEGATION:
            return line.what, "delegated"
        case LineKind.PLAN:
            return f"plan of {line.who}", line.note
        case LineKind.GATE:
            return line.what, "held for approval"
        case LineKind.WAIT:
            return line.what or "a question", "asked of people"
        case LineKind.ANSWER:
            return f"{line.who}: {line.what}", line.note
        case LineKind.OPEN | LineKind.CLOSED | LineKind.EXPIRY | LineKind.PARKED:
            return line.what or str(line.kind), line.note
        case _:
            return line.what or str(line.kind), line.note


def decisions_of(lines: Iterable[Line]) -> list[tuple[str, Line]]:
    """Return the answers of models in a trace with the fragments under which their lines are told."""
    return [(place_of(number), line) for number, line in enumerate(flatten(lines)) if line.kind in _CALLS]


def graph_of_machine(states: States, current: str, visited: Collection[str] = ()) -> Graph:
    """Return the graph. `visited` are states with a result; ways from other states are faint."""
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
