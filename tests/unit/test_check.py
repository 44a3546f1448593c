"""Events that nobody will find, by what they say of themselves."""

from typing import Any

import pytest

from soorma_ai.features.retrieval.check import ADVICE, MOST_TWINS, EventFault, EventFinding, FoundEvent, check_events
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from unit.material import obj


def registered(name: str, description: str = "", agent: str = "shop", **known: Any) -> RegisteredEvent:
    definition = EventDefinition(event_name=name, description=description, **known)
    return RegisteredEvent(agent, AgentKind.TOOL, EventRole.TAKES, definition)


def silent(name: str, *agents: str) -> EventFinding:
    return EventFinding(EventFault.NO_DESCRIPTION, (FoundEvent(name, agents),))


def alike(*names: str) -> EventFinding:
    return EventFinding(EventFault.SAME_WORDS, tuple(FoundEvent(name, ("shop",)) for name in names))


COUNT = registered("stock.count", "Count what is on the shelves.")
PAY = registered("payment.make", "Pay an invoice of a supplier.")
WHERE = obj({"shelf": {"type": "string"}})


@pytest.mark.parametrize(
    ("events", "findings"),
    [
        ([], []),
        ([COUNT, PAY], []),
        ([COUNT, registered("b"), registered("a", " … ")], [silent("a", "shop"), silent("b", "shop")]),
        ([registered("a", when_to_use="When shelves are empty."), COUNT], []),
        ([registered("a", agent="x"), registered("a", agent="b")], [silent("a", "b", "x")]),
        ([registered("a", agent="x"), registered("a", "Sing.", agent="b")], []),
        (
            [PAY, COUNT, registered("shelves.look", COUNT.definition.description)],
            [alike("shelves.look", "stock.count")],
        ),
        ([COUNT, registered("stock.sum", "Count all that is on the shelves, and sum it up.")], []),
        ([registered("a", "Do it.", when_to_use="Night"), registered("b", "Do it.", when_to_use="Day")], []),
    ],
)
def test_events_are_named_that_say_nothing_or_the_same_as_others(
    events: list[RegisteredEvent], findings: list[EventFinding]
) -> None:
    assert check_events(events) == check_events(events[::-1]) == findings


def test_an_event_that_is_outdone_in_its_own_words_is_named_with_what_outdoes_it() -> None:
    weak = registered("weather.b", "Tell the weather of a city", payload_schema=obj({"x": {"description": "It is x."}}))
    strong = registered("weather.of_a_city", "Tell the weather of a city")
    assert check_events([weak, strong, COUNT]) == [alike("weather.b", "weather.of_a_city")]


def test_a_group_that_is_part_of_another_is_told_with_it() -> None:
    text = PAY.definition.description
    names = ("a.name.that.has.nothing.to.do.with.it", "bill.pay", "supplier.pay")
    assert check_events([*(registered(name, text) for name in names), COUNT]) == [alike(*names)]
    assert check_events([*(registered(name, text) for name in names[1:]), COUNT]) == [alike(*names[1:])]


def test_what_no_planner_chooses_between_is_not_looked_at() -> None:
    made = RegisteredEvent("shop", AgentKind.TOOL, EventRole.MAKES, COUNT.definition)
    told = registered("paid", topic=EventTopic.BUSINESS_FACTS)
    assert check_events([made, told, PAY]) == []


def test_a_hundred_of_the_same_are_named_few_at_a_time() -> None:
    many = [registered(f"same.{number:03}", "Do the very same.") for number in range(100)]
    findings = check_events(many)
    assert {len(one.events) for one in findings} <= {MOST_TWINS, MOST_TWINS + 1}
    assert {event.event_name for one in findings for event in one.events} == {f"same.{n:03}" for n in range(100)}


def test_each_problem_comes_with_what_to_do() -> None:
    assert {*ADVICE} == {*EventFault}
