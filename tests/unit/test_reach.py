"""Dead ends and circles among registered events, and the graph of the registry."""

import pytest

from soorma_ai.features.retrieval.check import ADVICE, EventFault, EventFinding, FoundEvent, by_problem, marks_of
from soorma_ai.features.retrieval.reach import check_reach
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.surfaces.drawing.choreography import ANY_PLANNER, graph_of_registry
from soorma_ai.surfaces.drawing.graph import EdgeKind, NodeKind
from unit.kit import event

FACTS, RESULTS = EventTopic.BUSINESS_FACTS, EventTopic.ACTION_RESULTS


def registration_of(
    said: str, topic: EventTopic = EventTopic.ACTION_REQUESTS, kind: AgentKind = AgentKind.TOOL
) -> RegisteredEvent:
    """`"stock takes order.placed"`."""
    agent, verb, name = said.split(maxsplit=2)
    roles = {"goals": EventRole.TAKES_AS_GOAL, "takes": EventRole.TAKES, "makes": EventRole.MAKES}
    role = roles.get(verb, EventRole.AWAITS)
    return RegisteredEvent(agent, kind, role, EventDefinition(event_name=name, topic=topic))


def fact(said: str) -> RegisteredEvent:
    return registration_of(said, FACTS)


def finding(problem: EventFault, *events: str) -> EventFinding:
    """`"order.placed shop till"`: an event and its agents."""
    parts = [event.split() for event in events]
    return EventFinding(problem, tuple(FoundEvent(part[0], tuple(part[1:])) for part in parts))


@pytest.mark.parametrize(
    ("events", "live", "findings"),
    [
        ([], (), []),
        ([registration_of("stock takes reserve"), registration_of("shop makes reserve")], (), []),
        ([registration_of("shop makes reserve")], (), [finding(EventFault.NOBODY_TAKES, "reserve shop")]),
        ([registration_of("stock takes reserve")], ("stock",), []),
        ([registration_of("stock takes reserve")], ("shop",), [finding(EventFault.NOBODY_TAKES, "reserve stock")]),
        ([registration_of("orders goals place")], ("shop",), [finding(EventFault.NOBODY_PURSUES, "place orders")]),
        ([registration_of("orders goals place")], (), []),
        ([fact("shop makes placed")], (), [finding(EventFault.UNHEARD, "placed shop")]),
        ([fact("shop makes placed"), fact("till takes placed")], (), []),
        ([fact("shop makes placed"), fact("orders awaits placed")], (), []),
        ([registration_of("stock makes done", RESULTS)], (), []),
        ([fact("a takes x"), fact("a makes x")], (), [finding(EventFault.CIRCLE, "x a")]),
        (
            [fact("a takes x"), fact("a makes y"), fact("b takes y"), fact("b makes x")],
            (),
            [finding(EventFault.CIRCLE, "x b", "y a")],
        ),
        (
            [
                registration_of("a takes x"),
                registration_of("a makes y", RESULTS),
                registration_of("b takes y", RESULTS),
            ],
            (),
            [],
        ),
        ([fact("a makes x"), fact("b takes x"), fact("b makes y"), fact("c takes y")], (), []),
    ],
)
def test_dead_ends_and_circles_are_found(
    events: list[RegisteredEvent], live: tuple[str, ...], findings: list[EventFinding]
) -> None:
    assert check_reach(events, live) == check_reach(events[::-1], live) == findings


def test_a_long_circle_is_found_without_recursion() -> None:
    many = 1_500
    made = [fact(f"a{n} makes e{n}") for n in range(many)] + [
        fact(f"a{(n + 1) % many} takes e{n}") for n in range(many)
    ]
    (circle,) = check_reach(made)
    assert (circle.problem, len(circle.events)) == (EventFault.CIRCLE, many)


def test_published_requests_of_agents_close_a_circle_and_a_clients_do_not() -> None:
    """No registration names the delegations of a worker."""
    workers = [registration_of("ping takes ping"), registration_of("pong takes pong")]
    seen = [
        event("ping", topic="action-requests", source="pong"),
        event("pong", topic="action-requests", source="ping"),
    ]
    assert check_reach(workers, published=seen) == [finding(EventFault.CIRCLE, "ping pong", "pong ping")]
    of_a_client = [one.model_copy(update={"source": "client"}) for one in seen]
    assert check_reach(workers, published=of_a_client) == []


def test_every_fault_has_advice_and_possible_intentions_are_notes() -> None:
    assert set(ADVICE) == set(EventFault)
    assert [problem for problem in EventFault if problem.is_note] == [EventFault.UNHEARD, EventFault.CIRCLE]
    findings = [finding(EventFault.CIRCLE, "x a"), finding(EventFault.NOBODY_TAKES, "y b")]
    assert list(by_problem(findings)) == [EventFault.NOBODY_TAKES, EventFault.CIRCLE]


SHOP = [
    registration_of("orders goals place", kind=AgentKind.PLANNER),
    registration_of("stock takes reserve"),
    registration_of("stock makes reserve.done", RESULTS),
    fact("stock makes low"),
    fact("buyer takes low"),
    registration_of("buyer makes lost"),
]


def edges(events: list[RegisteredEvent]) -> list[tuple[str, str, str]]:
    graph = graph_of_registry(events, {"orders", "stock"}, marks_of(check_reach(events)))
    names = {node.id: node.label for node in graph.nodes}
    return [(names[edge.source], names[edge.target], str(edge.kind)) for edge in graph.edges]


def test_a_planner_may_request_any_taken_event_and_results_go_to_the_requester() -> None:
    assert edges(SHOP) == [
        ("place", "orders", "cause"),
        ("reserve", "stock", "cause"),
        ("stock", "low", "cause"),
        ("low", "buyer", "cause"),
        ("buyer", "lost", "cause"),
        ("orders", "reserve", "maybe"),
    ]


def test_several_planners_share_one_node_for_requests() -> None:
    graph = graph_of_registry([*SHOP, registration_of("plans goals plan", kind=AgentKind.PLANNER)], {"orders"})
    assert [edge.target for edge in graph.edges if edge.source == ANY_PLANNER] == ["event action-requests reserve"]
    assert len([edge for edge in graph.edges if edge.target == ANY_PLANNER and edge.kind is EdgeKind.MAYBE]) == 2


def test_gone_agents_and_faulty_events_are_marked() -> None:
    nodes = {
        node.label: node for node in graph_of_registry(SHOP, {"orders", "stock"}, marks_of(check_reach(SHOP))).nodes
    }
    assert (nodes["buyer"].kind, nodes["buyer"].note) == (NodeKind.GONE, "gone")
    assert (nodes["lost"].is_faulty, nodes["lost"].note) == (True, "nobody takes it")
    assert (nodes["place"].kind, nodes["reserve"].kind, nodes["low"].kind) == (
        NodeKind.GOAL,
        NodeKind.REQUEST,
        NodeKind.EVENT,
    )
