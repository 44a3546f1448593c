"""The catalogue: each registered event once."""

from typing import Any

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.features.retrieval.catalogue import DESCRIPTION_CHARS, catalogue_of, row_of
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.values import compact
from unit.material import branching, obj

REQUESTS, FACTS, RESULTS = EventTopic.ACTION_REQUESTS, EventTopic.BUSINESS_FACTS, EventTopic.ACTION_RESULTS
TAKES, MAKES = EventRole.TAKES, EventRole.MAKES


def live(agent: str, role: EventRole, name: str, topic: EventTopic = REQUESTS, **known: Any) -> RegisteredEvent:
    return RegisteredEvent(agent, AgentKind.TOOL, role, EventDefinition(event_name=name, topic=topic, **known))


A, B = obj({"a": {"type": "string"}}, "a"), obj({"b": {"type": "string"}}, "b")
EVENTS = (
    live("bank", MAKES, "paid", RESULTS, payload_schema=A),
    live("bank", TAKES, "paid", payload_schema=B),
    live("till", TAKES, "paid", FACTS),
    live("till", TAKES, "paid", payload_schema=A),
    live("till", MAKES, "order.paid", FACTS, description="An order has been paid."),
    live("bank", MAKES, "order.paid", FACTS, description="Money came."),
    live("ear", TAKES, "order.paid", FACTS, payload_schema=A),
)
CATALOGUE = catalogue_of(EVENTS)


def test_each_event_is_listed_once_by_name_and_topic_with_its_takers_definition() -> None:
    told = [(one.event_name, str(one.topic)) for one in CATALOGUE.events]
    assert told == [
        ("order.paid", "business-facts"),
        ("paid", "action-requests"),
        ("paid", "business-facts"),
        ("paid", "action-results"),
    ]
    assert CATALOGUE.events[0].payload_schema == A
    assert CATALOGUE.events[1].payload_schema == {"allOf": [B, A]}
    assert CATALOGUE.names == ("order.paid", "paid")
    assert catalogue_of(iter(EVENTS)) is CATALOGUE


@pytest.mark.parametrize(
    ("topic", "pattern", "count"),
    [(None, None, 4), (FACTS, None, 2), (None, "paid", 3), (None, "*", 4), (FACTS, "order.*", 1), (None, "order", 0)],
)
def test_a_topic_and_a_pattern_filter_the_catalogue(topic: EventTopic | None, pattern: str | None, count: int) -> None:
    assert len(CATALOGUE.on(topic, pattern)) == count


def test_a_star_within_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="a star stands for all that follows a dot"):
        CATALOGUE.on(None, "o*d")


def test_a_name_on_several_topics_means_the_request() -> None:
    found = [CATALOGUE.find_named("paid", topic) for topic in (None, RESULTS, EventTopic.PLAN_EVENTS)]
    assert [one and one.topic for one in found] == [REQUESTS, RESULTS, None]
    assert CATALOGUE.find_named("nope", None) is None


def test_an_agent_with_many_wordy_events_does_not_crowd_out_the_best_match() -> None:
    many = [live("crowd", TAKES, f"weigh.parcel{n}", description="weigh parcel scales " * 9) for n in range(50)]
    found = catalogue_of([*many, live("scales", TAKES, "scales.use", description="Weigh a parcel.")])
    told = [one.event_name for one in found.find("weigh the parcel", 10)]
    assert len(told) == 10 and "scales.use" in told
    assert found.find("zebra", 10) == []


def test_the_row_of_an_event_for_a_model_is_bounded() -> None:
    long = EventDefinition(event_name="x", description="y" * 9_000, payload_schema=branching(30))
    row = row_of(long)
    assert row["name"] == "x" and len(str(row["description"])) == DESCRIPTION_CHARS
    assert "$ref" not in compact(row) and "too large to be shown" in compact(row)
