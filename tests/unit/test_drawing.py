"""Drawings of graphs: a layout without overlaps, and no active content from texts."""

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soorma_ai.surfaces.drawing.graph import (
    LONGEST_LABEL,
    MOST_NODES,
    Edge,
    EdgeKind,
    Graph,
    Node,
    NodeKind,
    label_of,
    make_graph,
    title_of,
    width_of,
)
from soorma_ai.surfaces.drawing.layout import Direction, lay_out
from soorma_ai.surfaces.drawing.mermaid import write
from soorma_ai.surfaces.drawing.svg import draw

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script> & ]]> \u202e\x00\ud800 "quoted" `x` --> end'


def graph(*ways: str) -> Graph:
    """`"a b"` is an edge from a to b, `"a b word"` has a label; nodes are in order of first mention."""
    parts = [way.split(maxsplit=2) for way in ways]
    names = dict.fromkeys(name for part in parts for name in part[:2])
    edges = [Edge(part[0], part[1], " ".join(part[2:])) for part in parts if len(part) > 1]
    return make_graph([Node(name, name, NodeKind.EVENT) for name in names], edges)


def rows(of: Graph) -> list[list[str]]:
    """Names of nodes by layer, from top to bottom."""
    places = sorted((box.y, box.x, box.node.id) for box in lay_out(of).boxes)
    return [[id for at, _, id in places if at == y] for y in dict.fromkeys(y for y, _, _ in places)]


@pytest.mark.parametrize(
    ("ways", "found"),
    [
        (["a b", "b c"], [["a"], ["b"], ["c"]]),
        (["a b", "a c", "b d", "c d"], [["a"], ["b", "c"], ["d"]]),
        (["a b", "b c", "a c"], [["a"], ["b"], ["c"]]),
        (["a b", "b a"], [["a"], ["b"]]),
        (["a b", "b c", "c a"], [["a"], ["b"], ["c"]]),
        (["a a", "a b"], [["a"], ["b"]]),
        (["a b", "b c", "late c"], [["a"], ["b", "late"], ["c"]]),
        ([], []),
    ],
)
def test_a_node_stands_in_a_layer_after_its_predecessors(ways: list[str], found: list[list[str]]) -> None:
    assert rows(graph(*ways)) == found


def test_a_node_stands_near_its_predecessors() -> None:
    assert rows(graph("a x", "b y", "c z", "z p", "y q", "x r"))[2] == ["r", "q", "p"]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.sampled_from(["", "word"])), max_size=40))
def test_nodes_never_overlap_and_stay_inside_the_drawing(ways: Sequence[tuple[int, int, str]]) -> None:
    made = graph(*(f"{a} {b} {label}" for a, b, label in ways))
    for direction in Direction:
        drawing = lay_out(made, direction)
        for one, other in combinations(drawing.boxes, 2):
            is_apart = (
                abs(one.x - other.x) >= (one.width + other.width) / 2
                or abs(one.y - other.y) >= (one.height + other.height) / 2
            )
            assert is_apart, (one, other)
        for box in drawing.boxes:
            assert box.x - box.width / 2 >= 0 and box.x + box.width / 2 <= drawing.width
            assert box.y - box.height / 2 >= 0 and box.y + box.height / 2 <= drawing.height
        assert len(drawing.paths) == len(made.edges)


def test_an_edge_joins_its_own_nodes_even_if_reversed_in_the_layout() -> None:
    drawing = lay_out(graph("a b", "b c", "c a"))
    places = {box.node.id: box.y for box in drawing.boxes}
    for path in drawing.paths:
        assert abs(path.points[0][1] - places[path.edge.source]) < 30
        assert abs(path.points[-1][1] - places[path.edge.target]) < 30


def test_labels_of_edges_between_the_same_layers_stand_side_by_side() -> None:
    drawing = lay_out(graph("a b one", "a c another", "b a back"))
    middles = sorted(path.middle for path in drawing.paths)
    assert all(second[0] - first[0] > 20 for first, second in pairwise(middles))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("short", "short"),
        ("two\nlines\there", "two lines here"),
        ("x" * 100, "x" * (LONGEST_LABEL - 1) + "…"),
        ("字" * 100, "字" * (LONGEST_LABEL // 2 - 1) + "…"),
        ("a\u202eb\x00c\ud800d", "a�b�c�d"),
        ("", ""),
    ],
)
def test_a_label_is_one_bounded_line_without_control_characters(text: str, label: str) -> None:
    assert label_of(text) == label
    assert width_of(label_of(text)) <= LONGEST_LABEL


def test_a_megabyte_of_text_is_cut_to_the_shown_length() -> None:
    long = "<" * 1_000_000
    made = make_graph([Node("a", long, NodeKind.EVENT, long)], [Edge("a", "a", long)])
    assert len(draw(made, long)) < 20_000
    assert len(write(made)) < 20_000
    assert len(title_of(long)) == 300


def test_a_drawing_is_well_formed_and_has_no_script_style_or_outside_link() -> None:
    nodes = [Node("a", HOSTILE, NodeKind.PEOPLE, HOSTILE, "line-1", is_current=True), Node("b", "b", NodeKind.GONE)]
    made = make_graph(nodes, [Edge("a", "b", HOSTILE), Edge("b", "a")])
    root = ElementTree.fromstring(draw(made, HOSTILE))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "defs", "marker", "path", "a", "g", "title", "rect", "text"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    assert [element.attrib["href"] for element in root.iter(f"{SVG}a")] == ["#line-1"]
    assert "alert" in "".join(root.itertext())
    assert root.find(f".//{SVG}g[@class='node people current']") is not None


def test_a_standalone_drawing_embeds_its_style() -> None:
    assert draw(graph("a b"), "t", style="rect{fill:red}").count("<style>rect{fill:red}</style>") == 1


def test_the_first_nodes_of_a_large_graph_are_drawn_and_the_rest_counted() -> None:
    made = make_graph([Node(str(n), str(n), NodeKind.EVENT) for n in range(400)], [Edge("0", "399"), Edge("0", "1")])
    assert (len(made.nodes), made.more) == (MOST_NODES, 100)
    assert made.edges == (Edge("0", "1"),)
    assert "and 100 more" in write(made)


def test_edges_between_the_same_nodes_merge_their_labels() -> None:
    made = make_graph(graph("a b").nodes, [Edge("a", "b", "x"), Edge("a", "b", "y"), Edge("a", "b", "x")])
    assert made.edges == (Edge("a", "b", "x | y"),)


def test_a_flowchart_numbers_its_nodes_and_escapes_labels_as_entities() -> None:
    made = make_graph(
        [Node("a", "order.placed", NodeKind.DECISION, is_current=True), Node("b", 'x"] --> n0', NodeKind.EVENT)],
        [Edge("a", "b", "a|b"), Edge("b", "a", kind=EdgeKind.MAYBE)],
    )
    told = write(made).splitlines()
    assert told[:5] == [
        "flowchart TD",
        '    n0["order.placed"]',
        '    n1["x#34;#93; --#62; n0"]',
        '    n0 -->|"a#124;b"| n1',
        "    n1 -.-> n0",
    ]
    assert told[5:7] == ["    class n0 decision", "    class n0 current"]
    for line in write(make_graph([Node("a", HOSTILE, NodeKind.EVENT)], [])).splitlines()[1:2]:
        assert re.fullmatch(r'    n0\["[\w .,:/+\-#;]+"\]', line)
