"""Layout of a graph in layers: a cause stands in a layer before its effect.

Edges of a circle are turned around for that; an edge over several layers has a bend in each between. The order in a
layer is by the neighbours' mean place, and places are as near to the neighbours' as the nodes beside leave room.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct

from soorma_ai.surfaces.drawing.graph import Edge, Graph, Node, label_of, width_of

CHARACTER = 7.3
PADDING = 22.0
NARROWEST = 56.0
LOW, HIGH, LABEL_HIGH = 28.0, 44.0, 12.0
APART, LAYER_APART = 18.0, 28.0
LABEL, SMALL_CHARACTER = 30, 6.4
_BEND_WIDTH = 8.0
_MOST_BENDS = 2_000
_SWEEPS = 6


class Direction(StrEnum):
    DOWN = "down"
    RIGHT = "right"


Point = tuple[float, float]


class Box(Struct, frozen=True):
    """A node with its middle and its size."""

    node: Node
    x: float
    y: float
    width: float
    height: float


class Path(Struct, frozen=True):
    """An edge, and its points from its source to its target. Its label stands at `middle`."""

    edge: Edge
    points: tuple[Point, ...]
    middle: Point


class Drawing(Struct, frozen=True):
    boxes: tuple[Box, ...]
    paths: tuple[Path, ...]
    width: float
    height: float


def lay_out(graph: Graph, direction: Direction = Direction.DOWN) -> Drawing:
    is_down = direction is Direction.DOWN
    links = _without_circles(graph)
    layers = _layers(graph, links)
    chains = _chains(links, layers)
    sizes = {node.id: _size_of(node) for node in graph.nodes} | dict(_labels(chains))
    ordered = _order(layers, [chain.ids for chain in chains])
    across = _across(ordered, [chain.ids for chain in chains], {id: size[not is_down] for id, size in sizes.items()})
    along = _along(ordered, {id: size[is_down] for id, size in sizes.items()}, direction)
    places = {id: (across[id], along[id]) if is_down else (along[id], across[id]) for id in across}
    boxes = tuple(Box(node, *places[node.id], *sizes[node.id]) for node in graph.nodes)
    by_id = {box.node.id: box for box in boxes}
    paths = [_path(chain, by_id, places, is_down=is_down) for chain in chains]
    paths += [_around(edge, by_id[edge.source]) for edge in graph.edges if edge.source == edge.target]
    ends = [(box.x + box.width / 2, box.y + box.height / 2) for box in boxes]
    ends += [(x + _width_of_label(path.edge) / 2, y) for path in paths for x, y in (path.middle, *path.points)]
    width, height = max((x for x, _ in ends), default=0.0), max((y for _, y in ends), default=0.0)
    return Drawing(boxes, tuple(paths), width + PADDING, height + PADDING)


def _size_of(node: Node) -> tuple[float, float]:
    columns = max(width_of(label_of(node.label)), width_of(label_of(node.note)))
    return max(NARROWEST, columns * CHARACTER + PADDING), HIGH if node.note else LOW


def _width_of_label(edge: Edge) -> float:
    return width_of(label_of(edge.label, LABEL)) * SMALL_CHARACTER


class _LayoutEdge(Struct, frozen=True):
    """A drawn edge: from `first` to `last`, turned around where it closes a circle. A label has a layer between of its
    own."""

    edge: Edge
    first: str
    last: str

    @property
    def length(self) -> int:
        return 2 if self.edge.label else 1


class _Chain(Struct, frozen=True):
    """A link with its ids, with a bend in each layer between."""

    link: _LayoutEdge
    ids: tuple[str, ...]

    @property
    def middle(self) -> str | None:
        """The bend of the label."""
        return self.ids[len(self.ids) // 2] if len(self.ids) > 2 else None


def _without_circles(graph: Graph) -> list[_LayoutEdge]:
    onward = defaultdict[str, list[str]](list)
    for edge in graph.edges:
        onward[edge.source].append(edge.target)
    state = dict[str, int]()  # 1 while it is on the way, 2 when it is done
    back = set[tuple[str, str]]()
    for start in (node.id for node in graph.nodes):
        ahead = [(start, iter(onward[start]))] if start not in state else []
        state.setdefault(start, 1)
        while ahead:
            here, targets = ahead[-1]
            target = next(targets, None)
            if target is None:
                state[here] = 2
                ahead.pop()
            elif state.get(target) == 1:
                back.add((here, target))
            elif target not in state:
                state[target] = 1
                ahead.append((target, iter(onward[target])))
    ends = ((edge, edge.source, edge.target) for edge in graph.edges if edge.source != edge.target)
    return [_LayoutEdge(edge, b, a) if (a, b) in back else _LayoutEdge(edge, a, b) for edge, a, b in ends]


def _layers(graph: Graph, links: Iterable[_LayoutEdge]) -> dict[str, int]:
    """Return the layer of each node: behind the last of its predecessors. A node without predecessors stands right
    before its first successor."""
    onward, before = defaultdict[str, list[_LayoutEdge]](list), defaultdict[str, int](int)
    for link in links:
        onward[link.first].append(link)
        before[link.last] += 1
    layer = {node.id: 0 for node in graph.nodes}
    ready = [node.id for node in graph.nodes if not before[node.id]]
    sources, left = tuple(ready), dict(before)
    while ready:
        for link in onward[ready.pop()]:
            layer[link.last] = max(layer[link.last], layer[link.first] + link.length)
            left[link.last] -= 1
            if not left[link.last]:
                ready.append(link.last)
    for one in sources:
        if onward[one]:
            layer[one] = min(layer[link.last] - link.length for link in onward[one])
    return layer


def _chains(links: Iterable[_LayoutEdge], layers: dict[str, int]) -> list[_Chain]:
    """Return the chains; the layers get their bends."""
    chains, count = list[_Chain](), 0
    for link in links:
        between = range(layers[link.first] + 1, layers[link.last])
        if count + len(between) > _MOST_BENDS:
            between = range(0)
        bends = [f"\0{count + number}" for number in range(len(between))]
        count += len(bends)
        layers |= dict(zip(bends, between, strict=True))
        chains.append(_Chain(link, (link.first, *bends, link.last)))
    return chains


def _labels(chains: Iterable[_Chain]) -> Iterator[tuple[str, tuple[float, float]]]:
    for chain in chains:
        if chain.middle and chain.link.edge.label:
            yield chain.middle, (_width_of_label(chain.link.edge), LABEL_HIGH)


def _links(chains: Iterable[tuple[str, ...]]) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Return the neighbours before and behind each id, one layer away."""
    before, behind = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for chain in chains:
        for a, b in pairwise(chain):
            before[b].append(a)
            behind[a].append(b)
    return before, behind


