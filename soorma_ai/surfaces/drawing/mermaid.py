"""A graph as the text of a Mermaid flowchart."""

from soorma_ai.surfaces.drawing.graph import EdgeKind, Graph, label_of, title_of
from soorma_ai.surfaces.drawing.layout import Direction

_ARROWS = {EdgeKind.CAUSE: "-->", EdgeKind.LATER: "-.->", EdgeKind.MAYBE: "-.->"}
_PLAIN = frozenset(" ._-,:/+")
_STYLES = (
    "classDef current stroke-width:3px",
    "classDef faulty stroke:#b3261e,stroke-width:2px",
    "classDef people fill:#fbe8c6,color:#222",
    "classDef decision fill:#dfe7fb,color:#222",
)
_STYLED = frozenset({"people", "decision"})


def write(graph: Graph, direction: Direction = Direction.DOWN) -> str:
    """Return the flowchart. Ids are numbers, and all text is spelled in entities, so nothing in it is syntax."""
    ids = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = [f"flowchart {'TD' if direction is Direction.DOWN else 'LR'}"]
    for node in graph.nodes:
        note = f"<br/>{_text(label_of(node.note))}" if node.note else ""
        lines.append(f'    {ids[node.id]}["{_text(label_of(node.label))}{note}"]')
    for edge in graph.edges:
        label = f'|"{_text(label_of(edge.label))}"|' if edge.label else ""
        lines.append(f"    {ids[edge.source]} {_ARROWS[edge.kind]}{label} {ids[edge.target]}")
    if graph.more:
        lines.append(f'    more["and {graph.more} more"]')
    marked = [(ids[node.id], mark) for node in graph.nodes for mark in _marks(node.kind, node.is_current)]
    marked += [(ids[node.id], "faulty") for node in graph.nodes if node.is_faulty]
    lines += [f"    class {id} {mark}" for id, mark in marked]
    return "\n".join([*lines, *(f"    {style}" for style in _STYLES)]) + "\n"


def _marks(kind: str, is_current: bool) -> list[str]:
    return [*([kind] if kind in _STYLED else []), *(["current"] if is_current else [])]


def _text(text: str) -> str:
    plain = (one if one in _PLAIN or (one.isalnum() and one.isascii()) else f"#{ord(one)};" for one in title_of(text))
    return "".join(plain) or " "
