"""A graph as SVG text: attributes and classes only, for pages without inline styles."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from soorma_ai.surfaces.drawing.graph import Graph, label_of, title_of
from soorma_ai.surfaces.drawing.layout import LABEL, Box, Direction, Path, Point, lay_out

_HEAD = "M0 0 L8 4 L0 8 z"


def draw(graph: Graph, title: str, direction: Direction = Direction.DOWN, style: str = "") -> str:
    """Return the SVG. `style` is its CSS in a file of its own; within a page, the page has it."""
    drawing = lay_out(graph, direction)
    width, height = max(drawing.width, 1.0), max(drawing.height, 1.0)
    labelled = f' aria-label={quoteattr(title_of(title))} viewBox="0 0 {width:.0f} {height:.0f}"'
    role = "group" if any(box.node.place for box in drawing.boxes) else "img"  # an image has no links in it
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="{role}"{labelled} '
        f'width="{width:.0f}" height="{height:.0f}">',
        f"<style>{style}</style>" if style else "",
        '<defs><marker id="head" class="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="{_HEAD}"/></marker></defs>',
        *(_edge(path, direction) for path in drawing.paths),
        *(_label(path) for path in drawing.paths if path.edge.label),
        *(_node(box) for box in drawing.boxes),
        "</svg>",
    ]
    return "".join(parts)


def _edge(path: Path, direction: Direction) -> str:
    return f'<path class="edge {path.edge.kind}" d="{_curve(path.points, direction)}" marker-end="url(#head)"/>'


def _label(path: Path) -> str:
    x, y = path.middle
    said = escape(label_of(path.edge.label, LABEL))
    title = f"<title>{escape(title_of(path.edge.label))}</title>"
    return f'<text class="on-edge" x="{x:.1f}" y="{y + 4:.1f}">{title}{said}</text>'


def _node(box: Box) -> str:
    node = box.node
    marks = (str(node.kind), "current" if node.is_current else "", "faulty" if node.is_faulty else "")
    x, y = box.x - box.width / 2, box.y - box.height / 2
    said = title_of(f"{node.label}: {node.note}" if node.note else node.label)
    lines = [(box.y + 4, "name", node.label)]
    if node.note:
        lines = [(box.y - 3, "name", node.label), (box.y + 13, "note", node.note)]
    texts = "".join(
        f'<text class="{kind}" x="{box.x:.1f}" y="{at:.1f}">{escape(label_of(text))}</text>' for at, kind, text in lines
    )
    drawn = (
        f'<g class="node {" ".join(mark for mark in marks if mark)}"><title>{escape(said)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"/>{texts}</g>'
    )
    return f"<a href={quoteattr('#' + node.place)}>{drawn}</a>" if node.place else drawn


def _curve(points: tuple[Point, ...], direction: Direction) -> str:
    (x, y), *rest = points
    return f"M{x:.1f} {y:.1f}{''.join(_steps((x, y), rest, direction))}"


def _steps(here: Point, rest: list[Point], direction: Direction) -> Iterator[str]:
    """Yield a bend from each point to the next, along the layers' way at both ends."""
    for there in rest:
        (x1, y1), (x2, y2) = here, there
        if direction is Direction.DOWN:
            half = (y1 + y2) / 2
            yield f" C{x1:.1f} {half:.1f} {x2:.1f} {half:.1f} {x2:.1f} {y2:.1f}"
        else:
            half = (x1 + x2) / 2
            yield f" C{half:.1f} {y1:.1f} {half:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        here = there
