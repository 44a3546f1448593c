"""A place for each node of a graph, in layers: what leads to something stands in a layer before it.

Edges that close a circle are turned around for that; one over several layers has a bend in each between. The order in
a layer is by the neighbours' mean place, and places are as near to the neighbours' as the nodes beside leave room.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from soorma_ai.core.drawing.graph import Edge, Graph, Node, label_of, width_of

CHARACTER = 7.3
PADDING = 22.0
NARROWEST = 56.0
LOW, HIGH = 28.0, 44.0
APART, LAYER_APART = 18.0, 40.0
_BEND_WIDTH = 8.0
_MOST_BENDS = 3_000
_SWEEPS = 6


class Direction(StrEnum):
    DOWN = "down"
    RIGHT = "right"


Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A node with its middle and its size."""

    node: Node
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Path:
    """An edge, and the points that it goes through, from its source to its target."""

    edge: Edge
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Drawing:
    boxes: tuple[Box, ...]
    paths: tuple[Path, ...]
    width: float
    height: float


def lay_out(graph: Graph, direction: Direction = Direction.DOWN) -> Drawing:
    sizes = {node.id: _size_of(node) for node in graph.nodes}
    forward = _without_circles(graph)
    layers = _layers(graph, forward)
    chains = _chains(forward, layers)
    ordered = _order(layers, chains)
    is_down = direction is Direction.DOWN
    across = _across(ordered, chains, {id: width if is_down else height for id, (width, height) in sizes.items()})
    along = _along(ordered, {id: height if is_down else width for id, (width, height) in sizes.items()}, direction)
    places = {id: (across[id], along[id]) if is_down else (along[id], across[id]) for id in across}
    boxes = tuple(Box(node, *places[node.id], *sizes[node.id]) for node in graph.nodes)
    paths = _paths(graph, forward, chains, {box.node.id: box for box in boxes}, places, is_down=is_down)
    width = max([box.x + box.width / 2 for box in boxes] + [x for path in paths for x, _ in path.points], default=0.0)
    height = max([box.y + box.height / 2 for box in boxes] + [y for path in paths for _, y in path.points], default=0.0)
    return Drawing(boxes, paths, width + PADDING, height + PADDING)


def _size_of(node: Node) -> tuple[float, float]:
    columns = max(width_of(label_of(node.label)), width_of(label_of(node.note)))
    return max(NARROWEST, columns * CHARACTER + PADDING), HIGH if node.note else LOW


def _without_circles(graph: Graph) -> list[tuple[str, str]]:
    """Return (earlier, later) for each edge between two nodes, so that nothing runs in circles."""
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
    pairs = ((e.source, e.target) for e in graph.edges if e.source != e.target)
    return list(dict.fromkeys((b, a) if (a, b) in back else (a, b) for a, b in pairs))


def _layers(graph: Graph, forward: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each node: one behind the last of those that lead to it. What nothing leads to stands right
    before the first that it leads to."""
    onward, before = defaultdict[str, list[str]](list), defaultdict[str, int](int)
    for a, b in forward:
        onward[a].append(b)
        before[b] += 1
    layer = {node.id: 0 for node in graph.nodes}
    ready = [node.id for node in graph.nodes if not before[node.id]]
    sources, left = tuple(ready), dict(before)
    while ready:
        here = ready.pop()
        for target in onward[here]:
            layer[target] = max(layer[target], layer[here] + 1)
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    for one in sources:
        if onward[one]:
            layer[one] = min(layer[target] for target in onward[one]) - 1
    return layer


_Chain = tuple[str, ...]


def _chains(forward: Sequence[tuple[str, str]], layers: dict[str, int]) -> dict[tuple[str, str], _Chain]:
    """Return each edge as the ids that it goes through, with a bend in each layer between; the layers get the bends."""
    chains: dict[tuple[str, str], _Chain] = {}
    count = 0
    for a, b in forward:
        between = range(layers[a] + 1, layers[b])
        if count + len(between) > _MOST_BENDS:
            between = range(0)
        bends = [f"\0{count + number}" for number in range(len(between))]
        count += len(bends)
        layers |= dict(zip(bends, between, strict=True))
        chains[a, b] = (a, *bends, b)
    return chains


def _links(chains: Iterable[_Chain]) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Return what stands before and behind each id, one layer away."""
    before, behind = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for chain in chains:
        for a, b in pairwise(chain):
            before[b].append(a)
            behind[a].append(b)
    return before, behind


def _order(layers: Mapping[str, int], chains: Mapping[tuple[str, str], _Chain]) -> list[list[str]]:
    ordered: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for id, layer in layers.items():
        ordered[layer].append(id)
    before, behind = _links(chains.values())
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else behind
        place = {id: number for row in ordered for number, id in enumerate(row)}
        for row in ordered if sweep % 2 == 0 else ordered[::-1]:
            mean = {id: _mean([place[other] for other in neighbours[id]], place[id]) for id in row}
            row.sort(key=mean.__getitem__)
            place |= {id: number for number, id in enumerate(row)}
    return ordered


def _across(
    ordered: Sequence[Sequence[str]], chains: Mapping[tuple[str, str], _Chain], sizes: Mapping[str, float]
) -> dict[str, float]:
    """Return the place of each within its layer: as near to the mean of its neighbours as the others leave room."""
    before, behind = _links(chains.values())
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
    """Return the places nearest to those that are wanted, by squares, at which nothing overlaps.

    With the room that those before take away subtracted, that is the nearest series that never falls: neighbours that
    fall are pooled at their mean.
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


def _paths(
    graph: Graph,
    forward: Iterable[tuple[str, str]],
    chains: Mapping[tuple[str, str], _Chain],
    boxes: Mapping[str, Box],
    places: Mapping[str, Point],
    *,
    is_down: bool,
) -> tuple[Path, ...]:
    known, made = set(forward), list[Path]()
    for edge in graph.edges:
        if edge.source == edge.target:
            made.append(Path(edge, _around(boxes[edge.source])))
            continue
        is_turned = (edge.source, edge.target) not in known
        a, b = (edge.target, edge.source) if is_turned else (edge.source, edge.target)
        bends = [places[id] for id in chains[a, b][1:-1]]
        points = (_leaving(boxes[a], is_down=is_down), *bends, _entering(boxes[b], is_down=is_down))
        made.append(Path(edge, points[::-1] if is_turned else points))
    return tuple(made)


def _leaving(box: Box, *, is_down: bool) -> Point:
    return (box.x, box.y + box.height / 2) if is_down else (box.x + box.width / 2, box.y)


def _entering(box: Box, *, is_down: bool) -> Point:
    return (box.x, box.y - box.height / 2) if is_down else (box.x - box.width / 2, box.y)


def _around(box: Box) -> tuple[Point, ...]:
    """Return the points of an edge from a box to itself, beside it."""
    side, up = box.x + box.width / 2, box.height / 4
    return ((side, box.y - up), (side + PADDING, box.y), (side, box.y + up))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
