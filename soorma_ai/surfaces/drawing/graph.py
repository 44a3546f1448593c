"""A graph to be drawn: nodes, edges between them, and how much is left out."""

from collections.abc import Iterable
from enum import StrEnum
from unicodedata import east_asian_width

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.values import clip

MOST_NODES = 300
MOST_EDGES = 1_500
LONGEST_LABEL = 34
LONGEST_TITLE = 300


class NodeKind(StrEnum):
    """Kinds of nodes, each drawn in a colour of its own."""

    EVENT = "event"
    REQUEST = "request"
    GOAL = "goal"
    DECISION = "decision"
    REFUSAL = "refusal"
    PEOPLE = "people"
    PLAN = "plan"
    STATE = "state"
    END = "end"
    FAILURE = "failure"
    AGENT = "agent"
    PLANNER = "planner"
    GONE = "gone"


class EdgeKind(StrEnum):
    """Kinds of edges. LATER is order in time alone, and MAYBE a possible cause."""

    CAUSE = "cause"
    LATER = "later"
    MAYBE = "maybe"


class Node(Struct, frozen=True):
    """Node of a graph. `label` and `note` are foreign text; they are drawn escaped and bounded. `place` is the fragment
    of the detailed page."""

    id: str
    label: str
    kind: NodeKind
    note: str = ""
    place: str = ""
    is_current: bool = False
    is_faulty: bool = False


class Edge(Struct, frozen=True):
    source: str
    target: str
    label: str = ""
    kind: EdgeKind = EdgeKind.CAUSE


class Graph(Struct, frozen=True):
    """A drawn graph. `more` counts the omitted nodes."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    more: int = 0


def make_graph(nodes: Iterable[Node], edges: Iterable[Edge], most: int = MOST_NODES) -> Graph:
    """Return the first of the nodes, each id once, and each edge between them once, with its labels joined."""
    known: dict[str, Node] = {}
    for node in nodes:
        known.setdefault(node.id, node)
    shown = dict(list(known.items())[:most])
    joined: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        if edge.source not in shown or edge.target not in shown:
            continue
        at = (edge.source, edge.target)
        before = joined.get(at)
        if before is None:
            joined[at] = edge
        elif edge.label and edge.label not in before.label.split(" | "):
            joined[at] = replace(before, label=clip(f"{before.label} | {edge.label}".strip(" |"), LONGEST_TITLE))
    return Graph(tuple(shown.values()), tuple(joined.values())[:MOST_EDGES], len(known) - len(shown))


def visible(text: str) -> str:
    """Return text on one line, safe in its surroundings: no control characters, no changes of direction, only
    characters that XML can hold."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in " ".join(text.split()))


def label_of(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return as much of a text as a node has room for; wide characters take the room of two."""
    room, kept = longest, list[str]()
    said = visible(text[: 4 * LONGEST_TITLE])
    for one in said:
        room -= width_of(one)
        if room < 0:
            return f"{''.join(kept[:-1])}…"
        kept.append(one)
    return said


def title_of(text: str) -> str:
    return clip(visible(text[: 4 * LONGEST_TITLE]), LONGEST_TITLE)


def width_of(text: str) -> int:
    """Return the columns of a text in a font of one width."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)
