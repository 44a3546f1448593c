"""Graphs of plans and of state machines."""

from msgspec.structs import replace

from soorma_ai.features.tracking.lines import flatten
from soorma_ai.features.tracking.plan_graph import decisions_of, graph_of_machine, graph_of_plan, place_of
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.states import StateAction, StateConfig, StateTransition
from soorma_ai.surfaces.drawing.graph import Edge, EdgeKind, Graph, NodeKind
from unit.rows import GOAL, answer, decision, event, reply
from unit.test_trace import goal_event, held_charge, reservation, trace_of


def ways(graph: Graph) -> list[tuple[str, str]]:
    labels = {node.id: node.label for node in graph.nodes}
    return [(labels[edge.source], labels[edge.target]) for edge in graph.edges]


def test_an_event_that_answers_and_causes_is_one_node() -> None:
    assert ways(graph_of_plan(trace_of(*reservation()))) == [
        ("order.place", "publish:reserve"),
        ("publish:reserve", "reserve"),
        ("reserve", "reserve.completed"),
        ("reserve.completed", "complete"),
        ("complete", "completed"),
    ]


def test_a_refused_decision_leads_to_the_next_and_only_the_last_to_its_effect() -> None:
    story, events = reservation()
    refused = decision(GOAL, 1, "publish:lost", refusal="nobody takes it", latency=0.5)
    story.decisions.insert(0, replace(refused, key=replace(refused.key, ordinal=0)))
    graph = graph_of_plan(trace_of(story, events))
    assert ways(graph)[:3] == [
        ("order.place", "publish:lost"),
        ("publish:lost", "publish:reserve"),
        ("publish:reserve", "reserve"),
    ]
    assert [node.kind for node in graph.nodes if node.label == "publish:lost"] == [NodeKind.REFUSAL]


def test_an_open_question_is_the_current_node() -> None:
    graph = graph_of_plan(trace_of(held_charge(), [goal_event()]))
    assert [(node.label, node.kind) for node in graph.nodes if node.is_current] == [("charge", NodeKind.PEOPLE)]
    assert ways(graph) == [("order.place", "charge")]


def test_an_answer_follows_its_question() -> None:
    story = held_charge(closed=9, given=answer(9))
    story.step(StepKind.ANSWERED, 9, "wake-1", "charge", note="approve", to="gate-1")
    story.step(StepKind.PUBLISHED, 9, "charge", "charge")
    graph = graph_of_plan(trace_of(story, [goal_event()]))
    assert ways(graph) == [("order.place", "charge"), ("charge", "mia: approve"), ("mia: approve", "charge")]


def test_each_node_links_to_its_line_of_the_trace() -> None:
    told = trace_of(*reservation())
    lines = list(flatten(told.lines))
    for node in graph_of_plan(told).nodes:
        number = int(node.place.removeprefix(place_of(0)[:-1]))
        assert lines[number].what in node.label or node.label == str(lines[number].kind)
    assert [(place, line.what) for place, line in decisions_of(told.lines)] == [
        ("line-1", "publish:reserve"),
        ("line-5", "complete"),
    ]


def test_only_the_start_of_a_large_plan_is_drawn() -> None:
    graph = graph_of_plan(trace_of(*reservation()), most=3)
    assert ([node.label for node in graph.nodes], graph.more) == (["order.place", "publish:reserve", "reserve"], 3)


def test_a_turn_without_a_known_cause_follows_the_one_before() -> None:
    story, events = reservation()
    story.step(StepKind.EXPIRED, 20, "timer-1", "other")
    graph = graph_of_plan(
        trace_of(story, [*events, reply("x", 3, to="reserve", source="b"), event("y", 4, because="x")])
    )
    assert Edge("event reply-1", "event timer-1", kind=EdgeKind.LATER) in graph.edges


MACHINE = {
    "start": StateConfig(state_name="start", default_next="search"),
    "search": StateConfig(
        state_name="search",
        action=StateAction(event_type="web.search.requested"),
        transitions=(
            StateTransition(on_event="web.search.completed", to_state="done", condition="payload.hits > 0"),
            StateTransition(on_event="web.search.failed", to_state="ask"),
        ),
        default_next="failed",
    ),
    "ask": StateConfig(
        state_name="ask",
        action=StateAction(event_type="notification.human_input", response_event="told"),
        transitions=(StateTransition(on_event="told", to_state="search"),),
    ),
    "done": StateConfig(state_name="done", is_terminal=True),
    "failed": StateConfig(state_name="failed", is_terminal=True),
}


def test_a_machine_is_drawn_with_its_current_and_visited_states() -> None:
    graph = graph_of_machine(MACHINE, "ask", {"search"})
    assert {node.label: (node.kind, node.is_current) for node in graph.nodes} == {
        "start": (NodeKind.STATE, False),
        "search": (NodeKind.REQUEST, False),
        "ask": (NodeKind.PEOPLE, True),
        "done": (NodeKind.END, False),
        "failed": (NodeKind.FAILURE, False),
    }
    assert [(e.source[6:], e.target[6:], e.label, str(e.kind)) for e in graph.edges] == [
        ("start", "search", "", "maybe"),
        ("search", "done", "web.search.completed if payload.hits > 0", "cause"),
        ("search", "ask", "web.search.failed", "cause"),
        ("search", "failed", "else", "cause"),
        ("ask", "search", "told", "cause"),
    ]


def test_a_transition_to_a_missing_state_is_left_out() -> None:
    assert graph_of_machine({"start": StateConfig(state_name="start", default_next="lost")}, "").edges == ()
