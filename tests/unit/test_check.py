"""Events hard to find: no description, or the words of another event."""

from typing import Any

import pytest

from soorma_ai.features.retrieval.check import ADVICE, MOST_TWINS, EventFault, EventFinding, FoundEvent, check_events
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from unit.material import obj


def registration_of(name: str, description: str = "", agent: str = "shop", **known: Any) -> RegisteredEvent:
    definition = EventDefinition(event_name=name, description=description, **known)
    return RegisteredEvent(agent, AgentKind.TOOL, EventRole.TAKES, definition)


def no_description(name: str, *agents: str) -> EventFinding:
    return EventFinding(EventFault.NO_DESCRIPTION, (FoundEvent(name, agents),))


def same_words(*names: str) -> EventFinding:
    return EventFinding(EventFault.SAME_WORDS, tuple(FoundEvent(name, ("shop",)) for name in names))


COUNT = registration_of("stock.count", "Count what is on the shelves.")
PAY = registration_of("payment.make", "Pay an invoice of a supplier.")
WHERE = obj({"shelf": {"type": "string"}})


@pytest.mark.parametrize(
    ("events", "findings"),
    [
        ([], []),
        ([COUNT, PAY], []),
        (
            [COUNT, registration_of("b"), registration_of("a", " … ")],
            [no_description("a", "shop"), no_description("b", "shop")],
        ),
        ([registration_of("a", when_to_use="When shelves are empty."), COUNT], []),
        ([registration_of("a", agent="x"), registration_of("a", agent="b")], [no_description("a", "b", "x")]),
        ([registration_of("a", agent="x"), registration_of("a", "Sing.", agent="b")], []),
        (
            [PAY, COUNT, registration_of("shelves.look", COUNT.definition.description)],
            [same_words("shelves.look", "stock.count")],
        ),
        ([COUNT, registration_of("stock.sum", "Count all that is on the shelves, and sum it up.")], []),
        ([registration_of("a", "Do it.", when_to_use="Night"), registration_of("b", "Do it.", when_to_use="Day")], []),
    ],
)
def test_events_without_a_description_or_with_anothers_are_found(
    events: list[RegisteredEvent], findings: list[EventFinding]
) -> None:
    assert check_events(events) == check_events(events[::-1]) == findings


def test_an_event_outranked_for_its_own_description_is_found_with_its_rival() -> None:
    weak = registration_of(
        "weather.b", "Tell the weather of a city", payload_schema=obj({"x": {"description": "It is x."}})
    )
    strong = registration_of("weather.of_a_city", "Tell the weather of a city")
    assert check_events([weak, strong, COUNT]) == [same_words("weather.b", "weather.of_a_city")]


def test_a_group_within_a_larger_group_is_reported_once() -> None:
    text = PAY.definition.description
    names = ("a.name.that.has.nothing.to.do.with.it", "bill.pay", "supplier.pay")
    assert check_events([*(registration_of(name, text) for name in names), COUNT]) == [same_words(*names)]
    assert check_events([*(registration_of(name, text) for name in names[1:]), COUNT]) == [same_words(*names[1:])]


def test_events_outside_the_choices_of_planners_are_not_checked() -> None:
    made = RegisteredEvent("shop", AgentKind.TOOL, EventRole.MAKES, COUNT.definition)
    told = registration_of("paid", topic=EventTopic.BUSINESS_FACTS)
    assert check_events([made, told, PAY]) == []


def test_a_hundred_equal_events_are_reported_a_few_at_a_time() -> None:
    many = [registration_of(f"same.{number:03}", "Do the very same.") for number in range(100)]
    findings = check_events(many)
    assert {len(one.events) for one in findings} <= {MOST_TWINS, MOST_TWINS + 1}
    assert {event.event_name for one in findings for event in one.events} == {f"same.{n:03}" for n in range(100)}


def test_every_fault_has_advice() -> None:
    assert {*ADVICE} == {*EventFault}