def _order(layers: Mapping[str, int], chains: Iterable[tuple[str, ...]]) -> list[list[str]]:
    ordered: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for id, layer in layers.items():
        ordered[layer].append(id)
    before, behind = _links(chains)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else behind
        place = {id: number for row in ordered for number, id in enumerate(row)}
        for row in ordered if sweep % 2 == 0 else ordered[::-1]:
            mean = {id: _mean([place[other] for other in neighbours[id]], place[id]) for id in row}
            row.sort(key=mean.__getitem__)
            place |= {id: number for number, id in enumerate(row)}
    return ordered


def _across(
    ordered: Sequence[Sequence[str]], chains: Iterable[tuple[str, ...]], sizes: Mapping[str, float]
) -> dict[str, float]:
    """Return the place of each within its layer: as near to the mean of its neighbours as the others leave room."""
    before, behind = _links(chains)
    place = dict[str, float]()
    for row in ordered:
        place |= _spread(row, [0.0] * len(row), sizes)
    for sweep in range(2 * _SWEEPS):
        for row in ordered if sweep % 2 == 0 else ordered[::-1]:
            near = before if sweep % 2 == 0 else behind
            wanted = [_mean([place[o] for o in near[id]] or [place[o] for o in behind[id]], place[id]) for id in row]
            place |= _spread(row, wanted, sizes)
    least = min((place[id] - sizes.get(id, _BEND_WIDTH) / 2 for id in place), default=0.0)
    return {id: at - least + PADDING for id, at in place.items()}


def _spread(row: Sequence[str], wanted: Sequence[float], sizes: Mapping[str, float]) -> dict[str, float]:
    """Return the places nearest to the wanted ones, by squares, without an overlap.

    With the room of the predecessors subtracted, this is the nearest series that never falls: neighbours that fall are
    pooled at their mean.
    """
    offsets, room = list[float](), 0.0
    for number, id in enumerate(row):
        size = sizes.get(id, _BEND_WIDTH)
        room += size / 2 + APART if number else 0.0
        offsets.append(room)
        room += size / 2
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    return {id: base + offset for id, base, offset in zip(row, flat, offsets, strict=True)}


def _along(ordered: Sequence[Sequence[str]], sizes: Mapping[str, float], direction: Direction) -> dict[str, float]:
    apart = LAYER_APART if direction is Direction.DOWN else LAYER_APART + APART
    place, at = dict[str, float](), PADDING
    for row in ordered:
        thickest = max((sizes.get(id, 0.0) for id in row), default=0.0)
        place |= dict.fromkeys(row, at + thickest / 2)
        at += thickest + apart
    return place


def _path(chain: _Chain, boxes: Mapping[str, Box], places: Mapping[str, Point], *, is_down: bool) -> Path:
    link = chain.link
    first, last = boxes[link.first], boxes[link.last]
    bends = (places[id] for id in chain.ids[1:-1])
    points = (_exit_of(first, is_down=is_down), *bends, _entry_of(last, is_down=is_down))
    (x1, y1), (x2, y2) = points[0], points[-1]
    middle = places[chain.middle] if chain.middle else ((x1 + x2) / 2, (y1 + y2) / 2)
    return Path(link.edge, points if link.first == link.edge.source else points[::-1], middle)


def _exit_of(box: Box, *, is_down: bool) -> Point:
    return (box.x, box.y + box.height / 2) if is_down else (box.x + box.width / 2, box.y)


def _entry_of(box: Box, *, is_down: bool) -> Point:
    return (box.x, box.y - box.height / 2) if is_down else (box.x - box.width / 2, box.y)


def _around(edge: Edge, box: Box) -> Path:
    """Return an edge from a box to itself, beside it."""
    side, up = box.x + box.width / 2, box.height / 4
    middle = (side + PADDING, box.y)
    return Path(edge, ((side, box.y - up), middle, (side, box.y + up)), middle)


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
